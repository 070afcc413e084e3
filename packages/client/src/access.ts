/** What is done with keys, webhooks, permissions and the journal beside the record actions. */

import type { Filter, Key, List, RecordValues } from './dto.ts';
import { Records } from './records.ts';
import type { Transport } from './transport.ts';

export type ApiKey = {
  readonly id: number;
  readonly name: string | null;
  readonly role: string;
  /** ISO 8601; null for a key that does not end. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  /** Why the key does not work: its maker is suspended, or no longer holds its role; null where neither is so. */
  readonly inactiveReason: 'makerSuspended' | 'roleLost' | null;
};

/** A key as it is told once. */
export type CreatedApiKey = Omit<ApiKey, 'lastUsedAt' | 'inactiveReason'> & { readonly token: string };

export interface ApiKeyUsage {
  readonly id: number;
  readonly requests: number;
  readonly failedAttempts: number;
  readonly firstUsedAt: string | null;
  readonly lastUsedAt: string | null;
  /** At most ten, the most used first. */
  readonly endpoints: readonly { readonly endpoint: string; readonly requests: number }[];
}

/** API keys: `list`, `get`, `update` (its name) and `destroy` (revokes) as of any record. */
export class ApiKeys extends Records<ApiKey> {
  /** @param key lifetimes are `<n>h|d|w|m|y` or `never`; `30d` unless told. */
  issue(key: {
    readonly role: string | { readonly name: string };
    readonly name?: string | null;
    readonly expiresIn?: string;
  }): Promise<CreatedApiKey> {
    return this.write('create', key, {}, {});
  }

  /** The successor of a key, of the same role. The old one works on for `overlap`: `1h` unless told, or `none`. */
  rotate(
    key: number,
    options: { readonly name?: string | null; readonly overlap?: string; readonly expiresIn?: string } = {},
  ): Promise<CreatedApiKey> {
    return this.write('rotate', options, { filterByTk: key }, {});
  }

  async stats(key: number): Promise<ApiKeyUsage> {
    return (await this.transport.call<ApiKeyUsage>(`${this.path}:stats`, { query: { filterByTk: key } })).data;
  }
}

export type Webhook = {
  readonly id: number;
  readonly url: string;
  /** `orders.created`, `orders.*` or `*`. */
  readonly events: readonly string[];
  readonly filter: Filter | null;
  readonly role: string;
  readonly enabled: boolean;
  readonly failingSince: string | null;
  readonly pausedAt: string | null;
  /** Told once, when it was made. */
  readonly secret?: string;
};

export interface WebhookTest {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** Webhooks: record actions, and what is sent. */
export class Webhooks extends Records<Webhook> {
  /** Sends a message now. */
  test(webhook: number): Promise<WebhookTest> {
    return this.write('test', undefined, { filterByTk: webhook }, {});
  }

  /** Sends again what was given up, or the deliveries named. @returns how many. */
  replay(webhook: number, deliveries?: readonly Key[]): Promise<number> {
    return this.write('replay', deliveries && { deliveries }, { filterByTk: webhook }, {});
  }
}

export interface PermissionExplanation {
  readonly allowed: boolean;
  readonly reason: string;
  /** The permission that decides, or null where none does. */
  readonly permission: RecordValues | null;
}

export class Permissions extends Records {
  /** Why a role may do something, or not; also for one record, and for the user that `$user` stands for. */
  async explain(parameters: {
    readonly role: string;
    readonly resource: string;
    readonly action: string;
    readonly filterByTk?: Key;
    readonly user?: number;
  }): Promise<PermissionExplanation> {
    return (await this.transport.call<PermissionExplanation>(`${this.path}:explain`, { query: parameters })).data;
  }
}

export interface JournalReport {
  readonly entries: number;
  readonly from: string | null;
  readonly to: string | null;
  readonly valid: boolean;
  /** The id of the first entry that is changed or missing. */
  readonly firstBroken: number | null;
}

/** The audit journal: read as records, never written. */
export class AuditJournal {
  readonly #records: Records;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#records = new Records(transport, 'audit');
  }

  list(...args: Parameters<Records['list']>): Promise<List<RecordValues>> {
    return this.#records.list(...args);
  }

  get(...args: Parameters<Records['get']>): Promise<RecordValues> {
    return this.#records.get(...args);
  }

  query(...args: Parameters<Records['query']>): Promise<readonly RecordValues[]> {
    return this.#records.query(...args);
  }

  /** Looks at every entry: whether the journal is as it was written. */
  async verify(): Promise<JournalReport> {
    return (await this.#transport.call<JournalReport>('audit:verify')).data;
  }
}
