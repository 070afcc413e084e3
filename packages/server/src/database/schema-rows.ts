/** Statements about the revisions of the schema, and the portable ids of definitions. */
import type { Database, Transaction } from './database.ts';
import { type Columns, insertRows } from './row-insert.ts';
import { createRunner, createTxRunner, readNumberInTx, readRows, runInTransaction } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';

export type PortableKind = 'collection' | 'field' | 'role' | 'webhook';

/** The portable id of a definition. */
export interface PortableId {
  readonly kind: PortableKind;
  /** The id of the collection, field or webhook in this store, or the name of the role. */
  readonly item: string;
  readonly id: string;
}

/** All portable ids. @param transaction null: reads the committed ids. */
export async function readPortableIds(database: Database, transaction: Transaction | null): Promise<PortableId[]> {
  const run = createRunner(database, transaction);
  const rows = await run<[kind: PortableKind, item: string, id: string]>(sql`SELECT kind,item,id FROM _schema_ids`);
  return rows.map(([kind, item, id]) => ({ kind, item, id }));
}

const idColumns: Columns = [
  ['kind', 'text'],
  ['item', 'text'],
  ['id', 'text'],
];

/** Replaces portable ids. @param removed those that are deleted before the new ones are stored. */
export async function replacePortableIds(
  database: Database,
  transaction: Transaction,
  removed: readonly PortableId[],
  added: readonly PortableId[],
): Promise<void> {
  const run = createTxRunner(database, transaction);
  for (const { kind, item } of removed)
    await run(sql`DELETE FROM _schema_ids WHERE kind=${value('text', kind)} AND item=${value('text', item)}`);
  if (added.length === 0) return;
  const rows = added.map(({ kind, item, id }) => [kind, item, id]);
  await insertRows((insert) => run(insert), database.dialect, '_schema_ids', idColumns, rows, sql``);
}

/** A revision without its documents. */
export interface RevisionRow {
  readonly number: number;
  readonly at: string;
  /** As in events, such as `user:3`; null: the server. */
  readonly actor: string | null;
  readonly summary: string;
  readonly steps: unknown;
}

/** The stored revisions, newest first. */
export async function readRevisions(database: Database): Promise<RevisionRow[]> {
  const select = sql`SELECT number,at,actor,summary,steps FROM _schema_revisions ORDER BY number DESC LIMIT ${maxRevisions}`;
  const rows = await readRows<[unknown, string, string | null, string, string]>(database, select);
  return rows.map(([number, at, actor, summary, steps]) => ({
    number: Number(number),
    at,
    actor,
    summary,
    steps: JSON.parse(steps),
  }));
}

/** The numbers of the oldest and the latest stored revision; 0 if there is none. */
export async function readRevisionRange(
  database: Database,
): Promise<{ readonly first: number; readonly last: number }> {
  const [row] = await readRows(database, sql`SELECT min(number),max(number) FROM _schema_revisions`);
  return { first: Number(row?.[0] ?? 0), last: Number(row?.[1] ?? 0) };
}

/** The JSON text of a document of a revision; null if there is no such revision. */
export async function readRevisionDocument(
  database: Database,
  number: number,
  which: 'before' | 'after',
): Promise<string | null> {
  const column: Sql = which === 'before' ? sql`document_before` : sql`document_after`;
  const rows = await readRows<[text: string]>(
    database,
    sql`SELECT ${column} FROM _schema_revisions WHERE number=${value('integer', number)}`,
  );
  return rows[0]?.[0] ?? null;
}

/** The number of revisions that are kept. It is limited because each revision contains the whole schema twice. */
export const maxRevisions = 200;

/** Stores a revision, and deletes those beyond {@link maxRevisions}. @returns its number. */
export async function insertRevision(
  database: Database,
  transaction: Transaction,
  revision: Omit<RevisionRow, 'number'> & { readonly before: string; readonly after: string },
): Promise<number> {
  const { at, actor, summary, steps, before, after } = revision;
  const what = sql`${value('text', at)},${value('text', actor)},${value('text', summary)}`;
  const documents = sql`${value('text', before)},${value('text', after)}`;
  const next = sql`(SELECT coalesce(max(number),0)+1 FROM _schema_revisions)`;
  const insert = sql`INSERT INTO _schema_revisions (number,at,actor,summary,steps,document_before,document_after)
VALUES (${next},${what},${value('text', JSON.stringify(steps))},${documents}) RETURNING number`;
  const number = await readNumberInTx(database, transaction, insert);
  const oldest = value('integer', number - maxRevisions);
  await runInTransaction(database, transaction, sql`DELETE FROM _schema_revisions WHERE number<=${oldest}`);
  return number;
}
