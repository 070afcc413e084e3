import type { IncomingHttpHeaders } from 'node:http';
import type { Application } from '../applications/application.ts';
import type { Lease } from '../applications/application-lease.ts';
import type { Applications } from '../applications/applications.ts';
import type { StoredSettings } from '../applications/stored-settings.ts';
import type { OpenBlob } from '../base/blob-store.ts';
import type { Config } from '../base/config.ts';
import type { Caller } from '../identity/caller.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import type { ConnectionCredential } from '../realtime/connection.ts';
import type { ContextProvider } from '../records/read/stream-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { AccountSettings } from './account-settings.ts';
import type { ServerActivity } from './activity/server-activity.ts';
import type { BrowserHeaders } from './browser-session.ts';
import type { IdempotencyKey } from './idempotency.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Route } from './route.ts';
import type { RequestUpload } from './uploads.ts';

/** A request for an action: caller, application, parameters and body. */
export interface RequestContext {
  readonly application: Application;
  readonly applications: Applications;
  readonly caller: Caller;
  /** A new record context later in the same request. The credential is verified again. */
  readonly contextNow: ContextProvider;
  readonly route: Route;
  readonly method: string;
  /** Parsed query string with the raw text it came from, or the merged parameters of a read by POST. */
  readonly parameters: () => Readonly<Record<string, unknown>>;
  /** The normalised record request. */
  readonly recordRequest: () => RecordRequest;
  readonly body: unknown;
  /** The body as it was sent; undefined without one. */
  readonly text: string | undefined;
  /** The bytes of an upload if the action accepts one; else null. */
  readonly upload: RequestUpload | null;
  readonly ifMatch: string | undefined;
  /** The time zone of date filters. */
  readonly zone: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
  /** Keeps the application open until it is released. */
  readonly retain: () => Lease;
  /** The credential, which is verified again while a connection stays open; null without one. */
  readonly credential: () => ConnectionCredential | null;
  /** Headers that browsers set. */
  readonly browser: () => BrowserHeaders;
  /** Aborted when the client disconnects or the server stops. Created on demand. */
  readonly abortSignal: () => AbortSignal;
  readonly requestId: string;
  readonly limits: RateLimits;
  readonly accounts: AccountSettings;
  /** What this server did in the last hour. */
  readonly activity: () => Promise<ServerActivity>;
  /** The stored settings of the server. */
  readonly settings: StoredSettings;
  readonly config: Pick<Config, 'corsOrigins'>;
  /** All system actions, including those of extensions. */
  readonly actions: Readonly<Record<string, SystemAction>>;
  /** Whether an action is a system action, or its resource has no record actions. */
  readonly hasSystemAction: (resource: string, action: string) => boolean;
  /** The Idempotency-Key header; null without one. */
  readonly idempotencyKey: IdempotencyKey | null;
  /** The transaction of its batch; null outside of a batch. */
  readonly tx: RecordContext | null;
}

/** The record context of a request: in the transaction of its batch, or with the current snapshot. */
export function getRecordContext({ tx, application, caller, requestId, zone }: RequestContext): RecordContext {
  return tx ?? application.recordContext(caller, requestId, zone);
}

/** Whether the parameters of a read come from a query string, where every value is text. */
export function hasTextParameters({ method, body }: RequestContext): boolean {
  return method !== 'POST' || body === undefined;
}

/** Details of an administrative action that only the action itself knows. */
export interface AdminActionDetail {
  /** The user, if the caller was anonymous before, as in a sign-in. */
  readonly userId?: number;
  readonly target?: string;
}

/** The result of an action. */
export type ActionResult =
  | {
      /** JSON text of `data`. */
      readonly data: string;
      readonly meta?: object;
      /** The record's counter for the ETag of one record, 0 for lists; absent: no ETag. */
      readonly counter?: number;
      /** Details for the audit journal of a {@link SystemAction.journaled} action; null: nothing was done. */
      readonly adminAction?: AdminActionDetail | null;
      /** A Set-Cookie header. */
      readonly cookie?: string;
      /** The request has only begun: its reply has the status 202. */
      readonly isAccepted?: boolean;
      /** The stored reply of the first request with the same Idempotency-Key. */
      readonly replayed?: true;
    }
  | {
      readonly stream: AsyncGenerator<string | Uint8Array>;
      readonly contentType: string;
      /** The file name of a download. */
      readonly filename?: string;
      /** The reply must not be stored by caches. */
      readonly noStore?: true;
    }
  | DocumentResult
  | FileResult
  | MessageResult;

/** A reply of another protocol, sent as it is. */
export interface MessageResult {
  readonly message: string;
  readonly status: number;
  /** Null without a body. */
  readonly contentType: string | null;
}

/** A stored file. */
export interface FileResult {
  readonly file: OpenBlob;
  readonly filename: string | null;
  /** A type that browsers may show inline; null: always a download. */
  readonly inlineType: string | null;
  /** The type of a download. Default: application/octet-stream. */
  readonly downloadType?: string;
  /** Pages of other origins may show it: its address is its permission. */
  readonly isShared?: boolean;
  /** Called once, when the bytes have been sent or the client has disconnected. */
  readonly done: () => void;
  /** The strong ETag, without quotation marks. */
  readonly hash: string;
}

/** A JSON document without the `data` envelope. */
export interface DocumentResult {
  readonly document: Buffer;
  /** `gzip`, or null without compression. */
  readonly encoding: string | null;
  /** The strong ETag. */
  readonly tag: string;
}

export type Action = (request: RequestContext) => Promise<ActionResult>;

/** An action of a system resource. `public` ones need no credential. */
export interface SystemAction {
  readonly reads: boolean;
  readonly public?: boolean;
  /** An administrative action without an event: the HTTP layer adds it to the audit journal. */
  readonly journaled?: boolean;
  /** Stores its reply for an Idempotency-Key in its own transaction. */
  readonly storesReply?: boolean;
  readonly run: Action;
}
