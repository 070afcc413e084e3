import { setTimeout as pause } from 'node:timers/promises';
import type { Application } from '../applications/application.ts';
import type { LoggedEvent } from '../changes/change-log.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { denied } from '../query/read-access.ts';
import type { RecordContext } from '../records/record-context.ts';
import { lookAt, type Scope, SharedLooks } from './event-sight.ts';
import { type FeedReader, feedOf } from './feed.ts';
import { requireKnownResource } from './known-resource.ts';

/** A page of the log as it was asked for. */
export interface AskedChanges {
  readonly since: string | null;
  readonly resource: string | null;
  readonly pageSize: number;
  /** How long to wait for something to tell, in seconds. */
  readonly wait: number;
}

/** A page of events as JSON text, and where to go on. */
export interface ChangesPage {
  readonly data: string;
  readonly meta: { readonly nextCursor: string; readonly hasNext: boolean; readonly resync?: true };
}

/** The caller's context at the moment: the credential is asked for again. */
type ContextNow = () => Promise<RecordContext>;

/**
 * Events after a cursor that the caller may see, oldest first. Where there are none it waits for one, as long as it was
 * told to.
 *
 * @param gone aborted when the client has gone, or the server stops: then a wait ends.
 * @throws ApiError 400 for a malformed cursor, 403 where the caller may not get records of the resource.
 */
export async function changesPage(
  application: Application,
  now: ContextNow,
  asked: AskedChanges,
  gone: () => AbortSignal,
): Promise<ChangesPage> {
  const context = await now();
  requireResource(context, asked);
  if (asked.resource !== null) await requireKnownResource(context, application.changes, asked.resource);
  const from = asked.since === null ? null : await application.changes.resume(asked.since);
  if (asked.since !== null && from === null) {
    const nextCursor = await application.changes.headCursor();
    return { data: '[]', meta: { nextCursor, hasNext: false, resync: true } };
  }
  const reading = new Reading(application, asked, from);
  const first = await reading.read(now);
  if (first.told || asked.wait === 0 || first.page.meta.hasNext) return first.page;
  return waited(application, now, asked, reading, gone());
}

async function waited(
  application: Application,
  now: ContextNow,
  asked: AskedChanges,
  reading: Reading,
  gone: AbortSignal,
): Promise<ChangesPage> {
  const until = performance.now() + asked.wait * 1000;
  const waker = new Waker();
  const wake = (): void => waker.wake();
  const signals = [gone, application.leaving];
  for (const each of signals) each.addEventListener('abort', wake);
  const timer = setTimeout(wake, asked.wait * 1000);
  const feed = feedOf(application);
  feed.add(waker);
  try {
    for (;;) {
      const { page, told } = await reading.read(now);
      const over = performance.now() >= until || signals.some((each) => each.aborted);
      if (told || page.meta.hasNext || over) return page;
      await waker.woken();
      await pause(gatherMilliseconds);
    }
  } finally {
    clearTimeout(timer);
    for (const each of signals) each.removeEventListener('abort', wake);
    feed.delete(waker);
  }
}

/** What one write tells of comes together. */
const gatherMilliseconds = 2;

/** Reads on from where it last was, so that a wait looks at each event once. */
class Reading {
  readonly #application: Application;
  readonly #asked: AskedChanges;
  #position: string | null;
  #last: LoggedEvent | null = null;

  constructor(application: Application, asked: AskedChanges, position: string | null) {
    this.#application = application;
    this.#asked = asked;
    this.#position = position;
  }

  async read(now: ContextNow): Promise<{ page: ChangesPage; told: boolean }> {
    const context = await now();
    requireResource(context, this.#asked);
    const { pageSize } = this.#asked;
    const texts: string[] = [];
    let more = true;
    for (let scanned = 0; more && scanned < limits.eventsScanned && texts.length < pageSize; ) {
      const events = await this.#application.changes.read(this.#position, limits.eventsPage);
      more = events.length === limits.eventsPage;
      scanned += events.length;
      more = (await this.#tell(context, events, texts)) || more;
    }
    const data = `[${texts.join(',')}]`;
    return { page: { data, meta: { nextCursor: this.#cursor(), hasNext: more } }, told: texts.length > 0 };
  }

  /** @returns whether events are left that have no place on the page. */
  async #tell(context: RecordContext, events: readonly LoggedEvent[], texts: string[]): Promise<boolean> {
    const sightings = await lookAt(context, events, scopeOf(this.#asked), new SharedLooks());
    for (const { event, inScope, text } of sightings) {
      if (!inScope) continue;
      if (texts.length === this.#asked.pageSize) return true;
      texts.push(text);
      this.#moveTo(event);
    }
    const last = events.at(-1);
    if (last) this.#moveTo(last);
    return false;
  }

  #moveTo(event: LoggedEvent): void {
    this.#last = event;
    this.#position = event.position;
  }

  #cursor(): string {
    const { changes } = this.#application;
    return this.#last ? changes.cursorOf(this.#last) : (this.#asked.since ?? changes.firstCursor);
  }
}

function scopeOf({ resource }: AskedChanges): Scope {
  return { resource, filterKey: '', matching: null, values: null };
}

function requireResource({ grantOf }: RecordContext, { resource }: AskedChanges): void {
  if (resource !== null && !grantOf(resource, 'get')) throw denied(resource.slice(0, 60), 'get');
}

/** Is woken by the feed; a wake that nobody waits for is kept. */
class Waker implements FeedReader {
  #woken = false;
  #resolve: (() => void) | null = null;

  async take(): Promise<void> {
    this.wake();
  }

  async look(changed: boolean): Promise<void> {
    if (changed) this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#resolve?.();
  }

  async woken(): Promise<void> {
    if (!this.#woken)
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    this.#woken = false;
    this.#resolve = null;
  }
}

/** @throws ApiError for what no page can be read with. */
export function askedChanges(parameters: Readonly<Record<string, unknown>>): AskedChanges {
  const { since, resource, wait, pageSize } = parameters;
  return {
    since: textOf('since', since),
    resource: textOf('resource', resource),
    pageSize: numberOf('pageSize', pageSize, 1, limits.pageSizeMaximum) ?? limits.pageSizeDefault,
    wait: numberOf('wait', wait, 0, limits.waitSeconds) ?? 0,
  };
}

/** Of a cursor or a name; a request that waits for events holds them. */
const maxText = 500;

function textOf(name: string, input: unknown): string | null {
  if (input === undefined || input === null || input === '') return null;
  if (typeof input === 'string' && input.length <= maxText) return input;
  throw new ApiError('PARAMETER_INVALID', `"${name}" must be a text of at most ${maxText} characters.`);
}

function numberOf(name: string, input: unknown, least: number, most: number): number | null {
  if (input === undefined || input === null) return null;
  const number = typeof input === 'string' && /^\d{1,9}$/.test(input) ? Number(input) : input;
  if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most) return number;
  throw new ApiError('PARAMETER_INVALID', `${name} must be a whole number from ${least} to ${most}.`);
}
