/** The tables of the audit journal in its own store. */
import type { Database, Row } from './database.ts';
import type { ColumnDefinition, Dialect } from './dialect.ts';
import { runInTransaction } from './run-statement.ts';
import type { Sql } from './sql.ts';

/** The table of entries. */
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

/** Columns that an entry's hash covers, in the order of the hash. */
export const hashedColumns = [
  'at',
  'actor',
  'credential',
  'role',
  'action',
  'target',
  'outcome',
  'code',
  'address',
  'requestId',
];
/** The quoted names of the columns that an entry's hash covers. */
export const contentColumns = hashedColumns.map((each) => `"${each}"`).join(',');

/** The columns of the tables of the journal. */
export const auditTables: Readonly<Record<string, readonly ColumnDefinition[]>> = {
  [auditTable]: [
    defineKeyColumn('id', 'integer'),
    defineColumn('chain', 'text', true),
    defineColumn('place', 'bigint', true),
    defineColumn('source', 'text'),
    defineColumn('at', 'datetime', true),
    ...hashedColumns.slice(1).map((each) => defineColumn(each, each === 'credential' ? 'json' : 'text')),
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

/** Creates the tables of the journal, if they are missing. */
export async function createAuditTables(journal: Database): Promise<void> {
  const { dialect } = journal;
  const probe = { text: dialect.catalogueProbe, values: [] };
  const hasTables = (names: readonly Row[]): boolean => names.some(([name]) => name === '_key_endpoints');
  const [existing = []] = await journal.read([probe]);
  if (hasTables(existing)) return;
  await journal.write(
    async (transaction) => {
      if (hasTables(await transaction.run(probe))) return;
      for (const statement of createAuditStatements(dialect)) await runInTransaction(journal, transaction, statement);
    },
    { lockKey: auditLockKey },
  );
}

/** The statements that create the tables of the journal with their indexes. */
export function createAuditStatements(dialect: Dialect): Sql[] {
  return [
    ...Object.entries(auditTables).flatMap(([table, columns]) => dialect.createTable(table, columns, [])),
    ...indexes.map(({ table, ...index }) => dialect.createIndex(table, { ...index, where: null, present: null })),
  ];
}

/** The lock under which chains are extended, so that no two nodes append at the same time. */
export const auditLockKey = 'audit';
