/** The data that the HTTP layer works with: the parts of the server, and a request before its action runs. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Application } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import type { StoredSettings } from '../applications/stored-settings.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/logger.ts';
import type { ServerHealth } from '../base/server-health.ts';
import type { Tracing } from '../base/tracing/tracing.ts';
import type { Extension } from '../extensions/extension.ts';
import type { Caller } from '../identity/caller.ts';
import type { AccountSettings } from './account-settings.ts';
import type { ReaderCount } from './health.ts';
import type { SharedRequestWindows } from './rate-limits.ts';
import type { ReceivedBody } from './request-body.ts';
import type { SystemAction } from './request-context.ts';
import type { ObservedRequest } from './request-observer.ts';
import type { Route } from './route.ts';
import type { RequestUpload } from './uploads.ts';

export interface HttpParts {
  readonly applications: Applications;
  readonly config: Config;
  readonly logger: Logger;
  readonly accounts: AccountSettings;
  readonly settings: StoredSettings;
  readonly extensions: readonly Extension[];
  readonly health: ServerHealth;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
  /** The credential of the command line on this machine. */
  readonly operatorToken: string;
  /** The threads that listen on the same port; null: none. */
  readonly readers: (ReaderCount & { readonly windows: SharedRequestWindows; readonly connections: number }) | null;
}

/** A request before its application and body are known. */
export interface IncomingRequest {
  readonly action: SystemAction | undefined;
  readonly route: Route;
  /** The signature of a file's URL, which is the credential of the request; null for all other requests. */
  readonly signature: string | null;
  readonly reads: boolean;
  readonly query: string;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly requestId: string;
  readonly address: string;
  readonly known: (application: Application) => boolean;
  readonly observed: ObservedRequest;
  /** Null until the credential is verified. */
  caller: Caller | null;
  /** Whether a rate limit has counted the request. */
  counted: boolean;
  /** The bytes of an upload; null until the action runs, and without one. */
  upload: RequestUpload | null;
  /** Null until the body is read, which happens once, even if the action is repeated. */
  received: Promise<ReceivedBody> | null;
}
