/**
 * The one reader of an application's event log: reads each event once and hands it to all who listen. Works only while
 * somebody does; an application without listeners costs nothing.
 *
 * Other servers on the same store write events too, and change who may do what. PostgreSQL's NOTIFY would take a lock
 * that all commits of the database pass one by one, and needs a connection of its own; so the log and the version are
 * looked at instead, four times a second, by their indexes.
 */
import type { Application } from '../applications/application.ts';
import type { LoggedEvent } from '../changes/change-log.ts';
import { startPosition } from '../changes/cursor.ts';
import { VisibilityCache } from './event-visibility.ts';

/** Events that are handed on together. */
export interface FeedPage {
  readonly events: readonly LoggedEvent[];
  readonly visibilityCache: VisibilityCache;
}

/** Who listens. Neither call may reject; a listener that fails ends itself. */
export interface FeedReader {
  receive(page: FeedPage): Promise<void>;
  /** Called four times a second. @param changed who may do what, or definitions, may have changed since. */
  refresh(changed: boolean): Promise<void>;
}

const pageEvents = 500;
const tickMilliseconds = 250;
/** Between two pages: what is written meanwhile comes together, and writes have the loop to themselves. */
const gatherMilliseconds = 3;

export class Feed {
  readonly #application: Application;
  readonly #readers = new Set<FeedReader>();
  #position = startPosition;
  /** False until it is known where the log ends. */
  #begun = false;
  #version = 0;
  #unsubscribe: (() => void) | null = null;
  #tick: NodeJS.Timeout | null = null;
  #gathering: NodeJS.Timeout | null = null;
  #pumping = false;
  #isRefreshing = false;
  #more = false;

  constructor(application: Application) {
    this.#application = application;
  }

  /** The last event that was handed on; null while the feed is at its beginning. */
  get position(): string | null {
    return this.#begun ? this.#position : null;
  }

  /** How many listen. */
  get size(): number {
    return this.#readers.size;
  }

  /** From here on the reader is handed what comes; what came before it reads by itself. */
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
    this.#unsubscribe = this.#application.changes.subscribe(this.#wake);
    this.#tick = setInterval(() => void this.#refresh(), tickMilliseconds);
    this.#wake();
  }

  #end(): void {
    this.#unsubscribe?.();
    if (this.#tick) clearInterval(this.#tick);
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#unsubscribe = null;
    this.#tick = null;
    this.#gathering = null;
  }

  readonly #wake = (): void => {
    this.#more = true;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      void this.#pump();
    }, gatherMilliseconds);
  };

  async #pump(): Promise<void> {
    if (this.#pumping || this.#readers.size === 0) return;
    this.#pumping = true;
    this.#more = false;
    try {
      const isFull = await this.#deliverPage();
      if (isFull) this.#more = true;
    } catch (error) {
      this.#application.logger.warn({ err: error }, 'events could not be read');
    } finally {
      this.#pumping = false;
    }
    if (this.#more && this.#readers.size > 0) this.#wake();
  }

  /** @returns whether there may be more. */
  async #deliverPage(): Promise<boolean> {
    const { changes } = this.#application;
    if (!this.#begun) {
      this.#position = await changes.head();
      this.#begun = true;
      return true;
    }
    const events = await changes.read(this.#position, pageEvents);
    const last = events.at(-1);
    if (!last) return false;
    this.#position = last.position;
    const page = { events, visibilityCache: new VisibilityCache() };
    await Promise.all([...this.#readers].map((reader) => reader.receive(page)));
    return events.length === pageEvents;
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      if (this.#application.database.multiNode) {
        await this.#application.ensureCurrent();
        this.#wake();
      }
      const { version } = this.#application;
      const changed = version !== this.#version;
      this.#version = version;
      await Promise.all([...this.#readers].map((reader) => reader.refresh(changed)));
    } catch (error) {
      this.#application.logger.warn({ err: error }, 'listeners could not be looked after');
    } finally {
      this.#isRefreshing = false;
    }
  }
}

const feeds = new WeakMap<Application, Feed>();

/** The feed of an application, made when it is first asked for. */
export function getFeed(application: Application): Feed {
  let feed = feeds.get(application);
  if (!feed) {
    feed = new Feed(application);
    feeds.set(application, feed);
  }
  return feed;
}
