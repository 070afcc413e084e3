import type { Application } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import type { Lease } from '../applications/open-applications.ts';
import type { Caller } from '../identity/caller.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import type { Proof } from '../realtime/connection.ts';
import type { ContextNow } from '../records/stream-records.ts';
import type { AccountSettings } from './account-settings.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Route } from './route.ts';

/** One request on its way to an action: who asks what of which application. */
export interface Call {
  readonly application: Application;
  readonly applications: Applications;
  readonly caller: Caller;
  /** What the caller may do at a later moment of the same request: the credential is asked for again. */
  readonly contextNow: ContextNow;
  readonly route: Route;
  readonly method: string;
  /** Parsed query string with the raw text it came from, or the merged parameters of a read by POST. */
  readonly parameters: () => Readonly<Record<string, unknown>>;
  /** The normalised record request. */
  readonly request: () => AskedRecordRequest;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
  /** The time zone in which the caller counts days. */
  readonly zone: string;
  readonly accept: string | undefined;
  readonly acceptEncoding: string | string[] | undefined;
  readonly address: string;
  /** Keeps the application open until it is released. */
  readonly hold: () => Lease;
  /** The credential, to be asked for again while a connection stays open; null without one. */
  readonly proof: () => Proof | null;
  /** Where a stream of events was left, as browsers say it. */
  readonly lastEventId: string | string[] | undefined;
  /** Aborted when the client has gone, or the server stops; made when it is asked for. */
  readonly gone: () => AbortSignal;
  readonly requestId: string;
  readonly limits: RateLimits;
  readonly accounts: AccountSettings;
}

/** What only the action itself knows of an act. */
export interface ActDetail {
  /** The user who did it, where the caller was nobody yet. */
  readonly userId?: number;
  readonly target?: string;
}

/** What an action answers. */
export type Answer =
  | {
      /** JSON text of `data`. */
      readonly data: string;
      readonly meta?: object;
      /** The record's counter for the ETag of one record, 0 for lists; absent: no ETag. */
      readonly counter?: number;
      /** What the audit journal says of a {@link SystemAction.journaled} act. */
      readonly act?: ActDetail;
    }
  | { readonly stream: AsyncGenerator<string>; readonly contentType: string }
  | DocumentAnswer;

/** JSON that stands for itself, without `data` around it. */
export interface DocumentAnswer {
  readonly document: Buffer;
  /** `gzip`, or null where it is sent as it is. */
  readonly encoding: string | null;
  /** The strong ETag. */
  readonly tag: string;
}

export type Action = (call: Call) => Promise<Answer>;

/** An action of a system resource. `public` ones need no credential. */
export interface SystemAction {
  readonly reads: boolean;
  readonly public?: boolean;
  /** An administrative act that leaves no event: the audit journal is told of it at the door. */
  readonly journaled?: boolean;
  readonly run: Action;
}
