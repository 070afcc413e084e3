/** The client of one server, application and credential: every action, typed, with retries and errors that say what to do. */
import { ApiKeys, AuditJournal, Permissions, Webhooks } from './access.ts';
import { Account } from './account.ts';
import { Definitions } from './definitions.ts';
import type { Application, BatchOperation, Event, ReadParameters, RecordValues } from './dto.ts';
import { Emails } from './mail.ts';
import { Records } from './records.ts';
import { type ClientOptions, type Reply, type RequestOptions, Transport } from './transport.ts';

export {
  type ApiKey,
  ApiKeys,
  type ApiKeyUsage,
  AuditJournal,
  type CreatedApiKey,
  type JournalReport,
  type PermissionExplanation,
  Permissions,
  type Webhook,
  Webhooks,
  type WebhookTest,
} from './access.ts';
export { Account, type ResumeResult, type Session } from './account.ts';
export { type CollectionChange, Definitions, type FieldChange, type NewCollection } from './definitions.ts';
export type * from './dto.ts';
export { type ClientErrorCode, type ErrorBody, Failure } from './failure.ts';
export {
  type Draft,
  Emails,
  type MailImport,
  type MessageContent,
  type Participant,
  type ReplyContent,
} from './mail.ts';
export { type ActionOptions, Records, type RecordWithEtag, RelatedRecords } from './records.ts';
export type { ClientOptions, Reply, RequestOptions } from './transport.ts';
export type { Progress } from './upload.ts';

/** Where a page of events ends. */
export interface EventMeta {
  readonly nextCursor: string | null;
  /** The cursor is no longer known: read again, go on from `nextCursor`. */
  readonly resync?: boolean;
}

export class Client {
  readonly auth: Account;
  readonly collections: Definitions;
  readonly apiKeys: ApiKeys;
  readonly webhooks: Webhooks;
  readonly permissions: Permissions;
  readonly audit: AuditJournal;
  readonly emails: Emails;
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    this.#transport = new Transport(options);
    this.auth = new Account(this.#transport);
    this.collections = new Definitions(this.#transport);
    this.apiKeys = new ApiKeys(this.#transport, 'apiKeys');
    this.webhooks = new Webhooks(this.#transport, 'webhooks');
    this.permissions = new Permissions(this.#transport, 'permissions');
    this.audit = new AuditJournal(this.#transport);
    this.emails = new Emails(this.#transport, 'emails');
  }

  /** The same server with other options: another token, role or application. */
  with(options: ClientOptions): Client {
    return new Client({ ...this.#transport.options, ...options });
  }

  /** The records of a collection; also of the server's own, such as `users`, `roles` and `permissions`. */
  records<T extends RecordValues = RecordValues>(collection: string): Records<T> {
    return new Records<T>(this.#transport, encodeURIComponent(collection));
  }

  /**
   * Any action by its path, such as `apiKeys:stats`.
   *
   * @throws Failure for every refusal.
   */
  call<T, M = unknown>(path: string, options: RequestOptions = {}): Promise<Reply<T, M>> {
    return this.#transport.call<T, M>(path, options);
  }

  /** A write by its path: its data. */
  async post<T>(path: string, body?: unknown, query: object = {}): Promise<T> {
    const options = { method: 'POST' as const, query };
    return (await this.call<T>(path, body === undefined ? options : { ...options, body })).data;
  }

  /** A reply as it is: documents, files, exports. */
  send(path: string, options: RequestOptions = {}): Promise<Response> {
    return this.#transport.send(path, options);
  }

  /** Many operations in one transaction: all, or the first one's failure and nothing. */
  async batch(operations: readonly BatchOperation[], idempotencyKey?: string): Promise<readonly unknown[]> {
    const options = { method: 'POST' as const, body: { operations }, ...(idempotencyKey && { idempotencyKey }) };
    return (await this.call<unknown[]>('batch', options)).data;
  }

  applications(): Applications {
    return new Applications(this);
  }

  /** What the server is and how it is; needs no credential. */
  async health(): Promise<RecordValues> {
    return (await this.call<RecordValues>('health')).data;
  }

  /** The OpenAPI document of the caller's role. */
  async document(): Promise<RecordValues> {
    return (await (await this.send('docs:openapi')).json()) as RecordValues;
  }

  /** Events of the past; `wait` (seconds, at most 30) holds the reply until there is one. */
  async events(parameters: {
    readonly resource?: string;
    readonly since?: string;
    readonly wait?: number;
    readonly pageSize?: number;
  }): Promise<{ readonly data: readonly Event[]; readonly meta: EventMeta }> {
    return this.call<Event[], EventMeta>('changes:list', { query: parameters });
  }

  /** Tells listeners something of one's own, such as `campaign.sent`. */
  publish(name: string, payload: unknown): Promise<unknown> {
    return this.post('changes:publish', { name, payload });
  }
}

export interface ApplicationProperties {
  readonly displayName: string | null;
  readonly description: string | null;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Applications, managed in `main`. */
export class Applications {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async list(): Promise<readonly Application[]> {
    return (await this.#client.call<Application[]>('applications:list')).data;
  }

  /** @param parameters `appends: ['errorLog']` brings along why it did not open. */
  async get(name: string, parameters: ReadParameters = {}): Promise<Application & RecordValues> {
    const query = { ...parameters, filterByTk: name };
    return (await this.#client.call<Application & RecordValues>('applications:get', { query })).data;
  }

  /** Words and options. */
  update(name: string, change: Partial<ApplicationProperties>): Promise<Application> {
    return this.#client.post('applications:update', change, { filterByTk: name });
  }

  create(application: Partial<ApplicationProperties> & { readonly name: string }): Promise<Application> {
    return this.#client.post('applications:create', application);
  }

  start(name: string): Promise<Application> {
    return this.#client.post('applications:start', undefined, { filterByTk: name });
  }

  stop(name: string): Promise<Application> {
    return this.#client.post('applications:stop', undefined, { filterByTk: name });
  }

  /** For good. `confirm` is the name again. */
  destroy(name: string, confirm: string): Promise<number> {
    return this.#client.post('applications:destroy', undefined, { filterByTk: name, confirm });
  }

  /** A login there for an admin of `main`. */
  enter(name: string): Promise<{ readonly token: string }> {
    return this.#client.post('applications:enter', undefined, { filterByTk: name });
  }
}
