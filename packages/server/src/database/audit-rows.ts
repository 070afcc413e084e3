/** Statements of the audit journal: admin actions that wait in the store of the data, and chained entries in the journal's own store. */

import { auditTable, contentColumns, hashedColumns } from './audit-tables.ts';
import type { Database, Transaction } from './database.ts';
import { readRows, requireRow, runInTransaction } from './run-statement.ts';
import { join, listValue, sql, value } from './sql.ts';

/** Each chain has its own maximum of entries, so that a flood of refusals does not remove the actions of administrators. */
export type ChainName = 'acts' | 'refusals';

/** The content of an entry. Its members are hashed in this order. */
export interface AuditContent {
  readonly at: string;
  /** `user:3`, `apiKey:7`, or null without a credential. */
  readonly actor: string | null;
  /** JSON text of `{type, id}`, or null without one. */
  readonly credential: string | null;
  readonly role: string | null;
  /** `<resource>:<action>`; null if the request named a resource or action that does not exist. */
  readonly action: string | null;
  readonly target: string | null;
  readonly outcome: 'done' | 'refused';
  /** The error code of a refusal. */
  readonly code: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  /** The number of actions or refusals that the entry represents. */
  readonly count: number;
}

/** An entry with its position in a chain. Both chains share the sequence of ids. */
export interface AuditRow extends AuditContent {
  readonly id: number;
  readonly place: number;
  readonly hash: string;
}

export interface NewAuditRow extends AuditRow {
  /** The admin action that the entry was made from; null for refusals. */
  readonly source: string | null;
}

/** The first and last position of a chain. The seals are signed with APP_KEY, so that access to the store is not enough to move them. */
export interface ChainEnds {
  readonly place: number;
  readonly lastId: number;
  readonly hash: string;
  readonly seal: string;
  /** The newest pruned entry; position 0 and an empty hash if none was pruned. */
  readonly anchorPlace: number;
  readonly anchorHash: string;
  readonly anchorSeal: string;
}

/** An admin action in the store of the data. It is written in the transaction of the action itself. */
export interface StoredAdminAction {
  readonly id: number;
  readonly act: unknown;
}

/** Stores an admin action in the transaction that performs it. */
export async function insertAdminAction(database: Database, transaction: Transaction, action: unknown): Promise<void> {
  await runInTransaction(database, transaction, sql`INSERT INTO _acts (act) VALUES (${value('json', action)})`);
}

/** Whether admin actions are waiting to be moved to the journal. */
export async function hasAdminActions(database: Database): Promise<boolean> {
  return (await readRows(database, sql`SELECT 1 FROM _acts LIMIT 1`)).length > 0;
}

/** The oldest waiting admin actions. */
export async function readAdminActions(
  database: Database,
  transaction: Transaction,
  limit: number,
): Promise<StoredAdminAction[]> {
  const select = sql`SELECT id,act FROM _acts ORDER BY id LIMIT ${limit}`;
  const rows = await runInTransaction<[id: number, action: string]>(database, transaction, select);
  return rows.map(([id, action]) => ({ id: Number(id), act: JSON.parse(action) as unknown }));
}

/** Deletes admin actions that the journal contains. */
export async function deleteAdminActions(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
): Promise<void> {
  const isGiven = database.dialect.isIn(sql`id`, listValue('bigint', ids));
  await runInTransaction(database, transaction, sql`DELETE FROM _acts WHERE ${isGiven}`);
}

/** The admin actions that are already in the journal: an earlier run may have stopped before it deleted them. */
export async function findKnownSources(
  journal: Database,
  transaction: Transaction,
  sources: readonly string[],
): Promise<Set<string>> {
  const isGiven = journal.dialect.isIn(sql`source`, listValue('text', sources));
  const select = sql`SELECT DISTINCT source FROM _audit WHERE ${isGiven}`;
  const rows = await runInTransaction<[source: string]>(journal, transaction, select);
  return new Set(rows.map(([source]) => source));
}

/** Stores the end of a chain in the store of the data, so that a journal that was rolled back or removed is noticed. */
export async function writeAuditCheckpoint(
  database: Database,
  transaction: Transaction,
  chain: ChainName,
  { place, hash }: Pick<ChainEnds, 'place' | 'hash'>,
): Promise<void> {
  const insert = sql`INSERT INTO _audit_witness (chain,place,hash)
VALUES (${value('text', chain)},${value('bigint', place)},${value('text', hash)})
ON CONFLICT (chain) DO UPDATE SET place=excluded.place,hash=excluded.hash`;
  await runInTransaction(database, transaction, insert);
}

/** The end of a chain as the store of the data has it, or null. */
export async function readAuditCheckpoint(
  database: Database,
  chain: ChainName,
): Promise<{ place: number; hash: string } | null> {
  const [row] = await readRows<[place: number, hash: string]>(
    database,
    sql`SELECT place,hash FROM _audit_witness WHERE chain=${value('text', chain)}`,
  );
  if (!row) return null;
  const [place, hash] = row;
  return { place: Number(place), hash };
}

type ChainEndsRow = [
  place: number,
  lastId: number,
  hash: string,
  seal: string,
  anchorPlace: number,
  anchorHash: string,
  anchorSeal: string,
];

const endNames = ['place', 'last_id', 'hash', 'seal', 'anchor_place', 'anchor_hash', 'anchor_seal'];
const endColumns = endNames.join(',');
const replaceEnds = endNames.map((name) => `${name}=excluded.${name}`).join(',');

/** The ends of a chain; null for one without entries. @param transaction null: the committed state. */
export async function readChainEnds(
  journal: Database,
  chain: ChainName,
  transaction: Transaction | null = null,
): Promise<ChainEnds | null> {
  const statement = sql`SELECT ${endColumns} FROM _audit_chains WHERE chain=${value('text', chain)}`;
  const [row] = transaction
    ? await runInTransaction<ChainEndsRow>(journal, transaction, statement)
    : await readRows<ChainEndsRow>(journal, statement);
  if (!row) return null;
  const [place, lastId, hash, seal, anchorPlace, anchorHash, anchorSeal] = row;
  return {
    place: Number(place),
    lastId: Number(lastId),
    hash,
    seal,
    anchorPlace: Number(anchorPlace),
    anchorHash,
    anchorSeal,
  };
}

/** Stores the ends of a chain. */
export async function writeChainEnds(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  { place, lastId, hash, seal, anchorPlace, anchorHash, anchorSeal }: ChainEnds,
): Promise<void> {
  const values = [
    value('text', chain),
    value('bigint', place),
    value('bigint', lastId),
    value('text', hash),
    value('text', seal),
    value('bigint', anchorPlace),
    value('text', anchorHash),
    value('text', anchorSeal),
  ];
  await runInTransaction(
    journal,
    transaction,
    sql`INSERT INTO _audit_chains (chain,${endColumns}) VALUES (${join(
      values.map((each) => sql`${each}`),
      ',',
    )}) ON CONFLICT (chain) DO UPDATE SET ${replaceEnds}`,
  );
}

/** The highest id, and the highest position in a chain, that the entries have; 0 without entries. */
export async function readHighest(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
): Promise<{ id: number; place: number }> {
  const place = sql`SELECT max(place) FROM _audit WHERE chain=${value('text', chain)}`;
  const select = sql`SELECT coalesce((SELECT max(id) FROM _audit),0),coalesce((${place}),0),
coalesce((SELECT max(last_id) FROM _audit_chains),0)`;
  const rows = await runInTransaction<[id: number, place: number, lastId: number]>(journal, transaction, select);
  const [id, highest, lastId] = requireRow(rows);
  return { id: Math.max(Number(id), Number(lastId)), place: Number(highest) };
}

const insertBatchSize = 50;

/** Appends entries to a chain. */
export async function insertAuditEntries(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  entries: readonly NewAuditRow[],
): Promise<void> {
  transaction.touch(auditTable);
  for (let from = 0; from < entries.length; from += insertBatchSize) {
    const rows = entries.slice(from, from + insertBatchSize).map((entry) => {
      const values = [
        value('integer', entry.id),
        value('text', chain),
        value('bigint', entry.place),
        value('text', entry.source),
        value('datetime', entry.at),
        value('text', entry.actor),
        value('json', entry.credential === null ? null : JSON.parse(entry.credential)),
        ...[entry.role, entry.action, entry.target, entry.outcome, entry.code].map((each) => value('text', each)),
        value('text', entry.address),
        value('text', entry.requestId),
        value('integer', entry.count),
        value('text', entry.hash),
      ];
      return sql`(${join(
        values.map((each) => sql`${each}`),
        ',',
      )})`;
    });
    const names = sql`id,chain,place,source,${contentColumns},"count",hash`;
    await runInTransaction(journal, transaction, sql`INSERT INTO _audit (${names}) VALUES ${join(rows, ',')}`);
  }
}

/** The entries of a chain after a position, in order. */
export async function readEntriesAfter(
  journal: Database,
  chain: ChainName,
  afterSequence: number,
  limit: number,
): Promise<AuditRow[]> {
  const at = journal.dialect.scalar('datetime', sql`"at"`);
  const rest = hashedColumns.slice(1).map((each) => `"${each}"`);
  const isAfter = sql`chain=${value('text', chain)} AND place>${value('bigint', afterSequence)}`;
  const rows = await readRows<EntryRow>(
    journal,
    sql`SELECT id,place,hash,"count",${at},${rest.join(',')} FROM _audit WHERE ${isAfter} ORDER BY place
LIMIT ${limit}`,
  );
  return rows.map(toAuditRow);
}

type EntryRow = [
  id: number,
  place: number,
  hash: string,
  count: number,
  at: string,
  actor: string | null,
  credential: string | null,
  role: string | null,
  action: string | null,
  target: string | null,
  outcome: AuditRow['outcome'],
  code: string | null,
  address: string | null,
  requestId: string | null,
];

function toAuditRow(row: EntryRow): AuditRow {
  const [id, place, hash, count, at, actor, credential, role, action, target, outcome, code, address, requestId] = row;
  return {
    id: Number(id),
    place: Number(place),
    hash,
    at,
    actor,
    credential,
    role,
    action,
    target,
    outcome,
    code,
    address,
    requestId,
    count: Number(count),
  };
}

/**
 * The newest of the entries that can be pruned, or null.
 *
 * @param prune entries are pruned if they are older than `before`, or if their position is at most `upTo`. Only the
 *   `limit` oldest entries are considered.
 */
export async function findPrunableEntry(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  { before, upTo, limit }: { readonly before: string; readonly upTo: number; readonly limit: number },
): Promise<{ place: number; hash: string } | null> {
  const oldest = sql`SELECT place,hash,"at" FROM _audit WHERE chain=${value('text', chain)} ORDER BY place
LIMIT ${limit}`;
  const isRetained = sql`"at">=${value('datetime', before)} AND place>${value('bigint', upTo)}`;
  const oldestRetained = sql`SELECT min(place) FROM (${oldest}) k WHERE ${isRetained}`;
  const select = sql`SELECT place,hash FROM (${oldest}) o WHERE place<coalesce((${oldestRetained}),9007199254740991)
ORDER BY place DESC LIMIT 1`;
  const [row] = await runInTransaction<[place: number, hash: string]>(journal, transaction, select);
  if (!row) return null;
  const [place, hash] = row;
  return { place: Number(place), hash };
}

/** Deletes the entries of a chain up to a position. @returns their number. */
export async function deleteAuditEntries(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  upTo: number,
): Promise<number> {
  transaction.touch(auditTable);
  const remove = sql`DELETE FROM _audit WHERE chain=${value('text', chain)} AND place<=${value('bigint', upTo)}
RETURNING 1`;
  const rows = await runInTransaction(journal, transaction, remove);
  return rows.length;
}
