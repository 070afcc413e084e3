/** What a filter may name: fields by their path through relations. */
import type { Collection, Field } from '@tablinum/client';
import { keyField } from '../../data/records/label.ts';
import { operatorsFor } from './operators.ts';

/** Relations that a path may go through. */
const longestPath = 5;

export interface FilterFields {
  /** To be chosen: those of the collection, and those of the collections that it leads to; by their path. */
  readonly offered: ReadonlyMap<string, Field>;
  readonly relations: readonly Field[];
  /** The name of the primary key. */
  readonly key: string;
  /** The field at a path, however many relations it goes through; null where there is none. */
  at(path: string): Field | null;
  /** The fields of the collection that a path of relations leads to; null where it leads nowhere. */
  under(path: string): FilterFields | null;
}

type Collections = ReadonlyMap<string, Collection>;

/**
 * @param byName the collections that relations lead to; none while they are not known.
 * @param depth relations that have been gone through.
 */
export function filterFields(collection: Collection, byName: Collections = new Map(), depth = 0): FilterFields {
  const { fields } = collection;
  const named = (name: string): Field | null => fields.find((field) => field.name === name) ?? null;
  const relations = depth < longestPath ? fields.filter((field) => field.target && byName.has(field.target)) : [];
  const target = (name: string): FilterFields | null => {
    const found = relations.find((field) => field.name === name);
    return found ? filterFields(byName.get(found.target!)!, byName, depth + 1) : null;
  };
  const under = (path: string): FilterFields | null => {
    const [first = '', ...rest] = path.split('.');
    const next = target(first);
    return rest.length === 0 ? next : (next?.under(rest.join('.')) ?? null);
  };
  const at = (path: string): Field | null => {
    const place = path.lastIndexOf('.');
    return place < 0 ? named(path) : (under(path.slice(0, place))?.at(path.slice(place + 1)) ?? null);
  };
  return { offered: offeredOf(collection, relations, byName), relations, key: keyField(collection).name, at, under };
}

function offeredOf(
  { fields }: Collection,
  relations: readonly Field[],
  byName: Collections,
): ReadonlyMap<string, Field> {
  const paths = new Map<string, Field>();
  for (const field of fields) if (operatorsFor(field).length > 0) paths.set(field.name, field);
  for (const relation of relations) {
    for (const field of byName.get(relation.target!)?.fields ?? [])
      if (!field.target && operatorsFor(field).length > 0) paths.set(`${relation.name}.${field.name}`, field);
  }
  return paths;
}
