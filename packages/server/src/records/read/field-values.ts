import { bind, compile, createBindEnvironment } from '../../database/database.ts';
import { identifier, type Param, type Sql, sql } from '../../database/sql.ts';
import { planRows } from '../../query/filter-plan.ts';
import type { Grant } from '../../query/grant.ts';
import { StatementScope } from '../../query/predicate-compiler.ts';
import { compileWhere } from '../../query/read-plan.ts';
import { requireColumn, requireStorage } from '../../schema/field-parts.ts';
import { type Collection, type Field, getField } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import { recordNotFound } from './read-records.ts';
import { runReadStatement } from './read-statements.ts';

/** One field of the records that a grant reaches. */
export interface FieldQuery {
  readonly collection: Collection;
  /** The field to read. */
  readonly name: string;
  readonly grant: Grant;
  /** The field whose values the keys are. Default: the primary key. */
  readonly keyField?: Field;
}

/** The value of a field, with the primary key of its record. */
export interface FieldValue {
  readonly key: unknown;
  readonly value: unknown;
}

/**
 * Reads a field of one record, in the open transaction if there is one.
 *
 * @throws ApiError 404 for a record that does not exist, or 403 if the grant has a row filter.
 */
export async function readFieldValue(context: RecordContext, query: FieldQuery, key: unknown): Promise<unknown> {
  const [found] = await readFieldValues(context, query, [key]);
  if (!found) throw recordNotFound(query.collection, query.grant);
  return found.value;
}

/** Reads a field of the records with these keys. Records that the grant does not reach are left out. */
export async function readFieldValues(
  context: RecordContext,
  { collection, name, grant, keyField = collection.primaryKey }: FieldQuery,
  keys: readonly unknown[],
): Promise<FieldValue[]> {
  const { dialect } = context.database;
  const { primaryKey, table } = collection;
  const wanted: Param = { storage: requireStorage(keyField), list: true, read: ({ key }) => key };
  const column = (field: Field): Sql => sql`${identifier(table)}.${identifier(requireColumn(field))}`;
  const scalar = (field: Field): Sql => dialect.scalar(requireStorage(field), column(field));
  const where = compileWhere(
    [() => dialect.isIn(column(keyField), wanted), planRows(grant.rows, collection, context.registry)],
    false,
    collection,
    new StatementScope(dialect),
  );
  const statement = compile(
    dialect,
    sql`SELECT ${scalar(primaryKey)},${scalar(getField(collection, name))} FROM ${identifier(table)}${where}`,
  );
  const { variables, snapshotVersion, clock } = context;
  const environment = createBindEnvironment({
    key: keys,
    variables,
    version: snapshotVersion.version,
    now: clock.now(),
  });
  const rows = await runReadStatement(context, bind(dialect, statement, environment));
  return rows.map(([key, value]) => ({ key, value }));
}
