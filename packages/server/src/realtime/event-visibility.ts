/**
 * What of the event log a caller may see, now. Enters a page of events; leave those that concern a scope, each with
 * whether it is seen and the text that tells of it. An event of a record is seen as a get of the record would be: under
 * the row filter and the field list of that grant. For a page that takes one statement for each collection in it.
 */
import { FifoLock } from '../base/fifo-lock.ts';
import type { ChangeLog, LoggedEvent } from '../changes/change-log.ts';
import { limits } from '../protocol/limits.ts';
import type { Grant } from '../query/grant.ts';
import { createVisibilityQuery, readVisibleRecords, type VisibilityQuery } from '../records/read/visible-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { parseKey } from '../records/record-key.ts';
import type { Collection } from '../schema/registry.ts';

/** What somebody wants to be told of. */
export interface Scope {
  /** Null: of all that the caller may see. */
  readonly resource: string | null;
  /** Tells filters apart; empty without one. */
  readonly filterKey: string;
  /** The records meant; null for all. */
  readonly matching: VisibilityQuery | null;
  /** The same, with all that is shown of them. */
  readonly values: VisibilityQuery | null;
}

/** An event of the scope, as the caller stands to it now. */
export interface EventVisibility {
  readonly event: LoggedEvent;
  /** The record is one that the caller may get and that the filter means; always true without any. */
  readonly inScope: boolean;
  /** The caller may get the record, whatever the filter. */
  readonly permitted: boolean;
  /** Whether rows are told apart at all: then it matters what was told before. */
  readonly tracked: boolean;
  readonly cursor: string;
  /** Tells records apart; one text for all who are told. */
  readonly key: string;
  /** The event as JSON text. */
  readonly text: string;
}

/** Looks that callers with the same rights share, for one page. */
export class VisibilityCache {
  readonly #entries = new Map<string, Promise<readonly EventVisibility[]>>();
  #length = 0;

  /** Whether there is room for another look that carries records. */
  hasRoom(key: string): boolean {
    return this.#length < limits.recordsInPage || this.#entries.has(key);
  }

  /** The look of that key, made where it is not there yet; one that fails is forgotten, so that whoever asks again looks anew. */
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

/** The events of a page that concern a scope and that the role may hear of at all, in their order. */
export function readEventVisibilities(
  context: RecordContext,
  page: readonly LoggedEvent[],
  scope: Scope,
  cache: VisibilityCache,
): Promise<readonly EventVisibility[]> {
  const compute = (): Promise<readonly EventVisibility[]> => computeEventVisibilities(context, page, scope);
  // Pages of records come one after the other: each may be large.
  return cache.getOrCompute(
    visibilityKey(context, scope),
    scope.values === null ? compute : () => recordPageLock.run(compute),
  );
}

const recordPageLock = new FifoLock();

/** What a look depends on. Variables of filters stand for the user. */
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

/** What is known of the records of one resource. */
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
  const grant = context.findGrant(resource, 'get');
  if (!grant) return null;
  const collection = context.registry.find(resource);
  if (collection?.internal) return null;
  if (!collection) return { collection, grant, permitted: null, inScope: null };
  const keys = parseRecordKeys(events, collection);
  const rows = collection.trash ? anyRowTrashed : anyRow;
  const permitted = grant.rows && new Set((await readVisibleRecords(context, collection, grant, rows, keys)).keys());
  const visibility = values ?? matching;
  const inScope = visibility && (await readVisibleRecords(context, collection, grant, visibility, keys));
  return { collection, grant, permitted, inScope };
}

/** Keys that may name a record today: the collection may have been another one when the event was written. */
function parseRecordKeys(events: readonly LoggedEvent[], collection: Collection): unknown[] {
  const keys = new Map<string, unknown>();
  for (const { tk: key } of events) {
    if (key === null || keys.has(key)) continue;
    try {
      keys.set(key, parseKey(key, collection));
    } catch {
      // names none
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

/** @param text null for a record that is too long to be carried, undefined for one that is not there. */
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
