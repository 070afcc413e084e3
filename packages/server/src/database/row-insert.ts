import type { Storage } from '../schema/field-type.ts';
import type { Row } from './database.ts';
import type { Dialect } from './dialect.ts';
import { identifier, join, type Sql, sql, value } from './sql.ts';

/** Columns with their storage, in the order of the values. */
export type Columns = readonly (readonly [name: string, storage: Storage])[];

/**
 * Inserts rows, as many in one statement as is best for the engine, in the order in which they are given.
 *
 * @param after the SQL that follows the values: RETURNING, ON CONFLICT.
 */
export async function insertRows(
  run: (statement: Sql) => Promise<Row[]>,
  dialect: Dialect,
  table: string,
  columns: Columns,
  rows: readonly (readonly unknown[])[],
  after: Sql = sql``,
): Promise<Row[]> {
  const names = columns.map(([name]) => identifier(name)).join(',');
  const results: Row[] = [];
  for (let start = 0; start < rows.length; start += dialect.rowsPerInsert) {
    const values = rows.slice(start, start + dialect.rowsPerInsert).map(
      (row) =>
        sql`(${join(
          columns.map(([, storage], index) => sql`${value(storage, row[index] ?? null)}`),
          ',',
        )})`,
    );
    results.push(...(await run(sql`INSERT INTO ${identifier(table)} (${names}) VALUES ${join(values, ',')}${after}`)));
  }
  return results;
}
