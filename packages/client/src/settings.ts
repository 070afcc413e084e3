/** The settings of the server, for administrators of `main`. */
import type { Transport } from './transport.ts';

export interface SettingReport {
  readonly name: string;
  /** Null for a secret, and if nothing is set. */
  readonly value: string | null;
  readonly source: 'default' | 'environment' | '.env' | 'file' | 'stored';
  readonly secret: boolean;
  readonly isSet: boolean;
  /** Null: a change needs a restart. */
  readonly group: string | null;
  /** Whether `update` can change it: not if the environment sets it. */
  readonly changeable: boolean;
  readonly default: string | null;
  readonly description: string;
  readonly unit: string | null;
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly choices: readonly string[] | null;
}

/** Values by names of settings, such as `{ EVENTS_DAYS: 60 }`; null removes a stored value. */
export type SettingChanges = Readonly<Record<string, string | number | null>>;

export class SystemSettings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get(): Promise<readonly SettingReport[]> {
    return (await this.#transport.call<readonly SettingReport[]>('systemSettings:get')).data;
  }

  /** Stores all of the changes, or none. @returns all settings. */
  async update(changes: SettingChanges): Promise<readonly SettingReport[]> {
    const request = { method: 'POST', body: changes } as const;
    return (await this.#transport.call<readonly SettingReport[]>('systemSettings:update', request)).data;
  }
}
