/**
 * The only reader of an application's event log: reads each event once and delivers it to all listeners. An application
 * without listeners costs nothing.
 *
 * Other servers on the same store also write events and change permissions. PostgreSQL's NOTIFY would take a lock that
 * serialises all commits of the database, and needs its own connection. Instead, the log and the version are read four
 * times a second, by their indexes.
 */
import type { Application } from '../applications/application.ts';
import { BackgroundWorker } from '../base/background-worker.ts';
import type { LoggedEvent } from '../changes/change-log.ts';
import { startPosition } from '../changes/cursor.ts';
import { VisibilityCache } from './event-visibility.ts';

/** Events that are delivered together. */
export interface FeedPage {
  readonly events: readonly LoggedEvent[];
  readonly visibilityCache: VisibilityCache;
}

/** A listener. Neither call may reject; a listener that fails ends itself. */
export interface FeedReader {
  receive(page: FeedPage): Promise<void>;
  /**
   * Called four times a second. @param changed whether permissions or definitions may have changed since the last call.
   */
  refresh(changed: boolean): Promise<void>;
}

const pageEvents = 500;
const refreshMilliseconds = 250;
/** Pause between two pages: events that come meanwhile are read together, and writes have the event loop. */
const debounceMilliseconds = 3;

/** Reads the event log of one application for all of its listeners. */
export class Feed {
  readonly #application: Application;
  readonly #readers = new Set<FeedReader>();
  readonly #reading: BackgroundWorker;
  readonly #refreshing: BackgroundWorker;
  #position = startPosition;
  /** False until the end of the log is known. */
  #begun = false;
  #version = 0;
  #unsubscribe: (() => void) | null = null;

  constructor(application: Application) {
    this.#application = application;
    this.#reading = new BackgroundWorker({
      run: () => this.#deliverPage(),
      onError: (error) => application.logger.warn({ err: error }, 'The event log could not be read.'),
      debounceMilliseconds,
      pauseMilliseconds: debounceMilliseconds,
    });
    this.#refreshing = new BackgroundWorker({
      run: () => this.#refresh(),
      onError: (error) => application.logger.warn({ err: error }, 'Realtime listeners could not be refreshed.'),
      intervalMilliseconds: refreshMilliseconds,
    });
  }

  /** The last event that was delivered; null before the end of the log is known. */
  get position(): string | null {
    return this.#begun ? this.#position : null;
  }

  /** The number of listeners. */
  get size(): number {
    return this.#readers.size;
  }

  /** The reader receives later events; it reads earlier ones itself. */
  add(reader: FeedReader): void {
    this.#readers.add(reader);
    if (this.#readers.size === 1) this.#begin();
  }

  delete(reader: FeedReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#end();
  }

  #begin(): void {
    this.#version = this.#application.version;
    this.#begun = false;
    this.#reading.start();
    this.#refreshing.start();
    this.#unsubscribe = this.#application.changes.subscribe(() => this.#reading.wake());
    this.#reading.wake();
  }

  #end(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    void this.#reading.stop();
    void this.#refreshing.stop();
  }

  async #deliverPage(): Promise<void> {
    const { changes } = this.#application;
    if (!this.#begun) {
      this.#position = await changes.head();
      this.#begun = true;
      this.#reading.wake();
      return;
    }
    const events = await changes.read(this.#position, pageEvents);
    const last = events.at(-1);
    if (!last) return;
    this.#position = last.position;
    const page = { events, visibilityCache: new VisibilityCache() };
    await Promise.all([...this.#readers].map((reader) => reader.receive(page)));
    if (events.length === pageEvents) this.#reading.wake();
  }

  async #refresh(): Promise<void> {
    if (this.#application.database.multiNode) {
      await this.#application.ensureCurrent();
      this.#reading.wake();
    }
    const { version } = this.#application;
    const changed = version !== this.#version;
    this.#version = version;
    await Promise.all([...this.#readers].map((reader) => reader.refresh(changed)));
  }
}

const feeds = new WeakMap<Application, Feed>();

/** The feed of an application, created on first use. */
export function getFeed(application: Application): Feed {
  let feed = feeds.get(application);
  if (!feed) {
    feed = new Feed(application);
    feeds.set(application, feed);
  }
  return feed;
}
