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
import { findEventGrant } from './event-grants.ts';
import {
  buildLeftEvent,
  type EventVisibility,
  readEventVisibilities,
  type Scope,
  VisibilityCache,
  visibilityKey,
} from './event-visibility.ts';
import { type Feed, type FeedPage, getFeed } from './feed.ts';
import { requireKnownResource } from './known-resource.ts';

/** A parsed request for a subscription. Its names are not resolved yet. */
export interface SubscriptionRequest {
  /** A collection, the first word of published events, or `*` for all visible events. */
  readonly resource: string;
  readonly filter: unknown;
  readonly since: string | null;
  readonly values: boolean;
}

/** Receives the messages of a subscription. */
export interface Listener {
  event(cursor: string, text: string): void;
  resync(cursor: string): void;
  /** Maximum number of records that the subscription tracks. */
  readonly maxKnownRecords: number;
  /** Whether the buffer of the reader is full. */
  readonly isFull: boolean;
  /** Resolves when there is room again; with false if the reader makes no progress and is disconnected. */
  waitForDrain(): Promise<boolean>;
  /** The subscription ended: the caller lost the permission, or the resource no longer exists. */
  fail(error: ApiError): void;
}

/** Where a new subscription begins, and for whom. */
interface SubscriptionStart {
  readonly context: RecordContext;
  readonly scope: Scope;
  readonly position: string;
  readonly listener: Listener;
}

/** Events, or characters, between two checks of whether the buffer of the reader is full. */
const eventsPerDrainCheck = 50;
const charactersPerDrainCheck = 64 * 1024;
const catchUpEvents = 200;
const joinRetryMilliseconds = 5;
const maxKeyLength = 100;
/** After a failure of the store. */
const retryMilliseconds = 500;

/**
 * One subscription: a scope, a position in the log, and a listener. The feed delivers new events. Missed events, and those that
 * came while the reader was too slow, are read from the log.
 */
export class Subscription {
  readonly #application: Application;
  readonly #feed: Feed;
  readonly #listener: Listener;
  readonly #scope: Scope;
  /** The position of the last processed event. */
  #position: string;
  #live = false;
  #ended = false;
  /** Records that the reader knows: true while in scope, false after `.left` was sent. */
  readonly #knownRecords = new Map<string, boolean>();
  /** A hash of the permissions that the scope depends on. */
  #accessFingerprint = '';

  private constructor(application: Application, { context, scope, position, listener }: SubscriptionStart) {
    this.#application = application;
    this.#feed = getFeed(application);
    this.#listener = listener;
    this.#scope = scope;
    this.#position = position;
    this.#accessFingerprint = computeAccessFingerprint(context, scope);
  }

  /**
   * Opens a subscription after `since`, or from now on.
   *
   * @returns the subscription, its cursor, and whether the reader must reload because the events after `since` are lost.
   * @throws ApiError 400 for an invalid filter or cursor, 403 without permission to get records.
   */
  static async open(
    application: Application,
    context: RecordContext,
    request: SubscriptionRequest,
    listener: Listener,
  ): Promise<{ subscription: Subscription; cursor: string; resync: boolean }> {
    const { changes } = application;
    const scope = toScope(request);
    requireScope(context, scope);
    if (scope.resource !== null) await requireKnownResource(context, changes, scope.resource);
    const resumed = request.since === null ? null : await changes.resume(request.since);
    const cursor = resumed === null || request.since === null ? await changes.headCursor() : request.since;
    const position = resumed ?? (await changes.resume(cursor)) ?? startPosition;
    const subscription = new Subscription(application, { context, scope, position, listener });
    return { subscription, cursor, resync: request.since !== null && resumed === null };
  }

  /** Starts to send events. @param context returns the caller's present context. */
  begin(context: () => RecordContext): void {
    void this.#catchUp(context);
  }

  end(): void {
    this.#ended = true;
    this.#knownRecords.clear();
  }

  /** Sends new events. */
  async receive({ events, visibilityCache }: FeedPage, context: () => RecordContext): Promise<void> {
    if (!this.#live || this.#ended) return;
    const last = events.at(-1);
    if (!last || !isAfter(last.position, this.#position)) return;
    try {
      const hasRoom = this.#scope.values === null || visibilityCache.hasRoom(visibilityKey(context(), this.#scope));
      // All subscriptions process the same page, so that they can share the cache.
      if (!hasRoom || !(await this.#emitEvents(events, context, visibilityCache))) void this.#catchUp(context);
    } catch (error) {
      if (!this.#isFatal(error)) void this.#catchUp(context);
    }
  }

  /**
   * Checks the scope after a change of permissions or definitions. If the visible data changed, the reader must reload.
   *
   * @throws ApiError if the caller has lost the permission.
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

  /** Reads missed events until none is left, then continues with the feed. */
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

  /** Continues with the feed, unless the feed is ahead. */
  async #join(): Promise<void> {
    const { position } = this.#feed;
    if (position === null) await pause(joinRetryMilliseconds);
    else this.#live = !isAfter(position, this.#position);
  }

  /** Whether an error ends the subscription. After other errors, the events are read again. */
  #isFatal(error: unknown): boolean {
    if (this.#ended) return true;
    if (!(error instanceof ApiError) || error.label === 'Service Unavailable') return false;
    this.#listener.fail(error);
    return true;
  }

  /** @returns false if the buffer of the reader is full; the remaining events are not sent. */
  async #emitEvents(
    page: readonly LoggedEvent[],
    context: () => RecordContext,
    visibilityCache: VisibilityCache,
  ): Promise<boolean> {
    const visibilities = await this.#application.withCurrentSnapshot(() =>
      readEventVisibilities(context(), page, this.#scope, visibilityCache),
    );
    const last = page.at(-1);
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
    if (last) this.#position = last.position;
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

  /** Above the maximum, the reader must reload, because it could miss that a record has left. */
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

/** Shortens long keys, because thousands of them are stored. */
function shortKey(key: string): string {
  return key.length <= maxKeyLength ? key : hash('sha256', key, 'base64url');
}

function toScope({ resource, filter, values }: SubscriptionRequest): Scope {
  const filtered = filter !== undefined && filter !== null;
  const filterKey = filtered ? JSON.stringify(filter) : '';
  if (resource === '*' && (filtered || values))
    throw new ApiError(
      'PARAMETER_INVALID',
      '"filter" and "values" cannot be combined with the resource "*". Name one collection.',
    );
  return {
    resource: resource === '*' ? null : resource,
    filterKey,
    matching: filtered ? createVisibilityQuery(filter) : null,
    values: values ? createVisibilityQuery(filter, { shows: true }) : null,
  };
}

/** @throws ApiError 403 without permission to get records of the resource, 400 for an invalid filter. */
function requireScope(context: RecordContext, { resource, matching, values }: Scope): void {
  if (resource === null) return;
  const grant = findEventGrant(context, resource);
  if (!grant) throw permissionDenied(resource.slice(0, 60), 'get');
  const collection = context.registry.find(resource);
  if (!collection && (matching || values))
    throw new ApiError(
      'COLLECTION_UNKNOWN',
      `There is no collection "${resource.slice(0, 60)}", so "filter" and "values" cannot be used.`,
    );
  for (const visibility of [matching, values])
    if (collection && visibility) checkVisibilityQuery(context, collection, grant, visibility);
}

/** A text of everything the visible data depends on: rows and fields of the grant, and the values of its variables. */
function computeAccessFingerprint(context: RecordContext, { resource }: Scope): string {
  if (resource === null) return computeRoleFingerprint(context);
  const grant = findEventGrant(context, resource);
  if (!grant) throw permissionDenied(resource.slice(0, 60), 'get');
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
