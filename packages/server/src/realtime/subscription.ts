import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { publicRole } from '../access/access-table.ts';
import type { Application } from '../applications/application.ts';
import type { LoggedEvent } from '../changes/change-log.ts';
import { isAfter, startPosition } from '../changes/cursor.ts';
import { ApiError } from '../protocol/api-error.ts';
import { permissionDenied } from '../query/read-access.ts';
import { checkVisibilityQuery, createVisibilityQuery } from '../records/read/visible-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import {
  buildLeftEvent,
  type EventVisibility,
  readEventVisibilities,
  type Scope,
  VisibilityCache,
  visibilityKey,
} from './event-visibility.ts';
import type { Feed, FeedPage } from './feed.ts';
import { requireKnownResource } from './known-resource.ts';

/** What somebody asks to be told of, checked in form alone. */
export interface SubscriptionRequest {
  /** A collection, the first word of made events, or `*` for all that may be seen. */
  readonly resource: string;
  readonly filter: unknown;
  readonly since: string | null;
  readonly values: boolean;
}

/** Where a subscription tells; each call is one message. */
export interface Listener {
  event(cursor: string, text: string): void;
  resync(cursor: string): void;
  /** How many records a subscription may know the reader to have. */
  readonly maxKnownRecords: number;
  /** Whether the reader has so much to take up that it gets no more for now. */
  readonly isFull: boolean;
  /** Resolves when there is room for more; with false where the reader makes no way and is given up. */
  waitForDrain(): Promise<boolean>;
  /** The subscription has come to its end: the caller may not have it any more, or what it names is gone. */
  fail(error: ApiError): void;
}

/** Events, or characters of them, that are told between two looks at whether the reader keeps up. */
const eventsPerDrainCheck = 50;
const charactersPerDrainCheck = 64 * 1024;
const catchUpEvents = 200;
const joinRetryMilliseconds = 5;
const maxKeyLength = 100;
/** After a failure of the store. */
const retryMilliseconds = 500;

/**
 * One subscription: a scope, a place in the log, and who listens. It is handed what is new by the feed; what it has missed,
 * and what its reader is too slow for, it reads from the log at its own pace.
 */
export class Subscription {
  readonly #application: Application;
  readonly #feed: Feed;
  readonly #listener: Listener;
  readonly #scope: Scope;
  /** The last event that was told or passed over. */
  #position: string;
  #live = false;
  #ended = false;
  /** Records that the reader was told of: true while in scope, false since it was told that they left. */
  readonly #knownRecords = new Map<string, boolean>();
  /** What of the caller's rights the view depends on. */
  #accessFingerprint = '';

  private constructor(
    application: Application,
    feed: Feed,
    listener: Listener,
    scope: Scope,
    position: string,
    context: RecordContext,
  ) {
    this.#application = application;
    this.#feed = feed;
    this.#listener = listener;
    this.#scope = scope;
    this.#position = position;
    this.#accessFingerprint = computeAccessFingerprint(context, scope);
  }

  /**
   * Begins where `since` ends, else now.
   *
   * @returns the subscription, its cursor, and whether the reader must read anew: the log cannot go on from `since`.
   * @throws ApiError 400 for a filter or cursor that does not hold, 403 where the caller may not get records.
   */
  static async open(
    application: Application,
    feed: Feed,
    context: RecordContext,
    request: SubscriptionRequest,
    listener: Listener,
  ): Promise<{ subscription: Subscription; cursor: string; resync: boolean }> {
    const { changes } = application;
    const scope = toScope(request);
    requireScope(context, scope);
    if (scope.resource !== null) await requireKnownResource(context, changes, scope.resource);
    const resumed = request.since === null ? null : await changes.resume(request.since);
    const cursor = resumed === null ? await changes.headCursor() : request.since!;
    const position = resumed ?? (await changes.resume(cursor)) ?? startPosition;
    const subscription = new Subscription(application, feed, listener, scope, position, context);
    return { subscription, cursor, resync: request.since !== null && resumed === null };
  }

  /** Begins to tell. @param context of the caller, at each moment. */
  begin(context: () => RecordContext): void {
    void this.#catchUp(context);
  }

  end(): void {
    this.#ended = true;
    this.#knownRecords.clear();
  }

  /** Tells what is new. */
  async receive({ events, visibilityCache }: FeedPage, context: () => RecordContext): Promise<void> {
    if (!this.#live || this.#ended) return;
    const { position: last } = events.at(-1)!;
    if (!isAfter(last, this.#position)) return;
    try {
      const hasRoom = this.#scope.values === null || visibilityCache.hasRoom(visibilityKey(context(), this.#scope));
      // All look at the same page, so that what one found holds for the others.
      if (!hasRoom || !(await this.#emitEvents(events, context, visibilityCache))) void this.#catchUp(context);
    } catch (error) {
      if (!this.#isFatal(error)) void this.#catchUp(context);
    }
  }

  /**
   * After rights or definitions have changed: another view is another beginning.
   *
   * @throws ApiError when the caller may not have the subscription any more.
   */
  async refresh(context: RecordContext): Promise<void> {
    requireScope(context, this.#scope);
    const accessFingerprint = computeAccessFingerprint(context, this.#scope);
    if (accessFingerprint === this.#accessFingerprint) return;
    const cursor = await this.#application.changes.headCursor();
    this.#accessFingerprint = accessFingerprint;
    this.#knownRecords.clear();
    this.#listener.resync(cursor);
  }

  /** Reads on until nothing is left, then is handed what comes. */
  async #catchUp(context: () => RecordContext): Promise<void> {
    this.#live = false;
    const { changes } = this.#application;
    while (!this.#ended && !this.#live) {
      try {
        if (!(await this.#listener.waitForDrain())) return;
        const events = await changes.read(this.#position, catchUpEvents);
        if (events.length > 0) await this.#emitEvents(events, context, new VisibilityCache());
        else await this.#join();
      } catch (error) {
        if (this.#isFatal(error)) return;
        await pause(retryMilliseconds);
      }
    }
  }

  /** Is handed what comes from now on, if the feed has not gone ahead. */
  async #join(): Promise<void> {
    const { position } = this.#feed;
    if (position === null) await pause(joinRetryMilliseconds);
    else this.#live = !isAfter(position, this.#position);
  }

  /** Whether a failure is for good; others pass, and what was not told is read again. */
  #isFatal(error: unknown): boolean {
    if (this.#ended) return true;
    if (!(error instanceof ApiError) || error.label === 'Service Unavailable') return false;
    this.#listener.fail(error);
    return true;
  }

  /** @returns false where the reader does not keep up; what is left is not told. */
  async #emitEvents(
    page: readonly LoggedEvent[],
    context: () => RecordContext,
    visibilityCache: VisibilityCache,
  ): Promise<boolean> {
    const visibilities = await this.#application.withCurrentSnapshot(() =>
      readEventVisibilities(context(), page, this.#scope, visibilityCache),
    );
    const { position: last } = page.at(-1)!;
    let emitted = 0;
    let length = 0;
    for (const visibility of visibilities) {
      const { event } = visibility;
      if (this.#ended) return true;
      if (!isAfter(event.position, this.#position)) continue;
      const text = this.#buildMessage(visibility);
      if (text !== null) this.#listener.event(visibility.cursor, text);
      this.#position = event.position;
      if (text === null) continue;
      emitted += 1;
      length += text.length;
      if ((emitted % eventsPerDrainCheck === 0 || length > charactersPerDrainCheck) && this.#listener.isFull)
        return false;
      if (length > charactersPerDrainCheck) length = 0;
    }
    this.#position = last;
    return !this.#listener.isFull;
  }

  /** The message of an event to this reader, or null. */
  #buildMessage(visibility: EventVisibility): string | null {
    const { event, inScope, permitted, tracked, text } = visibility;
    const key = shortKey(visibility.key);
    if (!tracked || event.tk === null) return inScope ? text : null;
    const known = this.#knownRecords.get(key);
    if (event.name.endsWith('.destroyed')) {
      this.#knownRecords.delete(key);
      return permitted || known === true ? text : null;
    }
    if (inScope) {
      this.#note(key, true);
      return text;
    }
    const isNew = event.name.endsWith('.created') || event.name.endsWith('.restored');
    if (known === false || (known === undefined && (!permitted || isNew))) return null;
    this.#note(key, false);
    return buildLeftEvent(visibility);
  }

  /** Past the bound the reader is told to begin anew: it could miss that a record has left. */
  #note(key: string, inScope: boolean): void {
    if (this.#knownRecords.size >= this.#listener.maxKnownRecords && !this.#knownRecords.has(key)) {
      this.#knownRecords.clear();
      void this.#resync();
    }
    this.#knownRecords.set(key, inScope);
  }

  async #resync(): Promise<void> {
    while (!this.#ended) {
      const cursor = await this.#application.changes.headCursor().catch(() => null);
      if (cursor === null) await pause(retryMilliseconds);
      else if (!this.#ended) return this.#listener.resync(cursor);
    }
  }
}

/** Keys of records may be texts of any length, and thousands are remembered. */
function shortKey(key: string): string {
  return key.length <= maxKeyLength ? key : hash('sha256', key, 'base64url');
}

function toScope({ resource, filter, values }: SubscriptionRequest): Scope {
  const filtered = filter !== undefined && filter !== null;
  const filterKey = filtered ? JSON.stringify(filter) : '';
  if (resource === '*' && (filtered || values))
    throw new ApiError('PARAMETER_INVALID', 'filter and values need one resource; * takes neither.');
  return {
    resource: resource === '*' ? null : resource,
    filterKey,
    matching: filtered ? createVisibilityQuery(filter) : null,
    values: values ? createVisibilityQuery(filter, { shows: true }) : null,
  };
}

/** @throws ApiError 403 where the caller may not get records of the resource, 400 where the filter does not hold. */
function requireScope(context: RecordContext, { resource, matching, values }: Scope): void {
  if (resource === null) return;
  const grant = context.findGrant(resource, 'get');
  if (!grant) throw permissionDenied(resource.slice(0, 60), 'get');
  const collection = context.registry.find(resource);
  if (!collection && (matching || values))
    throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${resource.slice(0, 60)}" to filter.`);
  for (const visibility of [matching, values])
    if (collection && visibility) checkVisibilityQuery(context, collection, grant, visibility);
}

/** What the view depends on: rows and fields of the grant, and the values of the variables in it. */
function computeAccessFingerprint(context: RecordContext, { resource }: Scope): string {
  if (resource === null) return computeRoleFingerprint(context);
  const grant = context.findGrant(resource, 'get')!;
  const collection = context.registry.find(resource);
  const fields = collection?.fields.filter((field) => grant.may(field)).map((field) => field.id) ?? [];
  const { rows } = grant;
  if (rows === null) return JSON.stringify([fields]);
  const values = context.variables();
  const variables = [...rows.variables.values()].filter((name) => name !== '$now').map((name) => values[name] ?? null);
  return JSON.stringify([fields, rows.filter, rows.values, variables]);
}

function computeRoleFingerprint({ caller, access }: RecordContext): string {
  const rows = [caller.role, publicRole].flatMap((role) => access.roles.get(role)?.permissions ?? []);
  const permissions = rows.map((row) => [
    row.id,
    row.resource,
    row.actions,
    row.filter?.filter ?? null,
    row.filter?.values ?? null,
    row.fields && [...row.fields],
    row.exceptFields && [...row.exceptFields],
  ]);
  return JSON.stringify([caller.role, permissions]);
}
