/** The fields that a filter can name, by their path through relations. */
import type { Collection, Field } from '@tablinum/client';
import { findKeyField } from '../../data/records/label.ts';
import { listOperators } from './operators.ts';

/** The relations that a path can go through. */
const maxPathDepth = 5;

export interface FilterFields {
  /** The fields offered in the field picker, by path: those of the collection and of its linked collections. */
  readonly offered: ReadonlyMap<string, Field>;
  readonly relations: readonly Field[];
  /** The name of the primary key. */
  readonly key: string;
  /** The field at a path of any number of relations; null if there is none. */
  fieldAt(path: string): Field | null;
  /** The fields of the collection at the end of a path of relations; null if the path does not exist. */
  under(path: string): FilterFields | null;
}

type Collections = ReadonlyMap<string, Collection>;

/**
 * @param byName the collections that relations lead to; none while they are not known.
 * @param depth relations that have been gone through.
 */
export function buildFilterFields(collection: Collection, byName: Collections = new Map(), depth = 0): FilterFields {
  const { fields } = collection;
  const findField = (name: string): Field | null => fields.find((field) => field.name === name) ?? null;
  const relations = depth < maxPathDepth ? fields.filter((field) => findTarget(field, byName)) : [];
  const findTargetFields = (name: string): FilterFields | null => {
    const found = relations.find((field) => field.name === name);
    const target = found && findTarget(found, byName);
    return target ? buildFilterFields(target, byName, depth + 1) : null;
  };
  const under = (path: string): FilterFields | null => {
    const [first = '', ...rest] = path.split('.');
    const next = findTargetFields(first);
    return rest.length === 0 ? next : (next?.under(rest.join('.')) ?? null);
  };
  const fieldAt = (path: string): Field | null => {
    const lastDot = path.lastIndexOf('.');
    return lastDot < 0 ? findField(path) : (under(path.slice(0, lastDot))?.fieldAt(path.slice(lastDot + 1)) ?? null);
  };
  return {
    offered: collectOfferedFields(collection, relations, byName),
    relations,
    key: findKeyField(collection).name,
    fieldAt,
    under,
  };
}

/** The collection that a relation leads to, if it is known. */
function findTarget({ target }: Field, byName: Collections): Collection | undefined {
  return target === undefined ? undefined : byName.get(target);
}

function collectOfferedFields(
  { fields }: Collection,
  relations: readonly Field[],
  byName: Collections,
): ReadonlyMap<string, Field> {
  const paths = new Map<string, Field>();
  for (const field of fields) if (listOperators(field).length > 0) paths.set(field.name, field);
  for (const relation of relations) {
    for (const field of findTarget(relation, byName)?.fields ?? [])
      if (!field.target && listOperators(field).length > 0) paths.set(`${relation.name}.${field.name}`, field);
  }
  return paths;
}
