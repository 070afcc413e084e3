/** What a read needs of an index, in a form that can be sent to another thread: definitions by their ids. */
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
}

/** The portable form of a need. */
export function packNeed(need: IndexNeed): PortableNeed {
  const { order, related, conditions, sort } = need;
  return {
    ...packConditions(need),
    order: order && toIds(order),
    related: related.map(packConditions),
    conditions,
    sort,
  };
}

/** The need of a portable form; null if one of its collections or fields no longer exists. */
export function unpackNeed(packed: PortableNeed, registry: Registry): IndexNeed | null {
  const own = unpackConditions(packed, registry);
  const related = packed.related.map((each) => unpackConditions(each, registry)).filter((each) => each !== null);
  const order = own && packed.order && findFields(own.collection, packed.order);
  if (own === null || related.length < packed.related.length || (packed.order && !order)) return null;
  return { ...own, order, related, conditions: packed.conditions, sort: packed.sort };
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
