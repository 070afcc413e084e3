import { type BoundStatement, bindFixed } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { identifier, join, listValue, type Sql, sql, value } from '../../database/sql.ts';
import { requireColumn, requireStorage } from '../../schema/field-parts.ts';
import { type Collection, type Field, getField } from '../../schema/registry.ts';

/** A foreign key of children, and the values by which it names their parents. */
export interface ForeignKeyValues {
  readonly field: Field;
  readonly values: readonly unknown[];
}

/** Moves the children of soft-deleted records to the trash, or out of it. Rows of: key. */
export function planTrashMark(
  child: Collection,
  foreignKey: ForeignKeyValues,
  deletedAt: string | null,
  dialect: Dialect,
): BoundStatement {
  if (child.trash === null) throw new Error(`internal error: ${child.name} has no trash`);
  const { deletedAt: deletedAtField, deletedWith } = child.trash;
  const [deletedAtColumn, deletedWithColumn] = [columnSql(deletedAtField), columnSql(deletedWith)];
  const mark = value('integer', foreignKey.field.id);
  const set =
    deletedAt === null
      ? sql`${deletedAtColumn}=NULL,${deletedWithColumn}=NULL`
      : sql`${deletedAtColumn}=${value('datetime', deletedAt)},${deletedWithColumn}=${mark}`;
  const condition = deletedAt === null ? sql`${deletedWithColumn}=${mark}` : sql`${deletedAtColumn} IS NULL`;
  const key = dialect.scalar(requireStorage(child.primaryKey), columnSql(child.primaryKey));
  const where = sql`${compileForeignKey(foreignKey, dialect)} AND ${condition}`;
  return bindFixed(dialect, sql`UPDATE ${identifier(child.table)} SET ${set},_v=_v+1 WHERE ${where} RETURNING ${key}`);
}

/** One row if there are children outside the trash. */
export function planLiveChild(child: Collection, foreignKey: ForeignKeyValues, dialect: Dialect): BoundStatement {
  const live = child.trash ? sql` AND ${columnSql(child.trash.deletedAt)} IS NULL` : sql``;
  return bindFixed(
    dialect,
    sql`SELECT 1 FROM ${identifier(child.table)} WHERE ${compileForeignKey(foreignKey, dialect)}${live} LIMIT 1`,
  );
}

/** Children by a foreign key. Rows of: key, 1 unless it is in the trash. */
export function planChildKeys(
  child: Collection,
  foreignKey: ForeignKeyValues,
  max: number,
  dialect: Dialect,
): BoundStatement {
  const key = dialect.scalar(requireStorage(child.primaryKey), columnSql(child.primaryKey));
  const live = child.trash ? sql`CASE WHEN ${columnSql(child.trash.deletedAt)} IS NULL THEN 1 ELSE 0 END` : sql`1`;
  const where = compileForeignKey(foreignKey, dialect);
  return bindFixed(dialect, sql`SELECT ${key},${live} FROM ${identifier(child.table)} WHERE ${where} LIMIT ${max}`);
}

/** Sets the same values in the children with these keys. @param values canonical, by field name. */
export function planSetNull(
  child: Collection,
  keys: readonly unknown[],
  values: Readonly<Record<string, unknown>>,
  dialect: Dialect,
): BoundStatement {
  const sets = Object.entries(values).map(([name, canonical]) => {
    const field = getField(child, name);
    return sql`${columnSql(field)}=${value(requireStorage(field), canonical)}`;
  });
  const set = join([...sets, sql`_v=_v+1`], ',');
  const where = compileIn(child.primaryKey, keys, dialect);
  return bindFixed(dialect, sql`UPDATE ${identifier(child.table)} SET ${set} WHERE ${where}`);
}

/** The values of a field in records with these keys. */
export function planReferencedValues(
  collection: Collection,
  name: string,
  keys: readonly unknown[],
  dialect: Dialect,
): BoundStatement {
  const field = getField(collection, name);
  const result = dialect.scalar(requireStorage(field), columnSql(field));
  return bindFixed(
    dialect,
    sql`SELECT ${result} FROM ${identifier(collection.table)} WHERE ${compileIn(collection.primaryKey, keys, dialect)}`,
  );
}

function compileForeignKey({ field, values }: ForeignKeyValues, dialect: Dialect): Sql {
  return compileIn(field, values, dialect);
}

function compileIn(field: Field, values: readonly unknown[], dialect: Dialect): Sql {
  return dialect.isIn(columnSql(field), listValue(requireStorage(field), values));
}

function columnSql(field: Field): Sql {
  return sql`${identifier(requireColumn(field))}`;
}
