/** The shapes of requests and replies that are the same for every collection. The server's own types are in its `protocol/`. */
import type { CollectionOptions, EventHead, FieldDefinition } from '@tablinum/server/protocol';

/** A record's primary key. */
export type Key = string | number;
/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
/** A record with the fields of its collection. */
export type RecordValues = Readonly<Record<string, unknown>>;
/** `{field: value}`, `{field: {$operator: value}}`, `{"$and": […]}`; relation paths are dotted or nested. */
export type Filter = { readonly [name: string]: unknown };

/** Parameters of a read. Lists of names are sent with commas, filters as JSON. */
export interface ReadParameters {
  readonly filterByTk?: Key | readonly Key[] | undefined;
  readonly filter?: Filter | undefined;
  readonly fields?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
  readonly appends?: readonly string[] | undefined;
  /** Field names, or dotted paths through to-one relations; descending with a `-` prefix. */
  readonly sort?: readonly string[] | undefined;
  readonly page?: number | undefined;
  /** 1 to 1000. Default: 20. */
  readonly pageSize?: number | undefined;
  readonly count?: 'exact' | 'none' | 'estimated' | undefined;
  /** The cursor {@link ListMeta.nextCursor}. Cannot be combined with `page`. */
  readonly after?: string | undefined;
  readonly search?: string | undefined;
  readonly searchFields?: readonly string[] | undefined;
  readonly withDeleted?: boolean | undefined;
  readonly onlyDeleted?: boolean | undefined;
  /** Adds {@link ListMeta.versions}, or {@link Reply.version} for one record. */
  readonly versions?: boolean | undefined;
}

/** Parameters of an export: those of a list without pages, and what the file looks like. */
export interface ExportParameters extends Omit<ReadParameters, 'page' | 'pageSize' | 'count' | 'after' | 'versions'> {
  /** Default: `csv`. */
  readonly format?: 'csv' | 'xlsx' | 'json' | 'ndjson' | undefined;
  /** Names or titles of the fields in the first line. Only for `csv` and `xlsx`. */
  readonly header?: 'names' | 'titles' | undefined;
  /** Only for `csv`. */
  readonly bom?: boolean | undefined;
  /** Only for `csv`. */
  readonly delimiter?: ',' | ';' | '|' | 'tab' | undefined;
  /** Date-times in the time zone of the client instead of UTC. Only for `csv` and `xlsx`. */
  readonly localTimes?: boolean | undefined;
}

/** Parameters of a write. */
export interface WriteParameters {
  readonly filterByTk?: Key | readonly Key[] | undefined;
  readonly filter?: Filter | undefined;
  readonly filterKeys?: readonly string[] | undefined;
  readonly whitelist?: readonly string[] | undefined;
  readonly blacklist?: readonly string[] | undefined;
  readonly updateAssociationValues?: readonly string[] | undefined;
  readonly force?: boolean | undefined;
  readonly cascade?: boolean | undefined;
  /** A dry run: the reply shows the result, and the transaction is rolled back. */
  readonly dryRun?: boolean | undefined;
}

export interface ListMeta {
  /** The number of matching records; absent with `count: 'none'`. */
  readonly count?: number;
  readonly countIsEstimate?: boolean;
  readonly page?: number;
  readonly pageSize: number;
  readonly totalPage?: number;
  readonly hasNext: boolean;
  readonly nextCursor: string | null;
  /** Primary key to write counter. */
  readonly versions?: Readonly<Record<string, number>>;
}

export interface List<T> {
  readonly data: readonly T[];
  readonly meta: ListMeta;
}

/** A field as in `collections:list`. */
export interface Field extends FieldDefinition {
  /** Managed by the server. */
  readonly readOnly?: boolean;
}

/** The search index of a field. Searches use it once it is ready. */
export interface SearchIndexReport {
  readonly field: string;
  readonly state: 'building' | 'ready' | 'unavailable';
  /** Records that are in the index, and how many there are; only while it is being built. */
  readonly done?: number;
  readonly total?: number;
  /** Why it is not available. */
  readonly problem?: string;
}

/** A collection as in `collections:list`. */
export interface Collection {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly fields: readonly Field[];
  readonly options: Partial<CollectionOptions>;
  /** Absent without search indexes. */
  readonly searchIndexes?: readonly SearchIndexReport[];
  /** Whether it is a system collection. */
  readonly system?: boolean;
}

/** The result of a dry run of a definition or write. */
export interface Impact {
  readonly dryRun: true;
  readonly changes: readonly { readonly name: string; readonly tk: string }[];
  /** The number of affected records by collection. */
  readonly records: Readonly<Record<string, number>>;
}

/** What calls have cost: `calls` is a number, the others are averages of one call. */
export interface RequestCosts {
  readonly calls: number;
  /** Records that were examined; on PostgreSQL according to its statistics. */
  readonly rowsVisited: number;
  readonly rowsReturned: number;
  readonly milliseconds: number;
}

/** A shape of requests, without values: `conditions` are fields with operators, such as `views $gt`. */
export interface RequestShape extends RequestCosts {
  readonly conditions: readonly string[];
  readonly sort: readonly string[];
}

export interface MissingIndex extends RequestCosts {
  /** `index`: for `options.indexes`; `search`: search indexes, for `options.search`. */
  readonly type: 'index' | 'search';
  readonly collection: string;
  readonly fields: readonly string[];
  readonly summary: string;
  /** Records that a call would examine with the index; null if that depends on the values. */
  readonly expectedRows: number | null;
  /** The fields of further missing indexes, without which the requests do not use this one. */
  readonly onlyWith: readonly (readonly string[])[];
  readonly requests: readonly RequestShape[];
}

export interface UnneededIndex {
  readonly collection: string;
  readonly fields: readonly string[];
  readonly summary: string;
  /** Where it is defined: the property `index` of the field, or `options.indexes`. */
  readonly source: 'field' | 'options';
  readonly reason: 'covered' | 'unused';
  readonly coveredBy: readonly string[] | null;
}

/** One change of a schema revision. */
export interface SchemaStep {
  readonly action: 'adopt' | 'rename' | 'create' | 'change' | 'destroy';
  readonly kind: 'collection' | 'field' | 'role' | 'permission' | 'webhook';
  /** The collection, role or webhook. */
  readonly of: string;
  /** The field, or the resource of a permission. */
  readonly name?: string;
  /** The former name of a renamed definition. */
  readonly from?: string;
  /** What was created, or the members that changed, with their former values. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly destructive: boolean;
}

export interface SchemaRevision {
  readonly number: number;
  readonly at: string;
  readonly actor: string | null;
  readonly summary: string;
  readonly steps: readonly SchemaStep[];
}

/** The latest 200 revisions, newest first, and the kept data of destroyed fields and collections. */
export interface SchemaRevisions {
  readonly revisions: readonly SchemaRevision[];
  readonly tombstones: readonly {
    readonly name: string;
    readonly records: number;
    readonly at: string;
    readonly expires: string;
  }[];
}

/** Advice by the requests that one server has answered since a time. */
export interface IndexAdvice {
  readonly since: string;
  readonly server: string;
  readonly missing: readonly MissingIndex[];
  readonly unneeded: readonly UnneededIndex[];
}

export interface Application {
  readonly name: string;
  readonly displayName: string | null;
  readonly description: string | null;
  readonly options: Readonly<Record<string, unknown>>;
  readonly status: 'running' | 'stopped' | 'starting' | 'failed';
  readonly createdAt: string;
  readonly updatedAt: string;
  /** On a Citus cluster, for administrators: the node that has its data, and its latest move to another node. */
  readonly node?: string;
  readonly move?: NodeMove | null;
}

/** A move of an application to another node of a Citus cluster. */
export interface NodeMove {
  readonly from: string;
  readonly to: string;
  readonly status: 'running' | 'done' | 'failed';
  /** Null: it has ended. */
  readonly step: 'copying' | 'switching' | 'cleaning' | 'undoing' | 'cancelling' | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** Why it failed. */
  readonly problem: string | null;
}

/** A node of a Citus cluster, and the applications on it with their sizes in bytes. */
export interface ClusterNode {
  readonly node: string;
  /** Whether applications can be created on it, or moved to it. */
  readonly isTarget: boolean;
  readonly isAvailable: boolean;
  readonly applications: readonly { readonly name: string; readonly bytes: number | null }[];
}

/** The caller, as returned by `auth:check`. */
export interface CallerInfo {
  readonly id: number | null;
  readonly email: string | null;
  readonly nickname: string | null;
  readonly roles: readonly string[];
  readonly currentRole: string;
  /** The titles of `roles` and `currentRole` by role name; null for a role without a title. */
  readonly roleTitles: Readonly<Record<string, string | null>>;
  readonly application: string;
  /** The title of the application; null if it has none. */
  readonly applicationDisplayName: string | null;
  readonly credential: {
    readonly type: 'session' | 'apiKey';
    readonly id: number;
    readonly name: string | null;
    readonly expiresAt: string | null;
  };
}

export interface SignInResult {
  readonly user: RecordValues;
  readonly token: string;
}

export interface HistoryEntry {
  readonly id: number;
  readonly at: string;
  readonly action: string;
  readonly actor: string | null;
  readonly requestId: string | null;
  readonly changes: readonly { readonly field: string; readonly before: unknown; readonly after: unknown }[];
}

/** An event, as in `changes:list` and on sockets. */
export interface Event extends EventHead {
  readonly cursor: string;
  readonly changed?: readonly string[];
  /** The record as a `get` by the subscriber would show it. Only with `values`. */
  readonly record?: RecordValues;
  /** The payload of a published event. */
  readonly payload?: unknown;
}

export interface BatchOperation {
  readonly op: 'list' | 'get' | 'create' | 'update' | 'destroy' | 'restore' | 'add' | 'set' | 'remove';
  readonly resource: string;
  readonly relation?: string;
  readonly of?: Key | string;
  readonly as?: string;
  readonly filterByTk?: Key | readonly Key[];
  readonly filter?: Filter;
  readonly values?: unknown;
}

/** A file as records show it. */
export interface StoredFile {
  readonly id: number;
  readonly name: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  /** Of a picture, in pixels. */
  readonly width: number | null;
  readonly height: number | null;
  /** The path of the bytes on the server. */
  readonly url: string;
}
