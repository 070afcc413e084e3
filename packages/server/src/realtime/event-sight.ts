/**
 * What of the event log a caller may see, now. Enters a page of events; leave those that concern a scope, each with
 * whether it is seen and the text that tells of it. An event of a record is seen as a get of the record would be: under
 * the row filter and the field list of that grant. For a page that takes one statement for each collection in it.
 */
import { FifoLock } from '../base/fifo-lock.ts';
import type { ChangeLog, LoggedEvent } from '../changes/change-log.ts';
import { limits } from '../protocol/limits.ts';
import type { Grant } from '../query/grant.ts';
import type { RecordContext } from '../records/record-context.ts';
import { keyOf } from '../records/record-key.ts';
import { recordsInSight, type Sight, sightOf } from '../records/records-in-sight.ts';
import type { Collection } from '../schema/registry.ts';

/** What somebody wants to be told of. */
export interface Scope {
  /** Null: of all that the caller may see. */
  readonly resource: string | null;
  /** Tells filters apart; empty without one. */
  readonly filterKey: string;
  /** The records meant; null for all. */
  readonly matching: Sight | null;
  /** The same, with all that is shown of them. */
  readonly values: Sight | null;
}

/** An event of the scope, as the caller stands to it now. */
export interface Sighting {
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
export class SharedLooks {
  readonly #looks = new Map<string, Promise<readonly Sighting[]>>();
  #length = 0;

  /** Whether there is room for another look that carries records. */
  hasRoom(key: string): boolean {
    return this.#length < limits.recordsInPage || this.#looks.has(key);
  }

  /** The look of that key, made where it is not there yet; one that fails is forgotten, so that whoever asks again looks anew. */
  of(key: string, make: () => Promise<readonly Sighting[]>): Promise<readonly Sighting[]> {
    const present = this.#looks.get(key);
    if (present) return present;
    const look = make();
    this.#looks.set(key, look);
    look.then(
      (sightings) => {
        for (const { text } of sightings) this.#length += text.length;
      },
      () => this.#looks.delete(key),
    );
    return look;
  }
}

const anyRow = sightOf(null);
const anyRowTrashed = sightOf(null, { trashed: true });

/** The events of a page that concern a scope and that the role may hear of at all, in their order. */
export function lookAt(
  context: RecordContext,
  page: readonly LoggedEvent[],
  scope: Scope,
  shared: SharedLooks,
): Promise<readonly Sighting[]> {
  const look = (): Promise<readonly Sighting[]> => lookAnew(context, page, scope);
  // Pages of records come one after the other: each may be large.
  return shared.of(lookKey(context, scope), scope.values === null ? look : () => withRecords.run(look));
}

const withRecords = new FifoLock();

/** What a look depends on. Variables of filters stand for the user. */
export function lookKey({ caller }: RecordContext, { resource, filterKey, values }: Scope): string {
  return JSON.stringify([caller.role, caller.user?.['id'] ?? null, resource, filterKey, values !== null]);
}

async function lookAnew(
  context: RecordContext,
  page: readonly LoggedEvent[],
  scope: Scope,
): Promise<readonly Sighting[]> {
  const concerned = scope.resource === null ? page : page.filter(({ resource }) => resource === scope.resource);
  const looks = new Map<string, ResourceLook | null>();
  for (const [resource, events] of Map.groupBy(concerned, (event) => event.resource))
    looks.set(resource, await lookAtResource(context, resource, events, scope));
  return concerned.flatMap((event) => {
    const look = looks.get(event.resource);
    return look ? [sightingOf(context.changes, event, look, scope)] : [];
  });
}

/** What is known of the records of one resource. */
interface ResourceLook {
  readonly collection: Collection | null;
  readonly grant: Grant;
  /** Keys of records that the caller may get; null: any. */
  readonly permitted: ReadonlySet<string> | null;
  /** Records that are in scope, with what is shown of them; null: any. */
  readonly inScope: ReadonlyMap<string, string | null> | null;
}

async function lookAtResource(
  context: RecordContext,
  resource: string,
  events: readonly LoggedEvent[],
  { matching, values }: Scope,
): Promise<ResourceLook | null> {
  const grant = context.grantOf(resource, 'get');
  if (!grant) return null;
  const collection = context.registry.find(resource);
  if (collection?.internal) return null;
  if (!collection) return { collection, grant, permitted: null, inScope: null };
  const keys = keysOf(events, collection);
  const rows = collection.trash ? anyRowTrashed : anyRow;
  const permitted = grant.rows && new Set((await recordsInSight(context, collection, grant, rows, keys)).keys());
  const wanted = values ?? matching;
  const inScope = wanted && (await recordsInSight(context, collection, grant, wanted, keys));
  return { collection, grant, permitted, inScope };
}

/** Keys that may name a record today: the collection may have been another one when the event was written. */
function keysOf(events: readonly LoggedEvent[], collection: Collection): unknown[] {
  const keys = new Map<string, unknown>();
  for (const { tk } of events) {
    if (tk === null || keys.has(tk)) continue;
    try {
      keys.set(tk, keyOf(tk, collection));
    } catch {
      // names none
    }
  }
  return [...keys.values()];
}

function sightingOf(log: ChangeLog, event: LoggedEvent, look: ResourceLook, scope: Scope): Sighting {
  const { collection, grant } = look;
  const tk = String(event.tk);
  const permitted = look.permitted === null || look.permitted.has(tk);
  const destroyed = event.name.endsWith('.destroyed');
  const matches = scope.matching === null || look.inScope === null || look.inScope.has(tk);
  const cursor = log.cursorOf(event);
  const told = {
    cursor,
    at: event.at,
    name: event.name,
    resource: event.resource,
    tk: event.tk,
    actor: event.actor,
    requestId: event.requestId,
    changed: event.changed.filter((name) => mayKnow(name, collection, grant)),
    ...(event.payload !== undefined && { payload: event.payload }),
  };
  const record = scope.values && collection && !destroyed ? recordText(look.inScope?.get(tk)) : null;
  const text = JSON.stringify(told);
  return {
    event,
    cursor,
    key: `${event.resource} ${tk}`,
    permitted,
    inScope: permitted && (destroyed || matches),
    tracked: look.permitted !== null || scope.matching !== null,
    text: record === null ? text : `${text.slice(0, -1)},${record}}`,
  };
}

/** @param text null for a record that is too long to be carried, undefined for one that is not there. */
function recordText(text: string | null | undefined): string {
  return text === null ? '"recordTooLarge":true' : `"record":${text ?? 'null'}`;
}

/** A field that is gone tells nothing to a role that does not see all. */
function mayKnow(name: string, collection: Collection | null, grant: Grant): boolean {
  const field = collection?.byName.get(name);
  return field ? !field.type.secret && grant.may(field) : collection === null;
}

/** The event that tells that a record is no longer in scope: its key alone. */
export function leftText({ event, cursor }: Sighting): string {
  const { at, resource, tk } = event;
  const told = { cursor, at, name: `${resource}.left`, resource, tk };
  return JSON.stringify({ ...told, actor: null, requestId: null, changed: [] });
}
