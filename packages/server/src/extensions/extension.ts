/**
 * The interface of extensions. A module in the folder `EXTENSIONS_DIR` exports an extension by default. It imports this
 * file as `@tablinum/server/extension`, and nothing else of the server.
 */
import type { EventHead } from '../protocol/event.ts';

/** An extension of the server. Its code runs in the server's process with all of its rights. */
export interface Extension {
  /** Its name in errors and in the log. Must be unique. */
  readonly name: string;
  /** Run before a change, in its transaction. */
  readonly before?: readonly BeforeHook[];
  /** Run after a change is durable. */
  readonly after?: readonly AfterHook[];
  readonly actions?: readonly ExtensionAction[];
  readonly fieldTypes?: readonly TextFieldType[];
}

/**
 * Returns the extension unchanged; it exists for type checking.
 *
 *     export default defineExtension({
 *       name: 'orders',
 *       after: [{ events: ['orders.created'], run: (event) => console.log(event.tk) }],
 *     });
 */
export function defineExtension(extension: Extension): Extension {
  return extension;
}

/** A change of a record. `restore` undoes a soft delete. */
export type HookedAction = 'create' | 'update' | 'destroy' | 'restore';

export interface BeforeHook {
  /** A collection, `*` for all user-defined collections, or `collections` and `fields` for definitions. */
  readonly collection: string;
  /** Definitions have the same actions, except `restore`. */
  readonly actions: readonly HookedAction[];
  /**
   * Inspects a change. The returned values replace those of the request. On destroy, restore and cascaded changes the
   * returned values are ignored. `refuse` refuses the change. Any other error, or running longer than two seconds, also
   * refuses it, as a fault of the extension. A hook may run more than once for one change.
   */
  run(change: PendingChange): Values | undefined | Promise<Values | undefined>;
}

export type Values = Readonly<Record<string, unknown>>;

/** A change that is about to be made. */
export interface PendingChange {
  readonly application: string;
  readonly collection: string;
  readonly action: HookedAction;
  /** The key of the record, or the name of a definition; null if it does not exist yet, or for several records. */
  readonly key: unknown;
  /** The values of the request, not yet validated; empty on destroy, restore and for definitions. */
  readonly values: Values;
  readonly caller: ExtensionCaller | null;
  readonly requestId: string | null;
  /** Aborted when the time limit of the hook is reached. */
  readonly signal: AbortSignal;
  /** Refuses the change with 422 and this message. @param details messages by field. */
  refuse(message: string, details?: Readonly<Record<string, string>>): never;
}

export interface ExtensionCaller {
  readonly role: string;
  /** The user who signed in or created the key, without the password; null without a user. */
  readonly user: Values | null;
}

export interface AfterHook {
  /** Names such as `orders.created`, patterns such as `orders.*`, or `*` for all. */
  readonly events: readonly string[];
  /** Runs once, on the server that made the change, unless that server is killed first. An error is logged. */
  run(event: CommittedEvent): void | Promise<void>;
}

export interface CommittedEvent extends EventHead {
  readonly application: string;
  readonly changed: readonly string[];
  /** The payload of a published event, such as `campaign.sent`; else undefined. */
  readonly payload?: unknown;
}

export interface ExtensionAction {
  /** `<resource>:<action>`, such as `orders:total`. The server's own actions cannot be replaced. */
  readonly action: string;
  readonly summary: string;
  /** Whether the action only reads; it then also accepts GET. */
  readonly reads: boolean;
  /** The permission that a caller needs. `public`: credentials are ignored. */
  readonly permission: 'public' | { readonly resource: string; readonly action: string };
  /** Returns `data` of the reply, as JSON. The time limit is ten seconds. */
  run(context: ActionContext): unknown;
}

export interface ActionContext {
  readonly application: string;
  readonly caller: ExtensionCaller;
  /** The query parameters as text; lists and objects in brackets are parsed. */
  readonly parameters: Values;
  readonly body: unknown;
  readonly requestId: string;
  readonly signal: AbortSignal;
  /** Whether this is a dry run (`dryRun=true`). Changes by `records` are rolled back; omit other side effects. */
  readonly dryRun: boolean;
  /** Reads and writes records with the caller's permissions. Parameters are as in a read by POST. */
  readonly records: CallerRecords;
  refuse(message: string, details?: Readonly<Record<string, string>>): never;
}

export interface CallerRecords {
  list(collection: string, parameters?: Values): Promise<readonly Values[]>;
  get(collection: string, key: number | string): Promise<Values>;
  create(collection: string, values: Values): Promise<Values>;
  update(collection: string, key: number | string, values: Values): Promise<Values>;
  /** @returns the number of destroyed records: 1. */
  destroy(collection: string, key: number | string): Promise<number>;
}

/** A text type with its own format. It filters, sorts and indexes like text. */
export interface TextFieldType {
  /** Its name in definitions, such as `isbn`. */
  readonly name: string;
  /** Maximum length in code points. */
  readonly maxLength: number;
  /** Whether a text has the format. */
  isValid(text: string): boolean;
  /** The error message for other values: a sentence that says what to give. */
  readonly message: string;
}
