/**
 * One open connection of a verified caller, over any transport: its subscriptions, and its credential, which is verified again
 * whenever permissions have changed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Lease } from '../applications/application-lease.ts';
import { withRole } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordContext } from '../records/record-context.ts';
import { ConnectionPresence } from './connection-presence.ts';
import { type Feed, type FeedPage, type FeedReader, getFeed } from './feed.ts';
import { type Listener, Subscription, type SubscriptionRequest } from './subscription.ts';

/** Why the server ends a connection. */
export type CloseReason = 'credential' | 'slow' | 'restart';

/** The transport of messages to the client. */
export interface EventTransport {
  /** Bytes that are buffered and not sent yet. */
  readonly buffered: number;
  /** @param text the event as JSON. */
  event(id: string, cursor: string, text: string): void;
  resync(id: string, cursor: string): void;
  rejectSubscription(id: string, error: ApiError): void;
  end(reason: CloseReason): void;
}

/** The credential of a connection. */
export interface ConnectionCredential {
  readonly token: string;
  readonly role: string | undefined;
}

/** Above the high-water mark, nothing is sent until the buffer is below the low-water mark. */
const highWaterBytes = 256 * 1024;
const lowWaterBytes = 64 * 1024;
const drainPollMilliseconds = 25;
/** Maximum time without progress while the buffer is full. */
const drainTimeoutMilliseconds = 5000;

/** One open connection with its subscriptions. */
export class Connection implements FeedReader {
  readonly #lease: Lease;
  readonly #transport: EventTransport;
  readonly #credential: ConnectionCredential | null;
  readonly #feed: Feed;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Length of each subscription's resource and filter, and of all. */
  readonly #lengths = new Map<string, number>();
  #length = 0;
  readonly #onShutdown = (): void => this.end('restart');
  /** The records that the client has open. */
  readonly presence: ConnectionPresence;
  readonly #clock: () => number;
  #caller: Caller;
  #version: number;
  #ended = false;

  /** @param lease is released when the connection ends. */
  constructor(lease: Lease, transport: EventTransport, caller: Caller, credential: ConnectionCredential | null) {
    const { application } = lease;
    this.#lease = lease;
    this.#transport = transport;
    this.#caller = caller;
    this.#credential = credential;
    this.#version = application.version;
    this.#clock = () => application.clock.now();
    this.presence = new ConnectionPresence({
      application,
      context: () => this.#context(),
      reject: (id, error) => transport.rejectSubscription(id, error),
    });
    this.#feed = getFeed(application);
    this.#feed.add(this);
    application.closingSignal.addEventListener('abort', this.#onShutdown);
    if (application.closingSignal.aborted) this.#onShutdown();
  }

  /** The present caller. */
  get caller(): Caller {
    return this.#caller;
  }

  /**
   * Opens a subscription. `ready` is called with its first cursor before any event is sent.
   *
   * @throws ApiError 400 or 403; the subscription is then not opened.
   */
  async subscribe(
    id: string,
    request: SubscriptionRequest,
    ready: (cursor: string, resync: boolean) => void,
  ): Promise<void> {
    if (this.#subscriptions.has(id) || this.presence.has(id))
      throw new ApiError(
        'PARAMETER_INVALID',
        `A subscription with the id "${id.slice(0, 60)}" exists already. Use another id.`,
      );
    if (this.#subscriptions.size >= limits.subscriptions)
      throw new ApiError('LIMIT_EXCEEDED', `A connection can have at most ${limits.subscriptions} subscriptions.`);
    const length = request.resource.length + (request.filter == null ? 0 : JSON.stringify(request.filter).length);
    if (this.#length + length > limits.subscriptionsLength)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `The filters of a connection can have at most ${limits.subscriptionsLength} characters in total. Shorten them.`,
      );
    const { application } = this.#lease;
    const opened = await application.withCurrentSnapshot(() =>
      Subscription.open(application, this.#context(), request, createListener(id, this, this.#transport)),
    );
    if (this.#ended) return;
    this.#subscriptions.set(id, opened.subscription);
    this.#lengths.set(id, length);
    this.#length += length;
    ready(opened.cursor, opened.resync);
    opened.subscription.begin(() => this.#context());
  }

  /** @returns whether there was one. */
  unsubscribe(id: string): boolean {
    if (this.presence.close(id)) return true;
    this.#subscriptions.get(id)?.end();
    this.#length -= this.#lengths.get(id) ?? 0;
    this.#lengths.delete(id);
    return this.#subscriptions.delete(id);
  }

  async receive(page: FeedPage): Promise<void> {
    if (this.#version !== this.#lease.application.version) await this.refresh(true);
    const context = (): RecordContext => this.#context();
    await Promise.all([...this.#subscriptions.values()].map((each) => each.receive(page, context)));
  }

  async refresh(changed: boolean): Promise<void> {
    const { expiresAt } = this.#caller;
    const isExpired = expiresAt !== null && this.#clock() >= expiresAt;
    const { version } = this.#lease.application;
    if (!changed && !isExpired && version === this.#version) return;
    try {
      await this.#reauthenticate();
    } catch (error) {
      if (error instanceof ApiError) this.end('credential');
      return;
    }
    if (version === this.#version) return;
    let isComplete = true;
    for (const [id, subscription] of [...this.#subscriptions])
      await subscription.refresh(this.#context()).catch((error: unknown) => {
        if (error instanceof ApiError) this.fail(id, error);
        else isComplete = false; // The database is not available: the next refresh repeats the check.
      });
    if (isComplete) this.#version = version;
  }

  /** @param reason null if the client has disconnected. */
  end(reason: CloseReason | null): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const id of [...this.#subscriptions.keys()]) this.unsubscribe(id);
    this.presence.closeAll();
    this.#feed.delete(this);
    this.#lease.application.closingSignal.removeEventListener('abort', this.#onShutdown);
    this.#lease.release();
    if (reason !== null) this.#transport.end(reason);
  }

  async #reauthenticate(): Promise<void> {
    if (this.#credential === null) return;
    const { token, role } = this.#credential;
    this.#caller = withRole(await this.#lease.application.authenticator.authenticate(token), role);
  }

  #context(): RecordContext {
    return this.#lease.application.recordContext(this.#caller, null);
  }

  /** Ends a subscription for good. */
  fail(id: string, error: ApiError): void {
    if (this.unsubscribe(id)) this.#transport.rejectSubscription(id, error);
  }

  /** Each subscription's share of the memory that a connection may use. */
  get maxKnownRecords(): number {
    return Math.min(limits.knownRecords, Math.floor(limits.knownRecordsInAll / this.#subscriptions.size));
  }

  /** Resolves with true when there is room for more, and with false when the client has disconnected. */
  async waitForDrain(): Promise<boolean> {
    if (this.#transport.buffered <= highWaterBytes) return !this.#ended;
    let lowestBuffered = this.#transport.buffered;
    let lastProgress = performance.now();
    while (!this.#ended && this.#transport.buffered > lowWaterBytes) {
      await pause(drainPollMilliseconds);
      if (this.#transport.buffered < lowestBuffered) {
        lowestBuffered = this.#transport.buffered;
        lastProgress = performance.now();
      } else if (performance.now() - lastProgress > drainTimeoutMilliseconds) this.end('slow');
    }
    return !this.#ended;
  }
}

/** Sends the messages of one subscription under its id. */
function createListener(id: string, connection: Connection, transport: EventTransport): Listener {
  return {
    get maxKnownRecords(): number {
      return connection.maxKnownRecords;
    },
    get isFull(): boolean {
      return transport.buffered > highWaterBytes;
    },
    event: (cursor, text) => transport.event(id, cursor, text),
    resync: (cursor) => transport.resync(id, cursor),
    fail: (error) => connection.fail(id, error),
    waitForDrain: () => connection.waitForDrain(),
  };
}
