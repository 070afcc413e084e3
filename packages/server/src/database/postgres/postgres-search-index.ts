/**
 * Search indexes of PostgreSQL: a GIN index with the trigrams of pg_trgm over the folded text of a field. PostgreSQL
 * maintains it and plans with it; it rechecks each record with the same LIKE condition.
 */
import type { SearchIndexSql, SearchTest } from '../search-index.ts';
import { identifier, join, type Param, type Sql, sql } from '../sql.ts';
import { listLiterals } from '../trigrams.ts';
import { buildIcuFold } from './postgres-text.ts';

/** Searches are planned for their values each time: a generic plan does not know how rare a word is. */
export const plannedEachTime = '/* planned for its values */';

/** Locks of changes of a table's structure. Reads and writes queue behind statements that wait for one. */
const structureLocks = "'ShareLock','ShareRowExclusiveLock','ExclusiveLock','AccessExclusiveLock'";

export const postgresSearchIndex: SearchIndexSql = {
  create: () => [],
  maintain: () => [],
  // The builder drops indexes that no field has, without blocking reads.
  drop: () => [],
  batches: null,
  concurrent: {
    // The extension may exist even if the role may not create it.
    prepare: ['CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public'],
    probe: sql`SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid=e.extnamespace
WHERE e.extname='pg_trgm'`,
    missing:
      'Search indexes need the PostgreSQL extension pg_trgm, which is not installed and could not be created. Searches scan until an administrator of the database runs: CREATE EXTENSION pg_trgm.',
    create: ({ name, table, column }, schema) =>
      sql`CREATE INDEX CONCURRENTLY ${identifier(name)} ON ${identifier(table)}
USING gin ((${buildIcuFold(sql`${identifier(column)}`)}) ${identifier(schema)}.gin_trgm_ops) WITH (fastupdate=off)`,
    analyze: ({ table }) => sql`ANALYZE ${identifier(table)}`,
    list: sql`SELECT c.relname,i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid=i.indexrelid
WHERE c.relnamespace=current_schema()::regnamespace AND c.relname ~ '^_sx[0-9]'`,
    dropConcurrently: (name) => sql`DROP INDEX CONCURRENTLY IF EXISTS ${identifier(name)}`,
    running: sql`SELECT c.relname,p.pid,greatest(p.blocks_done,p.tuples_done),greatest(p.blocks_total,p.tuples_total),
EXISTS (SELECT FROM pg_locks l WHERE l.relation=p.relid AND l.database=p.datid AND NOT l.granted AND l.mode IN (${structureLocks}))
FROM pg_stat_progress_create_index p JOIN pg_class c ON c.oid=p.index_relid
WHERE p.datname=current_database() AND c.relnamespace=current_schema()::regnamespace AND c.relname ~ '^_sx[0-9]'`,
    interrupt: (builds) =>
      sql`SELECT ${join(
        builds.map(([, process]) => sql`pg_cancel_backend(${process})`),
        ',',
      )}`,
  },
  lookUp: null,
  indexed: compileIndexedTest,
  // Testing one record takes about 4 µs.
  probeLimit: 1000,
  rowsPerInsert: 100,
};

/** A condition that the index can answer. A pattern is tested exactly as well: folding may change the number of characters. */
function compileIndexedTest({ column, operator, operand, exact }: SearchTest): Sql {
  const read = (environment: Parameters<Param['read']>[0]): string | null => {
    const value = operand.read(environment);
    return typeof value === 'string' ? toFoldedPattern(operator, value) : null;
  };
  const pattern: Param = { storage: 'text', read };
  const isLike = sql`${buildIcuFold(column)} LIKE ${pattern} ESCAPE '\\' ${plannedEachTime}`;
  return operator === 'like' || operator === 'ilike' ? sql`(${isLike} AND ${exact})` : isLike;
}

function toFoldedPattern(operator: SearchTest['operator'], operand: string): string {
  const escaped = listLiterals(operator, operand).map((each) => each.replace(/[\\%_]/g, '\\$&'));
  if (operator === 'startsWith') return `${escaped.join('')}%`;
  if (operator === 'endsWith') return `%${escaped.join('')}`;
  return `%${escaped.join('%')}%`;
}
