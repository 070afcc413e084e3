import type { IndexPlan } from './dialect.ts';
import { identifier, type Sql, sql } from './sql.ts';

/** Unique where the definition says so; others end in the key, so that they also give the order of equal values. */
export function createIndex(table: string, { name, columns, unique, where }: IndexPlan): Sql {
  const rows = where === null ? '' : ` WHERE ${identifier(where)} IS NULL`;
  return sql`CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${identifier(name)} ON ${identifier(table)} (${columns.map(identifier).join(', ')})${rows}`;
}
