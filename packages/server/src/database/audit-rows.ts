/** Statements of the audit journal: acts that wait beside the data, and the chained entries in the journal's own store. */
import type { Database, Row, Transaction } from './database.ts';
import type { ColumnDefinition } from './dialect.ts';
import { readRows, runInTransaction } from './run-statement.ts';
import { join, listValue, sql, value } from './sql.ts';

/** The chains have budgets of their own: a flood of refusals never drives out what administrators did. */
export type ChainName = 'acts' | 'refusals';

/** What an entry says; the order of its members is the order in which they are hashed. */
export interface AuditContent {
  readonly at: string;
  /** `user:3`, `apiKey:7`, or null without a credential. */
  readonly actor: string | null;
  /** JSON text of `{type, id}`, or null without one. */
  readonly credential: string | null;
  readonly role: string | null;
  /** `<resource>:<action>`; null where the names asked for are none of the application's. */
  readonly action: string | null;
  readonly target: string | null;
  readonly outcome: 'done' | 'refused';
  /** Of the refusal, as in docs/errors.md. */
  readonly code: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  /** How many acts or refusals the entry stands for. */
  readonly count: number;
}

/** An entry in its place of a chain; ids run through both. */
export interface AuditRow extends AuditContent {
  readonly id: number;
  readonly place: number;
  readonly hash: string;
}

export interface NewAuditRow extends AuditRow {
  /** The act beside the data that it was made from; null for refusals. */
  readonly source: string | null;
}

/** Where a chain begins and ends now; the seals are keyed, so that a holder of the store alone cannot move either end. */
export interface ChainEnds {
  readonly place: number;
  readonly lastId: number;
  readonly hash: string;
  readonly seal: string;
  /** The newest entry that was pruned; place 0 and no hash: none was. */
  readonly anchorPlace: number;
  readonly anchorHash: string;
  readonly anchorSeal: string;
}

/** An act as it waits beside the data, in the transaction of what was done. */
export interface StoredAdminAction {
  readonly id: number;
  readonly act: unknown;
}

export const auditTable = '_audit';

const defineColumn = (name: string, storage: ColumnDefinition['storage'], notNull = false): ColumnDefinition => ({
  name,
  storage,
  notNull,
  primaryKey: false,
  autoIncrement: false,
  unique: false,
  references: null,
});
const defineKeyColumn = (name: string, storage: ColumnDefinition['storage']): ColumnDefinition => ({
  ...defineColumn(name, storage),
  primaryKey: true,
});

const content = ['at', 'actor', 'credential', 'role', 'action', 'target', 'outcome', 'code', 'address', 'requestId'];
const contentColumns = content.map((each) => `"${each}"`).join(',');

const tables: Readonly<Record<string, readonly ColumnDefinition[]>> = {
  [auditTable]: [
    defineKeyColumn('id', 'integer'),
    defineColumn('chain', 'text', true),
    defineColumn('place', 'bigint', true),
    defineColumn('source', 'text'),
    defineColumn('at', 'datetime', true),
    ...content.slice(1).map((each) => defineColumn(each, each === 'credential' ? 'json' : 'text')),
    defineColumn('count', 'integer', true),
    defineColumn('hash', 'text', true),
  ],
  _audit_chains: [
    defineKeyColumn('chain', 'text'),
    defineColumn('place', 'bigint', true),
    defineColumn('last_id', 'bigint', true),
    defineColumn('hash', 'text', true),
    defineColumn('seal', 'text', true),
    defineColumn('anchor_place', 'bigint', true),
    defineColumn('anchor_hash', 'text', true),
    defineColumn('anchor_seal', 'text', true),
  ],
  _key_use: [
    defineKeyColumn('key_id', 'integer'),
    defineColumn('requests', 'bigint', true),
    defineColumn('failed', 'bigint', true),
    defineColumn('first_at', 'datetime'),
    defineColumn('last_at', 'datetime'),
  ],
  _key_endpoints: [
    defineColumn('key_id', 'integer', true),
    defineColumn('endpoint', 'text', true),
    defineColumn('requests', 'bigint', true),
  ],
};
const indexes = [
  { table: auditTable, name: 'i_audit_place', columns: ['chain', 'place'], unique: true },
  { table: auditTable, name: 'i_audit_source', columns: ['source'], unique: false },
  { table: auditTable, name: 'i_audit_at', columns: ['at', 'id'], unique: false },
  { table: '_key_endpoints', name: 'i_key_endpoints', columns: ['key_id', 'endpoint'], unique: true },
];

/** Makes the journal's tables where they are not there. */
export async function createAuditTables(journal: Database): Promise<void> {
  const { dialect } = journal;
  const hasTables = async (run: (text: string) => Promise<Row[]>): Promise<boolean> =>
    (await run(dialect.catalogueProbe)).some(([name]) => name === '_key_endpoints');
  if (await hasTables(async (text) => (await journal.read([{ text, values: [] }]))[0]!)) return;
  await journal.write(
    async (transaction) => {
      if (await hasTables((text) => transaction.run({ text, values: [] }))) return;
      const statements = [
        ...Object.entries(tables).flatMap(([table, columns]) => dialect.createTable(table, columns, [])),
        ...indexes.map(({ table, ...index }) => dialect.createIndex(table, { ...index, where: null })),
      ];
      for (const statement of statements) await runInTransaction(journal, transaction, statement);
    },
    { lockKey: auditLockKey },
  );
}

/** Whoever extends a chain takes this turn first: on every node entries follow each other. */
export const auditLockKey = 'audit';

export async function insertAdminAction(database: Database, transaction: Transaction, action: unknown): Promise<void> {
  await runInTransaction(database, transaction, sql`INSERT INTO _acts (act) VALUES (${value('json', action)})`);
}

export async function hasAdminActions(database: Database): Promise<boolean> {
  return (await readRows(database, sql`SELECT 1 FROM _acts LIMIT 1`)).length > 0;
}

/** The oldest acts that wait. */
export async function readAdminActions(
  database: Database,
  transaction: Transaction,
  limit: number,
): Promise<StoredAdminAction[]> {
  const rows = await runInTransaction(database, transaction, sql`SELECT id,act FROM _acts ORDER BY id LIMIT ${limit}`);
  return rows.map(([id, action]) => ({ id: Number(id), act: JSON.parse(action as string) as unknown }));
}

export async function deleteAdminActions(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
): Promise<void> {
  const isGiven = database.dialect.isIn(sql`id`, listValue('bigint', ids));
  await runInTransaction(database, transaction, sql`DELETE FROM _acts WHERE ${isGiven}`);
}

/** Which of these acts are in the journal already: an earlier run may have died before it could delete them. */
export async function findKnownSources(
  journal: Database,
  transaction: Transaction,
  sources: readonly string[],
): Promise<Set<string>> {
  const isGiven = journal.dialect.isIn(sql`source`, listValue('text', sources));
  const rows = await runInTransaction(journal, transaction, sql`SELECT DISTINCT source FROM _audit WHERE ${isGiven}`);
  return new Set(rows.map(([source]) => source as string));
}

/** Beside the data: how far a chain had come, so that a journal that was put back or taken away is noticed. */
export async function writeAuditCheckpoint(
  database: Database,
  transaction: Transaction,
  chain: ChainName,
  { place, hash }: Pick<ChainEnds, 'place' | 'hash'>,
): Promise<void> {
  await runInTransaction(
    database,
    transaction,
    sql`INSERT INTO _audit_witness (chain,place,hash) VALUES (${value('text', chain)},${value('bigint', place)},${value('text', hash)}) ON CONFLICT (chain) DO UPDATE SET place=excluded.place,hash=excluded.hash`,
  );
}

export async function readAuditCheckpoint(
  database: Database,
  chain: ChainName,
): Promise<{ place: number; hash: string } | null> {
  const [row] = await readRows(
    database,
    sql`SELECT place,hash FROM _audit_witness WHERE chain=${value('text', chain)}`,
  );
  return row ? { place: Number(row[0]), hash: row[1] as string } : null;
}

const endColumns = sql`place,last_id,hash,seal,anchor_place,anchor_hash,anchor_seal`;

export async function readChainEnds(
  journal: Database,
  chain: ChainName,
  transaction: Transaction | null = null,
): Promise<ChainEnds | null> {
  const statement = sql`SELECT ${endColumns} FROM _audit_chains WHERE chain=${value('text', chain)}`;
  const [row] = transaction
    ? await runInTransaction(journal, transaction, statement)
    : await readRows(journal, statement);
  if (!row) return null;
  const [place, lastId, hash, seal, anchorPlace, anchorHash, anchorSeal] = row;
  return {
    place: Number(place),
    lastId: Number(lastId),
    hash: hash as string,
    seal: seal as string,
    anchorPlace: Number(anchorPlace),
    anchorHash: anchorHash as string,
    anchorSeal: anchorSeal as string,
  };
}

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
    )}) ON CONFLICT (chain) DO UPDATE SET place=excluded.place,last_id=excluded.last_id,hash=excluded.hash,seal=excluded.seal,anchor_place=excluded.anchor_place,anchor_hash=excluded.anchor_hash,anchor_seal=excluded.anchor_seal`,
  );
}

/** What the rows themselves say of the highest id, and of the highest place in a chain; 0 without rows. */
export async function readHighest(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
): Promise<{ id: number; place: number }> {
  const [row] = await runInTransaction(
    journal,
    transaction,
    sql`SELECT coalesce((SELECT max(id) FROM _audit),0),coalesce((SELECT max(place) FROM _audit WHERE chain=${value('text', chain)}),0),coalesce((SELECT max(last_id) FROM _audit_chains),0)`,
  );
  return { id: Math.max(Number(row![0]), Number(row![2])), place: Number(row![1]) };
}

const insertBatchSize = 50;

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

/** Entries of a chain after a place, in its order. */
export async function readEntriesAfter(
  journal: Database,
  chain: ChainName,
  afterSequence: number,
  limit: number,
): Promise<AuditRow[]> {
  const at = journal.dialect.scalar('datetime', sql`"at"`);
  const rest = content.slice(1).map((each) => `"${each}"`);
  const rows = await readRows(
    journal,
    sql`SELECT id,place,hash,"count",${at},${rest.join(',')} FROM _audit WHERE chain=${value('text', chain)} AND place>${value('bigint', afterSequence)} ORDER BY place LIMIT ${limit}`,
  );
  return rows.map(toAuditRow);
}

function toAuditRow(row: Row): AuditRow {
  const [id, place, hash, count, at, actor, credential, role, action, target, outcome, code, address, requestId] = row;
  return {
    id: Number(id),
    place: Number(place),
    hash: hash as string,
    at: at as string,
    actor: actor as string | null,
    credential: credential as string | null,
    role: role as string | null,
    action: action as string | null,
    target: target as string | null,
    outcome: outcome as AuditRow['outcome'],
    code: code as string | null,
    address: address as string | null,
    requestId: requestId as string | null,
    count: Number(count),
  };
}

/**
 * The last of the oldest entries that may go: those from before a moment, and those over a place; null: none.
 *
 * @param limit entries looked at and removed at once.
 */
export async function findPrunableEntry(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  { before, upTo }: { readonly before: string; readonly upTo: number },
  limit: number,
): Promise<{ place: number; hash: string } | null> {
  const oldest = sql`SELECT place,hash,"at" FROM _audit WHERE chain=${value('text', chain)} ORDER BY place LIMIT ${limit}`;
  const oldestRetained = sql`SELECT min(place) FROM (${oldest}) k WHERE "at">=${value('datetime', before)} AND place>${value('bigint', upTo)}`;
  const [row] = await runInTransaction(
    journal,
    transaction,
    sql`SELECT place,hash FROM (${oldest}) o WHERE place<coalesce((${oldestRetained}),9007199254740991) ORDER BY place DESC LIMIT 1`,
  );
  return row ? { place: Number(row[0]), hash: row[1] as string } : null;
}

export async function deleteAuditEntries(
  journal: Database,
  transaction: Transaction,
  chain: ChainName,
  upTo: number,
): Promise<number> {
  transaction.touch(auditTable);
  const rows = await runInTransaction(
    journal,
    transaction,
    sql`DELETE FROM _audit WHERE chain=${value('text', chain)} AND place<=${value('bigint', upTo)} RETURNING 1`,
  );
  return rows.length;
}
