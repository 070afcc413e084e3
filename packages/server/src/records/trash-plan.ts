import { type BoundStatement, fixed } from '../database/database.ts';
import type { Dialect } from '../database/dialect.ts';
import { identifier, join, listValue, type Sql, sql, value } from '../database/sql.ts';
import { type Collection, type Field, fieldOf } from '../schema/registry.ts';

/** Marks the children of destroyed records as gone along with them, or takes back that mark. Rows of: key. */
export function planMark(
  child: Collection,
  field: Field,
  values: readonly unknown[],
  deletedAt: string | null,
  dialect: Dialect,
): BoundStatement {
  const { deletedAt: moment, deletedWith } = child.trash!;
  const [at, along] = [column(moment), column(deletedWith)];
  const mark = value('integer', field.id);
  const set =
    deletedAt === null ? sql`${at}=NULL,${along}=NULL` : sql`${at}=${value('datetime', deletedAt)},${along}=${mark}`;
  const which = deletedAt === null ? sql`${along}=${mark}` : sql`${at} IS NULL`;
  const key = dialect.scalar(child.primaryKey.type.storage!, column(child.primaryKey));
  return fixed(
    dialect,
    sql`UPDATE ${identifier(child.table)} SET ${set},_v=_v+1 WHERE ${named(field, values, dialect)} AND ${which} RETURNING ${key}`,
  );
}

/** A row where there are children outside the trash. */
export function planChildren(
  child: Collection,
  field: Field,
  values: readonly unknown[],
  dialect: Dialect,
): BoundStatement {
  const live = child.trash ? sql` AND ${column(child.trash.deletedAt)} IS NULL` : sql``;
  return fixed(
    dialect,
    sql`SELECT 1 FROM ${identifier(child.table)} WHERE ${named(field, values, dialect)}${live} LIMIT 1`,
  );
}

/** Children by a foreign key. Rows of: key, 1 unless it is in the trash. */
export function planNamed(
  child: Collection,
  field: Field,
  values: readonly unknown[],
  most: number,
  dialect: Dialect,
): BoundStatement {
  const key = dialect.scalar(child.primaryKey.type.storage!, column(child.primaryKey));
  const live = child.trash ? sql`CASE WHEN ${column(child.trash.deletedAt)} IS NULL THEN 1 ELSE 0 END` : sql`1`;
  return fixed(
    dialect,
    sql`SELECT ${key},${live} FROM ${identifier(child.table)} WHERE ${named(field, values, dialect)} LIMIT ${most}`,
  );
}

/** Writes the same values into the children with these keys. @param values canonical, by field name. */
export function planLoosen(
  child: Collection,
  keys: readonly unknown[],
  values: Readonly<Record<string, unknown>>,
  dialect: Dialect,
): BoundStatement {
  const sets = Object.entries(values).map(([name, canonical]) => {
    const field = fieldOf(child, name);
    return sql`${column(field)}=${value(field.type.storage!, canonical)}`;
  });
  return fixed(
    dialect,
    sql`UPDATE ${identifier(child.table)} SET ${join([...sets, sql`_v=_v+1`], ',')} WHERE ${named(child.primaryKey, keys, dialect)}`,
  );
}

/** The values of a field in records with these keys. */
export function planReferenced(
  collection: Collection,
  name: string,
  keys: readonly unknown[],
  dialect: Dialect,
): BoundStatement {
  const field = fieldOf(collection, name);
  const shown = dialect.scalar(field.type.storage!, column(field));
  return fixed(
    dialect,
    sql`SELECT ${shown} FROM ${identifier(collection.table)} WHERE ${named(collection.primaryKey, keys, dialect)}`,
  );
}

function named(field: Field, values: readonly unknown[], dialect: Dialect): Sql {
  return dialect.isIn(column(field), listValue(field.type.storage!, values));
}

function column({ column: name }: Field): Sql {
  return sql`${identifier(name!)}`;
}
