import { setTimeout as pause } from 'node:timers/promises';
import type { Application } from '../applications/application.ts';
import type { LoggedEvent } from '../changes/change-log.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { permissionDenied } from '../query/read-access.ts';
import type { RecordContext } from '../records/record-context.ts';
import { findEventGrant } from './event-grants.ts';
import { readEventVisibilities, type Scope, VisibilityCache } from './event-visibility.ts';
import { type FeedReader, getFeed } from './feed.ts';
import { requireKnownResource } from './known-resource.ts';

/** A parsed request for a page of the event log. */
export interface ChangesRequest {
  readonly since: string | null;
  readonly resource: string | null;
  readonly pageSize: number;
  /** How long to wait for an event, in seconds. */
  readonly wait: number;
}

/** A page of events as JSON text, with the cursor of the next page. */
export interface ChangesPage {
  readonly data: string;
  readonly meta: { readonly nextCursor: string; readonly hasNext: boolean; readonly resync?: true };
}

/** Loads the caller's present context. The credential is verified again. */
type LoadContext = () => Promise<RecordContext>;

/**
 * The events after a cursor that are visible to the caller, oldest first. If there are none, it waits for one as long as
 * requested.
 *
 * @param getAbortSignal aborted when the client disconnects or the server stops, which ends the wait.
 * @throws ApiError 400 for an invalid cursor, 403 without permission to get records of the resource.
 */
export async function readChangesPage(
  application: Application,
  loadContext: LoadContext,
  request: ChangesRequest,
  getAbortSignal: () => AbortSignal,
): Promise<ChangesPage> {
  const context = await loadContext();
  requireResource(context, request);
  if (request.resource !== null) await requireKnownResource(context, application.changes, request.resource);
  const from = request.since === null ? null : await application.changes.resume(request.since);
  if (request.since !== null && from === null) {
    const nextCursor = await application.changes.headCursor();
    return { data: '[]', meta: { nextCursor, hasNext: false, resync: true } };
  }
  const reader = new ChangesReader(application, request, from);
  const first = await reader.read(loadContext);
  if (first.hasEvents || request.wait === 0 || first.page.meta.hasNext) return first.page;
  return waitForEvents(application, () => reader.read(loadContext), request.wait * 1000, getAbortSignal());
}

/** Reads after each new event until there is a visible one, or until the time is over. */
async function waitForEvents(
  application: Application,
  read: () => Promise<ReadResult>,
  milliseconds: number,
  abortSignal: AbortSignal,
): Promise<ChangesPage> {
  const until = performance.now() + milliseconds;
  const waker = new Waker();
  const wake = (): void => waker.wake();
  const signals = [abortSignal, application.closingSignal];
  for (const each of signals) each.addEventListener('abort', wake);
  const timer = setTimeout(wake, milliseconds);
  const feed = getFeed(application);
  feed.add(waker);
  try {
    for (;;) {
      const { page, hasEvents } = await read();
      const isOver = performance.now() >= until || signals.some((each) => each.aborted);
      if (hasEvents || page.meta.hasNext || isOver) return page;
      await waker.waitForWake();
      await pause(gatherMilliseconds);
    }
  } finally {
    clearTimeout(timer);
    for (const each of signals) each.removeEventListener('abort', wake);
    feed.delete(waker);
  }
}

/** Collects the events of one write. */
const gatherMilliseconds = 2;

/** A page, and whether it contains events. */
interface ReadResult {
  readonly page: ChangesPage;
  readonly hasEvents: boolean;
}

/** Continues from its last position, so that a wait reads each event once. */
class ChangesReader {
  readonly #application: Application;
  readonly #request: ChangesRequest;
  #position: string | null;
  #last: LoggedEvent | null = null;

  constructor(application: Application, request: ChangesRequest, position: string | null) {
    this.#application = application;
    this.#request = request;
    this.#position = position;
  }

  async read(loadContext: LoadContext): Promise<ReadResult> {
    const context = await loadContext();
    requireResource(context, this.#request);
    const { pageSize } = this.#request;
    const texts: string[] = [];
    let more = true;
    for (let scanned = 0; more && scanned < limits.eventsScanned && texts.length < pageSize; ) {
      const events = await this.#application.changes.read(this.#position, limits.eventsPage);
      more = events.length === limits.eventsPage;
      scanned += events.length;
      more = (await this.#appendEvents(context, events, texts)) || more;
    }
    const data = `[${texts.join(',')}]`;
    return { page: { data, meta: { nextCursor: this.#cursor(), hasNext: more } }, hasEvents: texts.length > 0 };
  }

  /** @returns whether events are left that do not fit on the page. */
  async #appendEvents(context: RecordContext, events: readonly LoggedEvent[], texts: string[]): Promise<boolean> {
    const visibilities = await readEventVisibilities(context, events, toScope(this.#request), new VisibilityCache());
    for (const { event, inScope, text } of visibilities) {
      if (!inScope) continue;
      if (texts.length === this.#request.pageSize) return true;
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
    return this.#last ? changes.encodeEventPosition(this.#last) : (this.#request.since ?? changes.firstCursor);
  }
}

function toScope({ resource }: ChangesRequest): Scope {
  return { resource, filterKey: '', matching: null, values: null };
}

function requireResource(context: RecordContext, { resource }: ChangesRequest): void {
  if (resource !== null && !findEventGrant(context, resource)) throw permissionDenied(resource.slice(0, 60), 'get');
}

/** Is woken by the feed. A wake without a waiter is remembered. */
class Waker implements FeedReader {
  #woken = false;
  #resolve: (() => void) | null = null;

  async receive(): Promise<void> {
    this.wake();
  }

  async refresh(changed: boolean): Promise<void> {
    if (changed) this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#resolve?.();
  }

  async waitForWake(): Promise<void> {
    if (!this.#woken)
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    this.#woken = false;
    this.#resolve = null;
  }
}

/** @throws ApiError for invalid parameters. */
export function parseChangesRequest(parameters: Readonly<Record<string, unknown>>): ChangesRequest {
  const { since, resource, wait, pageSize } = parameters;
  return {
    since: parseText('since', since),
    resource: parseText('resource', resource),
    pageSize: parseInteger('pageSize', pageSize, 1, limits.maxPageSize) ?? limits.pageSizeDefault,
    wait: parseInteger('wait', wait, 0, limits.waitSeconds) ?? 0,
  };
}

/** Maximum length of a cursor or name. Waiting requests keep them in memory. */
const maxTextLength = 500;

function parseText(name: string, input: unknown): string | null {
  if (input === undefined || input === null || input === '') return null;
  if (typeof input === 'string' && input.length <= maxTextLength) return input;
  throw new ApiError(
    'PARAMETER_INVALID',
    `The parameter "${name}" must be a text of at most ${maxTextLength} characters.`,
  );
}

function parseInteger(name: string, input: unknown, minimum: number, maximum: number): number | null {
  if (input === undefined || input === null) return null;
  const number = typeof input === 'string' && /^\d{1,9}$/.test(input) ? Number(input) : input;
  if (typeof number === 'number' && Number.isInteger(number) && number >= minimum && number <= maximum) return number;
  throw new ApiError(
    'PARAMETER_INVALID',
    `The parameter "${name}" must be a whole number from ${minimum} to ${maximum}.`,
  );
}
