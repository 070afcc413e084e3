import { ApiError } from '../../protocol/api-error.ts';
import { requireRelationAccess } from '../../query/filter-plan.ts';
import type { Grant } from '../../query/grant.ts';
import type { Collection, Field, Relation } from '../../schema/registry.ts';
import { readFieldValue } from '../read/field-values.ts';
import type { RecordContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';

/** A relation of one record: its collection and key, and the collection that it leads to. */
export interface RecordRelation {
  readonly source: Collection;
  readonly field: Field;
  readonly relation: Relation;
  readonly target: Collection;
  /** Canonical key of the record whose relation it is. */
  readonly key: unknown;
}

/**
 * Resolves the relation of a record by name.
 *
 * @throws ApiError 404 for a name that is not a relation, 403 if the caller may not follow it.
 */
export function resolveRelation(
  context: RecordContext,
  source: Collection,
  name: string,
  key: unknown,
): RecordRelation {
  const field = source.byName.get(name);
  if (!field?.relation) throw new ApiError('ROUTE_UNKNOWN', `${source.name} has no relation "${name.slice(0, 60)}".`);
  const target = context.registry.get(field.relation.target);
  requireRelationAccess(field, source, target, context);
  return { source, field, relation: field.relation, target, key: parseKey(key, source) };
}

/**
 * Reads the value by which a record's relation references its targets, in the open transaction if there is one.
 *
 * @throws ApiError 404 for a record that does not exist, or 403 if the grant has a row filter.
 */
export async function readSourceValue(
  context: RecordContext,
  { source, relation, key }: RecordRelation,
  grant: Grant,
): Promise<unknown> {
  return readFieldValue(context, { collection: source, name: relation.sourceField, grant }, key);
}

/**
 * Returns the value by which a link references a record.
 *
 * @throws ApiError `REFERENCE_MISSING` if the value is null: a link by it would reference no record.
 */
export function requireLinkable(value: unknown, field: Field): unknown {
  if (value === null)
    throw new ApiError(
      'REFERENCE_MISSING',
      `"${field.name}" cannot link this record: the field that the relation references is null.`,
    );
  return value;
}
