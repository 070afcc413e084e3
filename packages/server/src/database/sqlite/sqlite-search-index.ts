/**
 * Search indexes of SQLite: an FTS5 table with the trigram tokenizer for each field. It stores no texts and no
 * positions. Triggers maintain it, so that no write can omit it, whichever statement it is.
 */
import type { SearchIndex, SearchIndexSql } from '../search-index.ts';
import { identifier, type Sql, sql } from '../sql.ts';
import { listTrigrams } from '../trigrams.ts';
import { buildFold, deadlineCheck } from './sqlite-text.ts';

/** The text is folded before, so the tokenizer must not fold it in its own way. */
const options = `content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1'`;

export const sqliteSearchIndex: SearchIndexSql = {
  create: (index) => [
    sql`CREATE VIRTUAL TABLE ${identifier(index.name)} USING fts5(text, ${options})`,
    ...createTriggers(index),
  ],
  maintain: createTriggers,
  drop: (name) => [
    ...['insert', 'update', 'delete'].map((event) => sql`DROP TRIGGER IF EXISTS ${identifier(`${name}_${event}`)}`),
    sql`DROP TABLE IF EXISTS ${identifier(name)}`,
  ],
  batches: {
    next: ({ table }, after, size) =>
      sql`SELECT max(r),count(*) FROM (SELECT rowid AS r FROM ${identifier(table)} WHERE rowid>${after}
ORDER BY rowid LIMIT ${size})`,
    fill: ({ name, table, column }, after, until) =>
      sql`INSERT OR REPLACE INTO ${identifier(name)} (rowid,text)
SELECT rowid,${buildFold(sql`${identifier(column)}`)} FROM ${identifier(table)} WHERE rowid>${after} AND rowid<=${until}`,
  },
  concurrent: null,
  lookUp: {
    rowId: sql`rowid`,
    rowIdOf: (alias) => sql`${identifier(alias)}.rowid`,
    candidates: (index, expression, further) => {
      const name = identifier(index);
      const where = further === null ? sql`` : sql` AND ${further}`;
      return sql`SELECT rowid AS id FROM ${name} WHERE ${name} MATCH ${expression} AND ${deadlineCheck(index, 1)}${where}`;
    },
    // Every trigram is quoted, so that none is read as an operator.
    expression: (operator, operand) =>
      listTrigrams(operator, operand)
        .map((each) => `"${each.replaceAll('"', '""')}"`)
        .join(' AND '),
  },
  indexed: null,
  probeLimit: 0,
  // FTS5 writes what it has collected to its table before each statement.
  rowsPerInsert: 20,
};

/** A rebuild of the table drops its triggers and keeps its row ids. */
function createTriggers({ name, table, column }: SearchIndex): Sql[] {
  const index = identifier(name);
  const on = identifier(table);
  const insert = sql`INSERT OR REPLACE INTO ${index} (rowid,text)
VALUES (NEW.rowid,${buildFold(sql`NEW.${identifier(column)}`)});`;
  const create = (event: string, when: string, work: Sql): Sql =>
    sql`CREATE TRIGGER IF NOT EXISTS ${identifier(`${name}_${event}`)} AFTER ${when} ON ${on} BEGIN ${work} END`;
  const isChanged = `OF ${identifier(column)}`;
  return [
    create('insert', 'INSERT', insert),
    create('update', `UPDATE ${isChanged}`, insert),
    create('delete', 'DELETE', sql`DELETE FROM ${index} WHERE rowid=OLD.rowid;`),
  ];
}
