import { bind, compile, createBindEnvironment } from '../database/database.ts';
import { identifier, type Param, sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { planRows, requireRelationAccess } from '../query/filter-plan.ts';
import type { Grant } from '../query/grant.ts';
import { StatementScope } from '../query/predicate-compiler.ts';
import { compileWhere } from '../query/read-plan.ts';
import type { Collection, Field, Relation } from '../schema/registry.ts';
import { getField } from '../schema/registry.ts';
import { recordNotFound } from './read-records.ts';
import { runReads } from './read-statements.ts';
import { type RecordContext, toPlanContext } from './record-context.ts';
import { parseKey } from './record-key.ts';

/** A relation of one record: where it starts, where it leads, and the key of the record. */
export interface RecordRelation {
  readonly source: Collection;
  readonly field: Field;
  readonly relation: Relation;
  readonly target: Collection;
  /** Canonical key of the record whose relation it is. */
  readonly key: unknown;
}

/**
 * A relation by its names, if the caller may follow it.
 *
 * @throws ApiError 404 for names that are no relation, 403 without the grants to follow it.
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
 * The value by which a record's relation names others, as the transaction sees it.
 *
 * @throws ApiError 404 for a record that is not there, 403 for one outside the grant's rows.
 */
export async function readSourceValue(
  context: RecordContext,
  { source, relation, key }: RecordRelation,
  grant: Grant,
): Promise<unknown> {
  return readFieldValue(context, source, key, relation.sourceField, grant);
}

/**
 * A value by which a link names a record.
 *
 * @throws ApiError `REFERENCE_MISSING` for a record whose key of the relation is empty: a link by it would name nothing.
 */
export function requireLinkable(value: unknown, field: Field): unknown {
  if (value === null)
    throw new ApiError(
      'REFERENCE_MISSING',
      `"${field.name}" cannot link this record: the field by which the relation names it is empty.`,
    );
  return value;
}

/** A field of one record under a grant. @throws ApiError 404, or 403 outside the grant's rows. */
export async function readFieldValue(
  context: RecordContext,
  collection: Collection,
  key: unknown,
  name: string,
  grant: Grant,
): Promise<unknown> {
  const rows = await readFieldValues(context, collection, [key], name, grant);
  if (rows.length === 0) throw recordNotFound(collection, grant);
  return rows[0]!.value;
}

/**
 * A field of the records with these keys that a grant reaches.
 *
 * @param findKeyField the field whose values `keys` are.
 */
export async function readFieldValues(
  context: RecordContext,
  collection: Collection,
  keys: readonly unknown[],
  name: string,
  grant: Grant,
  keyField: Field = collection.primaryKey,
): Promise<{ key: unknown; value: unknown }[]> {
  const { dialect } = context.database;
  const { primaryKey, table } = collection;
  const wanted: Param = { storage: keyField.type.storage!, list: true, read: ({ key }) => key };
  const column = (field: Field) => sql`${identifier(table)}.${identifier(field.column!)}`;
  const where = compileWhere(
    [() => dialect.isIn(column(keyField), wanted), planRows(grant.rows, collection, toPlanContext(context).registry)],
    false,
    collection,
    new StatementScope(dialect),
  );
  const field = getField(collection, name);
  const columns = [primaryKey, field].map((each) => dialect.scalar(each.type.storage!, column(each)));
  const statement = compile(dialect, sql`SELECT ${columns[0]!},${columns[1]!} FROM ${identifier(table)}${where}`);
  const { variables, snapshotVersion, clock } = context;
  const environment = createBindEnvironment({
    key: keys,
    variables,
    version: snapshotVersion.version,
    now: clock.now(),
  });
  const [rows] = await runReads(context, [bind(dialect, statement, environment)]);
  return rows!.map(([key, value]) => ({ key, value }));
}
