/**
 * One open connection of a verified caller, whatever carries it: its subscriptions, and its credential, which is asked for
 * again whenever who may do what has changed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Lease } from '../applications/open-applications.ts';
import { inRole } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordContext } from '../records/record-context.ts';
import { type Feed, type FeedPage, type FeedReader, feedOf } from './feed.ts';
import { type AskedSubscription, type Listener, Subscription } from './subscription.ts';

/** Why the server ends a connection. */
export type End = 'credential' | 'slow' | 'restart';

/** What carries messages to the other side. */
export interface Wire {
  /** Bytes that are sent and not yet taken. */
  readonly buffered: number;
  /** @param text the event as JSON. */
  event(id: string, cursor: string, text: string): void;
  resync(id: string, cursor: string): void;
  refused(id: string, error: ApiError): void;
  end(reason: End): void;
}

/** How the caller proved who they are; null: nobody did. */
export interface Proof {
  readonly token: string;
  readonly role: string | undefined;
}

/** A reader that has more to take up gets no more until it has taken up most of it. */
const fullBytes = 256 * 1024;
const roomBytes = 64 * 1024;
const roomMilliseconds = 25;
/** How long a full reader may take nothing at all. */
const patienceMilliseconds = 5000;

export class Connection implements FeedReader {
  readonly #lease: Lease;
  readonly #wire: Wire;
  readonly #proof: Proof | null;
  readonly #feed: Feed;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Characters of each subscription's resource and filter, and of all. */
  readonly #lengths = new Map<string, number>();
  #length = 0;
  readonly #leave = (): void => this.end('restart');
  readonly #clock: () => number;
  #caller: Caller;
  #version: number;
  #ended = false;

  /** Takes over the lease, and gives it back at its end. */
  constructor(lease: Lease, wire: Wire, caller: Caller, proof: Proof | null) {
    const { application } = lease;
    this.#lease = lease;
    this.#wire = wire;
    this.#caller = caller;
    this.#proof = proof;
    this.#version = application.version;
    this.#clock = () => application.clock.now();
    this.#feed = feedOf(application);
    this.#feed.add(this);
    application.leaving.addEventListener('abort', this.#leave);
    if (application.leaving.aborted) this.#leave();
  }

  /** Who is at the other end, now. */
  get caller(): Caller {
    return this.#caller;
  }

  /**
   * Begins to tell, after `ready` was called with the cursor from which on.
   *
   * @throws ApiError 400 and 403; then there is no such subscription.
   */
  async subscribe(
    id: string,
    asked: AskedSubscription,
    ready: (cursor: string, resync: boolean) => void,
  ): Promise<void> {
    if (this.#subscriptions.has(id))
      throw new ApiError('PARAMETER_INVALID', `There is a subscription "${id.slice(0, 60)}" already; take another id.`);
    if (this.#subscriptions.size >= limits.subscriptions)
      throw new ApiError('LIMIT_EXCEEDED', `One connection has at most ${limits.subscriptions} subscriptions.`);
    const length = asked.resource.length + (asked.filter == null ? 0 : JSON.stringify(asked.filter).length);
    if (this.#length + length > limits.subscriptionsLength)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `The filters of one connection have at most ${limits.subscriptionsLength} characters in all; shorten them.`,
      );
    const { application } = this.#lease;
    const opened = await application.current(() =>
      Subscription.open(application, this.#feed, this.#context(), asked, new Teller(id, this, this.#wire)),
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
    this.#subscriptions.get(id)?.end();
    this.#length -= this.#lengths.get(id) ?? 0;
    this.#lengths.delete(id);
    return this.#subscriptions.delete(id);
  }

  async take(page: FeedPage): Promise<void> {
    if (this.#version !== this.#lease.application.version) await this.look(true);
    const context = (): RecordContext => this.#context();
    await Promise.all([...this.#subscriptions.values()].map((each) => each.take(page, context)));
  }

  async look(changed: boolean): Promise<void> {
    const { expiresAt } = this.#caller;
    const over = expiresAt !== null && this.#clock() >= expiresAt;
    const { version } = this.#lease.application;
    if (!changed && !over && version === this.#version) return;
    try {
      await this.#provenAgain();
    } catch (error) {
      if (error instanceof ApiError) this.end('credential');
      return;
    }
    if (version === this.#version) return;
    let isComplete = true;
    for (const [id, subscription] of [...this.#subscriptions])
      await subscription.look(this.#context()).catch((error: unknown) => {
        if (error instanceof ApiError) this.fail(id, error);
        else isComplete = false; // the database is away: the next look does it
      });
    if (isComplete) this.#version = version;
  }

  /** @param reason null where the other side has gone. */
  end(reason: End | null): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const id of [...this.#subscriptions.keys()]) this.unsubscribe(id);
    this.#feed.delete(this);
    this.#lease.application.leaving.removeEventListener('abort', this.#leave);
    this.#lease.release();
    if (reason !== null) this.#wire.end(reason);
  }

  async #provenAgain(): Promise<void> {
    if (this.#proof === null) return;
    const { token, role } = this.#proof;
    this.#caller = inRole(await this.#lease.application.authenticator.authenticate(token), role);
  }

  #context(): RecordContext {
    return this.#lease.application.recordContext(this.#caller, null);
  }

  /** Ends a subscription for good. */
  fail(id: string, error: ApiError): void {
    if (this.unsubscribe(id)) this.#wire.refused(id, error);
  }

  /** Each subscription's part of what a connection may hold in memory. */
  get mostKnown(): number {
    return Math.min(limits.knownRecords, Math.floor(limits.knownRecordsInAll / this.#subscriptions.size));
  }

  /** Resolves when there is room for more; with false where there is nobody to tell any more. */
  async room(): Promise<boolean> {
    if (this.#wire.buffered <= fullBytes) return !this.#ended;
    let least = this.#wire.buffered;
    let moved = performance.now();
    while (!this.#ended && this.#wire.buffered > roomBytes) {
      await pause(roomMilliseconds);
      if (this.#wire.buffered < least) {
        least = this.#wire.buffered;
        moved = performance.now();
      } else if (performance.now() - moved > patienceMilliseconds) this.end('slow');
    }
    return !this.#ended;
  }
}

/** What one subscription tells, under its name. */
class Teller implements Listener {
  readonly #id: string;
  readonly #connection: Connection;
  readonly #wire: Wire;

  constructor(id: string, connection: Connection, wire: Wire) {
    this.#id = id;
    this.#connection = connection;
    this.#wire = wire;
  }

  get mostKnown(): number {
    return this.#connection.mostKnown;
  }

  get full(): boolean {
    return this.#wire.buffered > fullBytes;
  }

  event(cursor: string, text: string): void {
    this.#wire.event(this.#id, cursor, text);
  }

  resync(cursor: string): void {
    this.#wire.resync(this.#id, cursor);
  }

  failed(error: ApiError): void {
    this.#connection.fail(this.#id, error);
  }

  room(): Promise<boolean> {
    return this.#connection.room();
  }
}
