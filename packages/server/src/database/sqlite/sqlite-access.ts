/** The access paths of a statement, from SQLite's EXPLAIN QUERY PLAN, and how many rows its deadline checks stand for. */
import type { BoundStatement, Database, Row } from '../database.ts';
import type { StatementAccess, TableAccess } from '../statement-access.ts';

/** Explains a statement, without running it. It needs no values. */
export async function inspectSqliteStatement(
  database: Pick<Database, 'read'>,
  { text }: BoundStatement,
): Promise<StatementAccess> {
  const [, rows = []] = await database.read([readSchema, { text: `EXPLAIN QUERY PLAN ${text}`, values: [] }]);
  return readAccess(rows, text);
}

/** Makes the connection load the current schema, which an EXPLAIN does not. */
const readSchema: BoundStatement = { text: 'SELECT 1 FROM sqlite_schema LIMIT 1', values: [] };

const explainedColumns = { detail: 3 } as const;
/** `SEARCH posts_1 USING COVERING INDEX i_1_2 (status_2=?)`, `SCAN posts_1`; what is read is named by its alias. */
const accessForm = /^(SCAN|SEARCH) (\S+)(?: USING (?:AUTOMATIC )?(?:PARTIAL )?(?:COVERING )?(?:INDEX (\S+)|.*))?/;

/** @param text of the explained statement: it tells which tables the aliases stand for. */
function readAccess(rows: readonly Row[], text: string): StatementAccess {
  const details = rows.map((row) => String(row[explainedColumns.detail]));
  const tables = new Map(
    [...text.matchAll(/\b(?:FROM|JOIN) "([^"]+)" "([^"]+)"/g)].map(([, table, alias]) => [alias, table]),
  );
  return {
    tables: details.flatMap((detail): TableAccess[] => {
      const [, kind, alias = '', index] = accessForm.exec(detail) ?? [];
      return kind ? [{ table: tables.get(alias) ?? alias, index: index ?? null, seeks: kind === 'SEARCH' }] : [];
    }),
    sorts: details.some((detail) => /^USE TEMP B-TREE FOR (?:.* )?ORDER BY/.test(detail)),
    visited: null,
    visitedByTotal: null,
  };
}

/** A check of the deadline, as the dialect writes it. */
const checkForm = /&(\d+) OR _tick\(\)/;

/** How many visited rows there are for each check of the deadline in a statement. */
export function readCheckedRows(text: string): number {
  return Number(checkForm.exec(text)?.[1] ?? 0) + 1;
}
