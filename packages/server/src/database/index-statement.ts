import type { IndexPlan } from './dialect.ts';
import { identifier, type Sql, sql } from './sql.ts';

/** The statement that creates an index. Indexes that are not unique end in the key, so that they also sort rows with equal values. */
export function createIndex(table: string, { name, columns, unique, where, present }: IndexPlan): Sql {
  const conditions = [
    ...(where === null ? [] : [`${identifier(where)} IS NULL`]),
    ...(present === null ? [] : [`${identifier(present)} IS NOT NULL`]),
  ];
  const rows = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const list = columns.map(identifier).join(', ');
  return sql`CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${identifier(name)} ON ${identifier(table)} (${list})${rows}`;
}
