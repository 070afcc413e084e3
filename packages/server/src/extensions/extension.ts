/**
 * What extensions are written against: a module in the folder `EXTENSIONS_DIR` has one as its default export. It imports
 * this file as `@tablinum/server/extension`, and nothing else of the server.
 */
import type { EventHead } from '../protocol/event.ts';

/** An extension of the server. It runs in the server's own process, with all of its power: it is code, not data. */
export interface Extension {
  /** Names it in errors and in the log. */
  readonly name: string;
  /** Asked before a change, in its transaction. */
  readonly before?: readonly BeforeHook[];
  /** Told after a change, when it is durable. */
  readonly after?: readonly AfterHook[];
  readonly actions?: readonly ExtensionAction[];
  readonly fieldTypes?: readonly TextFieldType[];
}

/** Gives an extension its types. */
export function defineExtension(extension: Extension): Extension {
  return extension;
}

/** What may happen to a record: `restore` takes it out of the trash. */
export type HookedAction = 'create' | 'update' | 'destroy' | 'restore';

export interface BeforeHook {
  /** A collection, or `*` for all that users have defined; `collections` and `fields` for definitions. */
  readonly collection: string;
  /** Definitions know these, too, but for `restore`. */
  readonly actions: readonly HookedAction[];
  /**
   * Looks at a change. What it returns takes the place of the values, where a request gave them: on destroy, restore, and
   * for what goes along with another record, only a refusal counts. `refuse` refuses the change, any other error and a
   * hook that takes longer than two seconds do too, as a fault of the extension. It may run more than once for one change.
   */
  run(change: PendingChange): Values | undefined | Promise<Values | undefined>;
}

export type Values = Readonly<Record<string, unknown>>;

/** A change that is about to happen. */
export interface PendingChange {
  readonly application: string;
  readonly collection: string;
  readonly action: HookedAction;
  /** Of the record, or the name of a definition; null where it is not there yet, or several are named. */
  readonly key: unknown;
  /** As the request gives them, before they are checked; empty on destroy, restore and for definitions. */
  readonly values: Values;
  readonly caller: ExtensionCaller | null;
  readonly requestId: string | null;
  /** Aborted when the hook's time is up. */
  readonly signal: AbortSignal;
  /** Refuses the change: 422 with this message, and with a message for each field where they are given. */
  refuse(message: string, details?: Readonly<Record<string, string>>): never;
}

export interface ExtensionCaller {
  readonly role: string;
  /** The user who signed in or made the key, without the password; null where there is none. */
  readonly user: Values | null;
}

export interface AfterHook {
  /** Names such as `orders.created`, patterns such as `orders.*`, `*` for all. */
  readonly events: readonly string[];
  /** Told on the server that made the change, once, if it is not killed before; an error is logged. */
  run(event: CommittedEvent): void | Promise<void>;
}

export interface CommittedEvent extends EventHead {
  readonly application: string;
  readonly changed: readonly string[];
  /** Of an event that somebody published, such as `campaign.sent`; else undefined. */
  readonly payload?: unknown;
}

export interface ExtensionAction {
  /** `<resource>:<action>`, such as `orders:total`; the actions that the server has cannot be replaced. */
  readonly action: string;
  readonly summary: string;
  /** Reads answer GET too. */
  readonly reads: boolean;
  /** The grant that a caller needs, or `public`: then no credential is looked at. */
  readonly permission: 'public' | { readonly resource: string; readonly action: string };
  /** Answers with `data`, as JSON. It has ten seconds. */
  run(context: ActionContext): unknown;
}

export interface ActionContext {
  readonly application: string;
  readonly caller: ExtensionCaller;
  /** Of the query, unparsed text; lists and objects in brackets are taken apart. */
  readonly parameters: Values;
  readonly body: unknown;
  readonly requestId: string;
  readonly signal: AbortSignal;
  /** A trial (`dryRun=true`, actions that write): what `records` does is taken back; leave out what reaches further. */
  readonly dryRun: boolean;
  /** Records as the caller may read and write them; parameters as in a read by POST. */
  readonly records: CallerRecords;
  refuse(message: string, details?: Readonly<Record<string, string>>): never;
}

export interface CallerRecords {
  list(collection: string, parameters?: Values): Promise<readonly Values[]>;
  get(collection: string, key: number | string): Promise<Values>;
  create(collection: string, values: Values): Promise<Values>;
  update(collection: string, key: number | string, values: Values): Promise<Values>;
  /** How many: 1. */
  destroy(collection: string, key: number | string): Promise<number>;
}

/** Text of a form of its own: filters, sorts and indexes as text does. */
export interface TextFieldType {
  /** As definitions name it: `isbn`. */
  readonly name: string;
  /** In code points. */
  readonly maxLength: number;
  holds(text: string): boolean;
  /** What to give, in a sentence: the message of a value that has another form. */
  readonly give: string;
}
