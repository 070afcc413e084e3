/**
 * Decides which events of the log a caller may see now.
 *
 * Input: a page of events. Output: the events that concern a scope, each with whether the caller may see it, and its
 * text. An event about a record is visible if a get of the record would show it, under the row filter and the field
 * list of that grant. One statement for each collection on the page finds this out.
 */
import { FifoLock } from '../base/fifo-lock.ts';
import type { ChangeLog, LoggedEvent } from '../changes/change-log.ts';
import { limits } from '../protocol/limits.ts';
import type { Grant } from '../query/grant.ts';
import { createVisibilityQuery, readVisibleRecords, type VisibilityQuery } from '../records/read/visible-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { parseKey } from '../records/record-key.ts';
import type { Collection } from '../schema/registry.ts';
import { findEventGrant, findPrefixedCollection } from './event-grants.ts';

/** The events that a subscriber wants. */
export interface Scope {
  /** Null: all events that the caller may see. */
  readonly resource: string | null;
  /** Identifies the filter; empty without a filter. */
  readonly filterKey: string;
  /** The rows that the subscriber wants; null: all. */
  readonly matching: VisibilityQuery | null;
  /** The same, with the fields that the caller may see. */
  readonly values: VisibilityQuery | null;
}

/** An event of the scope, with the caller's present permissions. */
export interface EventVisibility {
  readonly event: LoggedEvent;
  /**
   * The caller may get the record, and the filter matches it. Always true without a row filter and without a filter.
   */
  readonly inScope: boolean;
  /** The caller may get the record, whether or not the filter matches it. */
  readonly permitted: boolean;
  /** Whether visibility depends on the row: then it matters which events the subscriber has received before. */
  readonly tracked: boolean;
  readonly cursor: string;
  /** Identifies the record; one text that all subscribers share. */
  readonly key: string;
  /** The event as JSON text. */
  readonly text: string;
}

/** Results of visibility checks for one page, shared by callers with the same permissions. */
export class VisibilityCache {
  readonly #entries = new Map<string, Promise<readonly EventVisibility[]>>();
  #length = 0;

  /** Whether there is room for another result that contains records. */
  hasRoom(key: string): boolean {
    return this.#length < limits.recordsInPage || this.#entries.has(key);
  }

  /**
   * Returns the result with this key, or computes it. A failed computation is removed, so that the next caller repeats
   * it.
   */
  getOrCompute(key: string, compute: () => Promise<readonly EventVisibility[]>): Promise<readonly EventVisibility[]> {
    const cached = this.#entries.get(key);
    if (cached) return cached;
    const visibilities = compute();
    this.#entries.set(key, visibilities);
    visibilities.then(
      (visibilities) => {
        for (const { text } of visibilities) this.#length += text.length;
      },
      () => this.#entries.delete(key),
    );
    return visibilities;
  }
}

const anyRow = createVisibilityQuery(null);
const anyRowTrashed = createVisibilityQuery(null, { trashed: true });

/** The events of a page that concern a scope and whose resource the role may see, in their order. */
export function readEventVisibilities(
  context: RecordContext,
  page: readonly LoggedEvent[],
  scope: Scope,
  cache: VisibilityCache,
): Promise<readonly EventVisibility[]> {
  const compute = (): Promise<readonly EventVisibility[]> => computeEventVisibilities(context, page, scope);
  // Pages of records are read one after the other, because each may be large.
  return cache.getOrCompute(
    visibilityKey(context, scope),
    scope.values === null ? compute : () => recordPageLock.run(compute),
  );
}

const recordPageLock = new FifoLock();

/** The key of a result: everything that it depends on. The variables of filters are represented by the user. */
export function visibilityKey({ caller }: RecordContext, { resource, filterKey, values }: Scope): string {
  return JSON.stringify([caller.role, caller.user?.['id'] ?? null, resource, filterKey, values !== null]);
}

async function computeEventVisibilities(
  context: RecordContext,
  page: readonly LoggedEvent[],
  scope: Scope,
): Promise<readonly EventVisibility[]> {
  const scopedEvents = scope.resource === null ? page : page.filter(({ resource }) => resource === scope.resource);
  const visibilityByResource = new Map<string, ResourceVisibility | null>();
  for (const [resource, events] of Map.groupBy(scopedEvents, (event) => event.resource))
    visibilityByResource.set(resource, await readResourceVisibility(context, resource, events, scope));
  return scopedEvents.flatMap((event) => {
    const visibility = visibilityByResource.get(event.resource);
    return visibility ? [toEventVisibility(context.changes, event, visibility, scope)] : [];
  });
}

/** What has been read about the records of one resource. */
interface ResourceVisibility {
  readonly collection: Collection | null;
  readonly grant: Grant;
  /** Keys of records that the caller may get; null: any. */
  readonly permitted: ReadonlySet<string> | null;
  /** Records that are in scope, with what is shown of them; null: any. */
  readonly inScope: ReadonlyMap<string, string | null> | null;
}

async function readResourceVisibility(
  context: RecordContext,
  resource: string,
  events: readonly LoggedEvent[],
  { matching, values }: Scope,
): Promise<ResourceVisibility | null> {
  const grant = findEventGrant(context, resource);
  if (!grant) return null;
  const collection = context.registry.find(resource);
  if (collection?.internal) return null;
  if (!collection)
    return { collection, grant, permitted: await readPermittedKeys(context, resource, events), inScope: null };
  const keys = parseRecordKeys(events, collection);
  const rows = collection.trash ? anyRowTrashed : anyRow;
  const permitted = grant.rows && new Set((await readVisibleRecords(context, collection, grant, rows, keys)).keys());
  const visibility = values ?? matching;
  const inScope = visibility && (await readVisibleRecords(context, collection, grant, visibility, keys));
  return { collection, grant, permitted, inScope };
}

/**
 * For a resource without a collection: the keys of events that the caller may receive. Published events have no key.
 * Events about records of a collection with another name are visible if the record is. Null: any key.
 */
async function readPermittedKeys(
  context: RecordContext,
  resource: string,
  events: readonly LoggedEvent[],
): Promise<ReadonlySet<string> | null> {
  const about = findPrefixedCollection(context, resource);
  if (!about) return null;
  const grant = context.findGrant(about.name, 'get');
  const keys = grant ? parseRecordKeys(events, about) : [];
  const visible = grant && (await readVisibleRecords(context, about, grant, anyRow, keys));
  return new Set([...(visible?.keys() ?? []), ...(context.findGrant(resource, 'get') ? [String(null)] : [])]);
}

/**
 * Keys that are valid for the present collection: the event may have been written for a former collection of the same
 * name.
 */
function parseRecordKeys(events: readonly LoggedEvent[], collection: Collection): unknown[] {
  const keys = new Map<string, unknown>();
  for (const { tk: key } of events) {
    if (key === null || keys.has(key)) continue;
    try {
      keys.set(key, parseKey(key, collection));
    } catch {
      // not a key of the collection
    }
  }
  return [...keys.values()];
}

function toEventVisibility(
  log: ChangeLog,
  event: LoggedEvent,
  visibility: ResourceVisibility,
  scope: Scope,
): EventVisibility {
  const { collection, grant } = visibility;
  const key = String(event.tk);
  const permitted = visibility.permitted === null || visibility.permitted.has(key);
  const isDestroyed = event.name.endsWith('.destroyed');
  const isMatching = scope.matching === null || visibility.inScope === null || visibility.inScope.has(key);
  const cursor = log.encodeEventPosition(event);
  const body = {
    cursor,
    at: event.at,
    name: event.name,
    resource: event.resource,
    tk: event.tk,
    actor: event.actor,
    requestId: event.requestId,
    changed: event.changed.filter((name) => canReadField(name, collection, grant)),
    ...(event.payload !== undefined && { payload: event.payload }),
  };
  const record = scope.values && collection && !isDestroyed ? buildRecordMember(visibility.inScope?.get(key)) : null;
  const text = JSON.stringify(body);
  return {
    event,
    cursor,
    key: `${event.resource} ${key}`,
    permitted,
    inScope: permitted && (isDestroyed || isMatching),
    tracked: visibility.permitted !== null || scope.matching !== null,
    text: record === null ? text : `${text.slice(0, -1)},${record}}`,
  };
}

/** @param text null for a record that is too long to be included, undefined for one that does not exist. */
function buildRecordMember(text: string | null | undefined): string {
  return text === null ? '"recordTooLarge":true' : `"record":${text ?? 'null'}`;
}

/** A field that no longer exists is only visible for a resource without a collection. */
function canReadField(name: string, collection: Collection | null, grant: Grant): boolean {
  const field = collection?.byName.get(name);
  return field ? !field.type.secret && grant.may(field) : collection === null;
}

/** The event for a record that is no longer in scope. It only has the key. */
export function buildLeftEvent({ event, cursor }: EventVisibility): string {
  const { at, resource, tk: key } = event;
  const body = { cursor, at, name: `${resource}.left`, resource, tk: key };
  return JSON.stringify({ ...body, actor: null, requestId: null, changed: [] });
}
