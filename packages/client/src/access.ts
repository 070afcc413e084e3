/** The actions of API keys, webhooks, permissions and the audit journal, in addition to the record actions. */

import type { Filter, Key, List, RecordValues } from './dto.ts';
import { Records } from './records.ts';
import type { Transport } from './transport.ts';

export type ApiKey = {
  readonly id: number;
  readonly name: string | null;
  readonly role: string;
  /** ISO 8601; null for a key that never expires. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  /** Why the key is inactive: its creator is suspended, or no longer holds its role. Null: it is active. */
  readonly inactiveReason: 'makerSuspended' | 'roleLost' | null;
};

/** A created key. Its token is returned only once. */
export type CreatedApiKey = Omit<ApiKey, 'lastUsedAt' | 'inactiveReason'> & { readonly token: string };

export interface ApiKeyUsage {
  readonly id: number;
  readonly requests: number;
  readonly failedAttempts: number;
  readonly firstUsedAt: string | null;
  readonly lastUsedAt: string | null;
  /** The ten most used endpoints, in descending order. */
  readonly endpoints: readonly { readonly endpoint: string; readonly requests: number }[];
}

/** API keys. `list`, `get`, `update` (the name) and `destroy` (revokes the key) are as for any record. */
export class ApiKeys extends Records<ApiKey> {
  /** @param key `expiresIn` is `<n>h|d|w|m|y` or `never`. Default: `30d`. */
  issue(key: {
    readonly role: string | { readonly name: string };
    readonly name?: string | null;
    readonly expiresIn?: string;
  }): Promise<CreatedApiKey> {
    return this.write('create', key, {}, {});
  }

  /** Creates the successor of a key, with the same role. The old key stays valid for `overlap`. Default: `1h`. */
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
  /** Only in the reply that created it. */
  readonly secret?: string;
};

export interface WebhookTest {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** Webhooks: record actions, test messages and deliveries. */
export class Webhooks extends Records<Webhook> {
  /** Sends a test message now. */
  test(webhook: number): Promise<WebhookTest> {
    return this.write('test', undefined, { filterByTk: webhook }, {});
  }

  /** Sends failed deliveries again, or the given ones. @returns their number. */
  replay(webhook: number, deliveries?: readonly Key[]): Promise<number> {
    return this.write('replay', deliveries && { deliveries }, { filterByTk: webhook }, {});
  }
}

export interface PermissionExplanation {
  readonly allowed: boolean;
  readonly reason: string;
  /** The permission that decides; null if none does. */
  readonly permission: RecordValues | null;
}

export class Permissions extends Records {
  /** Explains why a role may perform an action, or not: optionally for one record, and for one user as `$user`. */
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

/** The audit journal. It is read like a collection and cannot be written. */
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

  /** Checks the hash chain of every entry. */
  async verify(): Promise<JournalReport> {
    return (await this.#transport.call<JournalReport>('audit:verify')).data;
  }
}
