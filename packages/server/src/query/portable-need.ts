/** What an index must provide for a read, in a form that can be sent to another thread: definitions by their ids. */
import type { Collection, Field, Registry } from '../schema/registry.ts';
import type { ConditionNeed, IndexNeed } from './index-need.ts';

/** A {@link ConditionNeed} with the ids of collections and fields. */
interface PortableConditions {
  readonly collection: { readonly id: number; readonly name: string };
  readonly equal: readonly number[];
  readonly ranges: readonly number[];
  readonly named: readonly number[];
  readonly hasOthers: boolean;
}

/** An {@link IndexNeed} with the ids of collections and fields. */
export interface PortableNeed extends PortableConditions, Pick<IndexNeed, 'conditions' | 'sort'> {
  readonly order: readonly number[] | null;
  readonly related: readonly PortableConditions[];
  readonly alternatives: readonly (readonly PortableConditions[])[];
  readonly searched: readonly number[];
}

/** The portable form of a need. */
export function packNeed(need: IndexNeed): PortableNeed {
  const { order, related, alternatives, searched, conditions, sort } = need;
  return {
    ...packConditions(need),
    order: order && toIds(order),
    related: related.map(packConditions),
    alternatives: alternatives.map((branches) => branches.map(packConditions)),
    searched: toIds(searched),
    conditions,
    sort,
  };
}

/** The need of a portable form; null if one of its collections or fields no longer exists. */
export function unpackNeed(packed: PortableNeed, registry: Registry): IndexNeed | null {
  const own = unpackConditions(packed, registry);
  const related = unpackAll(packed.related, registry);
  const alternatives = packed.alternatives.map((branches) => unpackAll(branches, registry));
  const order = own && packed.order && findFields(own.collection, packed.order);
  const searched = own && findFields(own.collection, packed.searched);
  if (own === null || related === null || searched === null || (packed.order && !order)) return null;
  if (!alternatives.every((branches) => branches !== null)) return null;
  return { ...own, order, related, alternatives, searched, conditions: packed.conditions, sort: packed.sort };
}

function toIds(fields: readonly Field[]): number[] {
  return fields.map(({ id }) => id);
}

function packConditions({ collection, equal, ranges, named, hasOthers }: ConditionNeed): PortableConditions {
  return {
    collection: { id: collection.id, name: collection.name },
    equal: toIds(equal),
    ranges: toIds(ranges),
    named: toIds(named),
    hasOthers,
  };
}

/** Null if one of the needs cannot be unpacked. */
function unpackAll(packed: readonly PortableConditions[], registry: Registry): ConditionNeed[] | null {
  const needs = packed.map((each) => unpackConditions(each, registry));
  return needs.every((each) => each !== null) ? needs : null;
}

function unpackConditions(packed: PortableConditions, registry: Registry): ConditionNeed | null {
  const collection = registry.find(packed.collection.name);
  if (collection?.id !== packed.collection.id) return null;
  const [equal, ranges, named] = [packed.equal, packed.ranges, packed.named].map((ids) => findFields(collection, ids));
  return equal && ranges && named ? { collection, equal, ranges, named, hasOthers: packed.hasOthers } : null;
}

function findFields({ fields }: Collection, ids: readonly number[]): Field[] | null {
  const found = ids.map((id) => fields.find((field) => field.id === id));
  return found.every((field) => field !== undefined) ? found : null;
}
