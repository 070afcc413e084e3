import type { IndexPlan } from './dialect.ts';
import { identifier, type Sql, sql } from './sql.ts';

/** The statement that creates an index. Indexes that are not unique end in the key, so that they also sort rows with equal values. */
export function createIndex(table: string, { name, columns, unique, where }: IndexPlan): Sql {
  const rows = where === null ? '' : ` WHERE ${identifier(where)} IS NULL`;
  const list = columns.map(identifier).join(', ');
  return sql`CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${identifier(name)} ON ${identifier(table)} (${list})${rows}`;
}
