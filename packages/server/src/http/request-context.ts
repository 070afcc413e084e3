import type { Application } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import type { Lease } from '../applications/open-applications.ts';
import type { OpenBlob } from '../base/blob-store.ts';
import type { Caller } from '../identity/caller.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import type { ConnectionCredential } from '../realtime/connection.ts';
import type { ContextProvider } from '../records/read/stream-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { AccountSettings } from './account-settings.ts';
import type { BrowserHeaders } from './browser-session.ts';
import type { IdempotencyKey } from './idempotency.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Route } from './route.ts';
import type { RequestUpload } from './uploads.ts';

/** One request on its way to an action: who asks what of which application. */
export interface RequestContext {
  readonly application: Application;
  readonly applications: Applications;
  readonly caller: Caller;
  /** What the caller may do at a later moment of the same request: the credential is asked for again. */
  readonly contextNow: ContextProvider;
  readonly route: Route;
  readonly method: string;
  /** Parsed query string with the raw text it came from, or the merged parameters of a read by POST. */
  readonly parameters: () => Readonly<Record<string, unknown>>;
  /** The normalised record request. */
  readonly recordRequest: () => RecordRequest;
  readonly body: unknown;
  /** The bytes of an upload, where the action takes one; else null. */
  readonly upload: RequestUpload | null;
  readonly ifMatch: string | undefined;
  /** The time zone in which the caller counts days. */
  readonly zone: string;
  readonly accept: string | undefined;
  readonly acceptEncoding: string | string[] | undefined;
  readonly address: string;
  /** Keeps the application open until it is released. */
  readonly retain: () => Lease;
  /** The credential, to be asked for again while a connection stays open; null without one. */
  readonly credential: () => ConnectionCredential | null;
  /** What a browser says besides the credential. */
  readonly browser: () => BrowserHeaders;
  /** Where a stream of events was left, as browsers say it. */
  readonly lastEventId: string | string[] | undefined;
  /** Aborted when the client has gone, or the server stops; made when it is asked for. */
  readonly abortSignal: () => AbortSignal;
  readonly requestId: string;
  readonly limits: RateLimits;
  readonly accounts: AccountSettings;
  /** Whether an action of a resource is written by hand, or the resource has no generated actions. */
  readonly hasSystemAction: (resource: string, action: string) => boolean;
  /** What its Idempotency-Key asks for; null without one. */
  readonly idempotencyKey: IdempotencyKey | null;
  /** The transaction of the batch that it is a part of; null where it stands alone. */
  readonly tx: RecordContext | null;
}

/** What the operations of a call work with: the transaction that it is a part of, or the snapshot of now. */
export function getRecordContext({ tx, application, caller, requestId, zone }: RequestContext): RecordContext {
  return tx ?? application.recordContext(caller, requestId, zone);
}

/** What only the action itself knows of an act. */
export interface AdminActionDetail {
  /** The user who did it, where the caller was nobody yet. */
  readonly userId?: number;
  readonly target?: string;
}

/** What an action answers. */
export type ActionResult =
  | {
      /** JSON text of `data`. */
      readonly data: string;
      readonly meta?: object;
      /** The record's counter for the ETag of one record, 0 for lists; absent: no ETag. */
      readonly counter?: number;
      /** What the audit journal says of a {@link SystemAction.journaled} act; null: nothing was done. */
      readonly adminAction?: AdminActionDetail | null;
      /** A Set-Cookie header. */
      readonly cookie?: string;
      /** Kept from the first request with the same Idempotency-Key. */
      readonly replayed?: true;
    }
  | {
      readonly stream: AsyncGenerator<string | Uint8Array>;
      readonly contentType: string;
      /** Where it is a download: its name. */
      readonly filename?: string;
    }
  | DocumentResult
  | FileResult;

/** Bytes that stand for themselves, whatever sent them. */
export interface FileResult {
  readonly file: OpenBlob;
  readonly filename: string | null;
  /** What the bytes are known to be; null: nothing that a browser is to show. */
  readonly inlineType: string | null;
  /** The type of a download, where it is more than bytes. */
  readonly downloadType?: string;
  /** Called once, when the bytes have been sent or nobody wants them any more. */
  readonly done: () => void;
  /** The strong ETag, without quotation marks. */
  readonly hash: string;
}

/** JSON that stands for itself, without `data` around it. */
export interface DocumentResult {
  readonly document: Buffer;
  /** `gzip`, or null where it is sent as it is. */
  readonly encoding: string | null;
  /** The strong ETag. */
  readonly tag: string;
}

export type Action = (request: RequestContext) => Promise<ActionResult>;

/** An action of a system resource. `public` ones need no credential. */
export interface SystemAction {
  readonly reads: boolean;
  readonly public?: boolean;
  /** An administrative act that leaves no event: the audit journal is told of it at the door. */
  readonly journaled?: boolean;
  /** Keeps its reply for an Idempotency-Key in the transaction of what it does. */
  readonly storesReply?: boolean;
  readonly run: Action;
}
