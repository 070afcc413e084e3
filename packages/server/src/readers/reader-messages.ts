/** The messages between the main thread and its reader threads. */
import type { Socket } from 'node:net';
import type { ActionRequests } from '../base/metrics.ts';
import type { TracingConfig } from '../base/tracing-config.ts';
import type { Row } from '../database/database.ts';
import type { KeyUseDelta } from '../database/key-use-rows.ts';
import type { SharedStore } from '../database/shared-store.ts';
import type { SharedRequestWindows } from '../http/rate-limits.ts';
import type { SlowRequest } from '../http/slow-requests.ts';
import type { CredentialUses } from '../identity/authenticator.ts';
import type { ShapeUses } from '../records/request-shapes.ts';
import type { SentWrite } from '../records/sent-write.ts';
import type { SystemTraits } from '../schema/system-traits.ts';

/** An application with its store. */
export interface SharedApplication extends SharedStore {
  readonly name: string;
}

/** The settings with which a reader starts. */
export interface ReaderSettings {
  readonly host: string;
  readonly port: number;
  /** The Unix domain socket on which the main thread takes over requests. */
  readonly handOverPath: string;
  /** APP_KEY, then the previous one during a rotation. */
  readonly appKeys: readonly string[];
  readonly corsOrigins: ReadonlySet<string> | null;
  readonly isBehindProxies: boolean;
  readonly windows: SharedRequestWindows;
  /** Actions of extensions, which may have the name of a record action. */
  readonly extensionActions: ReadonlySet<string>;
  /** Whether readers plan writes: hooks of extensions, and traces, are only known to the main thread. */
  readonly plansWrites: boolean;
  /** The traits of system collections, without their rules for writes. */
  readonly systemTraits: ReadonlyMap<string, SystemTraits>;
  readonly main: SharedApplication;
  /** The duration from which requests are reported as slow; null: never. */
  readonly slowMilliseconds: number | null;
  /** Where traces are sent; null: nowhere. */
  readonly tracing: TracingConfig | null;
}

export type ToReader =
  | { readonly kind: 'open'; readonly application: SharedApplication }
  /** The application is being closed: its file must not be open when `closed` is sent. */
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'written'; readonly outcomes: readonly WriteOutcome[] }
  /** Running requests may end, then the thread ends. */
  | { readonly kind: 'stop' };

/** A write that a reader has planned, for the main thread to execute. */
export interface ForwardedWrite extends SentWrite {
  /** Identifies the write among those of the reader. */
  readonly id: number;
  readonly application: string;
  /** The version of definitions and permissions that it was planned with. */
  readonly version: number;
}

/** What has become of a forwarded write. */
export interface WriteOutcome {
  readonly id: number;
  /** The rows of its statement, which is durable; null: nothing was written. */
  readonly rows: Row[] | null;
}

/** The successful requests of one application that a reader has answered. */
export interface ReaderUses {
  readonly name: string;
  readonly keys: readonly KeyUseDelta[];
  readonly credentials: CredentialUses;
  /** What an index must provide for its reads, and what they have cost. */
  readonly shapes: readonly ShapeUses[];
}

/** Numbers of requests since the last report. */
export interface RequestCounts {
  readonly answered: number;
  readonly handedOver: number;
  /** The answered requests, by action. */
  readonly actions: readonly ActionRequests[];
  /** Open connections now. */
  readonly connections: number;
}

/** A connection that the main thread serves from now on. The reader has lost it. */
export interface MovedConnection {
  readonly kind: 'connection';
  readonly socket: Socket;
  /** The bytes that the reader has already read from the connection. */
  readonly first: Uint8Array;
}

export type FromReader =
  | MovedConnection
  | { readonly kind: 'listening' }
  /** A request names an application that this reader has not opened. */
  | { readonly kind: 'wanted'; readonly name: string }
  | { readonly kind: 'closed'; readonly name: string }
  | { readonly kind: 'uses'; readonly uses: readonly ReaderUses[] }
  | { readonly kind: 'writes'; readonly writes: readonly ForwardedWrite[] }
  | { readonly kind: 'requests'; readonly requests: RequestCounts }
  | { readonly kind: 'slow'; readonly request: SlowRequest }
  | { readonly kind: 'warning'; readonly message: string };
