/** The client of one server, application and credential: every action, typed, with retries and errors that say what to do. */
import { ApiKeys, AuditJournal, Permissions, Webhooks } from './access.ts';
import { Account } from './account.ts';
import { Backups } from './backups.ts';
import { Definitions } from './definitions.ts';
import type { Application, BatchOperation, ClusterNode, Event, ReadParameters, RecordValues } from './dto.ts';
import { Files } from './files.ts';
import { Imports } from './imports.ts';
import { Emails } from './mail.ts';
import {
  Contacts,
  MailAccounts,
  MailCampaigns,
  MailPushSubscriptions,
  MailRules,
  MailTemplates,
} from './mail-accounts.ts';
import { Records } from './records.ts';
import { SchemaDocuments } from './schema.ts';
import { SystemSettings } from './settings.ts';
import { type ClientOptions, type Reply, type RequestOptions, Transport } from './transport.ts';

export type { TemplateVariable } from '@tablinum/server/protocol';
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
export type { Backup, BackupSchedule, RestoreOptions } from './backups.ts';
export { type CollectionChange, Definitions, type FieldChange, type NewCollection } from './definitions.ts';
export type * from './dto.ts';
export { type ClientErrorCode, type ErrorBody, Failure } from './failure.ts';
export { type BytesOptions, buildThumbnailUrl, Files, type ThumbnailSize } from './files.ts';
export type {
  CollectionPreview,
  CollectionPreviewOptions,
  ColumnMapping,
  Import,
  ImportColumn,
  ImportDryRun,
  ImportFileOptions,
  ImportOptions,
  ImportPreview,
  ImportSource,
  RowError,
  RowProblem,
} from './import-parameters.ts';
export { Imports } from './imports.ts';
export {
  type Draft,
  Emails,
  type ForwardContent,
  type MailImport,
  type MessageContent,
  type Participant,
  type ReplyContent,
} from './mail.ts';
export {
  type AccountMember,
  Contacts,
  type FilledTemplate,
  MailAccounts,
  MailPushSubscriptions,
  MailRules,
  type MailServerSettings,
  MailTemplates,
  type PushSubscriptionValues,
  type RuleScan,
  type TestedMailSettings,
  type WaitingCounts,
} from './mail-accounts.ts';
export { type ActionOptions, Records, type RecordWithEtag, RelatedRecords } from './records.ts';
export type { AppliedSchema, SchemaDocument, SchemaRequest } from './schema.ts';
export { type SettingChanges, type SettingReport, SystemSettings } from './settings.ts';
export type { ClientOptions, Reply, RequestOptions } from './transport.ts';
export type { Progress } from './upload.ts';

/** The end of a page of events. */
export interface EventMeta {
  readonly nextCursor: string | null;
  /** The cursor is no longer known: reload, and continue from `nextCursor`. */
  readonly resync?: boolean;
}

/**
 * A client for one application with one credential.
 *
 *     const client = new Client({ url: 'https://data.example.com', token: apiKey });
 *     const { data } = await client.records('posts').list({ filter: { status: 'open' } });
 */
export class Client {
  readonly auth: Account;
  readonly collections: Definitions;
  readonly apiKeys: ApiKeys;
  readonly webhooks: Webhooks;
  readonly permissions: Permissions;
  readonly audit: AuditJournal;
  readonly emails: Emails;
  readonly mailAccounts: MailAccounts;
  readonly mailRules: MailRules;
  readonly mailTemplates: MailTemplates;
  readonly contacts: Contacts;
  readonly mailPushSubscriptions: MailPushSubscriptions;
  readonly mailCampaigns: MailCampaigns;
  readonly files: Files;
  readonly imports: Imports;
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
    this.mailAccounts = new MailAccounts(this.#transport, 'accounts');
    this.mailRules = new MailRules(this.#transport, 'mailRules');
    this.mailTemplates = new MailTemplates(this.#transport, 'mailTemplates');
    this.contacts = new Contacts(this.#transport, 'contacts');
    this.mailPushSubscriptions = new MailPushSubscriptions(this.#transport, 'mailPushSubscriptions');
    this.mailCampaigns = new MailCampaigns(this.#transport, 'mailCampaigns');
    this.files = new Files(this.#transport, 'files');
    this.imports = new Imports(this.#transport, 'imports');
  }

  /** A client of the same server with other options, such as another token, role or application. */
  with(options: ClientOptions): Client {
    return new Client({ ...this.#transport.options, ...options });
  }

  /** The records of a collection, including system collections such as `users`, `roles` and `permissions`. */
  records<T extends RecordValues = RecordValues>(collection: string): Records<T> {
    return new Records<T>(this.#transport, encodeURIComponent(collection));
  }

  /**
   * Calls any action by its path, such as `apiKeys:stats`.
   *
   * @throws Failure if the request is refused.
   */
  call<T, M = unknown>(path: string, options: RequestOptions = {}): Promise<Reply<T, M>> {
    return this.#transport.call<T, M>(path, options);
  }

  /** Calls a write by its path. @returns the data of the reply. */
  async post<T>(path: string, body?: unknown, query: object = {}): Promise<T> {
    const options = { method: 'POST' as const, query };
    return (await this.call<T>(path, body === undefined ? options : { ...options, body })).data;
  }

  /** The raw reply, for documents, files and exports. */
  send(path: string, options: RequestOptions = {}): Promise<Response> {
    return this.#transport.send(path, options);
  }

  /** Runs many operations in one transaction. If one fails, nothing is changed. */
  async batch(operations: readonly BatchOperation[], idempotencyKey?: string): Promise<readonly unknown[]> {
    const options = { method: 'POST' as const, body: { operations }, ...(idempotencyKey && { idempotencyKey }) };
    return (await this.call<unknown[]>('batch', options)).data;
  }

  applications(): Applications {
    return new Applications(this);
  }

  schema(): SchemaDocuments {
    return new SchemaDocuments(this.#transport);
  }

  settings(): SystemSettings {
    return new SystemSettings(this.#transport);
  }

  backups(): Backups {
    return new Backups(this);
  }

  /** The server's version and state. Needs no credential. */
  async health(): Promise<RecordValues> {
    return (await this.call<RecordValues>('health')).data;
  }

  /** The OpenAPI document for the caller's role. */
  async document(): Promise<RecordValues> {
    return (await (await this.send('docs:openapi')).json()) as RecordValues;
  }

  /** Past events. With `wait` (in seconds, at most 30) the reply is delayed until there is an event. */
  async events(parameters: {
    readonly resource?: string;
    readonly since?: string;
    readonly wait?: number;
    readonly pageSize?: number;
  }): Promise<{ readonly data: readonly Event[]; readonly meta: EventMeta }> {
    return this.call<Event[], EventMeta>('changes:list', { query: parameters });
  }

  /** Publishes a custom event, such as `campaign.sent`. */
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

  /** @param parameters `appends: ['errorLog']` adds the reasons why it could not be opened. */
  async get(name: string, parameters: ReadParameters = {}): Promise<Application & RecordValues> {
    const query = { ...parameters, filterByTk: name };
    return (await this.#client.call<Application & RecordValues>('applications:get', { query })).data;
  }

  /** Changes the title, description and options. */
  update(name: string, change: Partial<ApplicationProperties>): Promise<Application> {
    return this.#client.post('applications:update', change, { filterByTk: name });
  }

  /** @param application `node`: where its data is placed on a Citus cluster. */
  create(
    application: Partial<ApplicationProperties> & { readonly name: string; readonly node?: string },
  ): Promise<Application> {
    return this.#client.post('applications:create', application);
  }

  /** The nodes of a Citus cluster. */
  async nodes(): Promise<readonly ClusterNode[]> {
    return (await this.#client.call<ClusterNode[]>('applications:nodes')).data;
  }

  /** Starts to move the application to another node. {@link get} shows how far the move is. */
  move(name: string, node: string): Promise<Application> {
    return this.#client.post('applications:move', { node }, { filterByTk: name });
  }

  start(name: string): Promise<Application> {
    return this.#client.post('applications:start', undefined, { filterByTk: name });
  }

  stop(name: string): Promise<Application> {
    return this.#client.post('applications:stop', undefined, { filterByTk: name });
  }

  /** Destroys an application irreversibly. `confirm` must repeat the name. */
  destroy(name: string, confirm: string): Promise<number> {
    return this.#client.post('applications:destroy', undefined, { filterByTk: name, confirm });
  }

  /** Creates a login in the application, for an admin of `main`. */
  enter(name: string): Promise<{ readonly token: string }> {
    return this.#client.post('applications:enter', undefined, { filterByTk: name });
  }
}
