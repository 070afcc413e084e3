/**
 * Copies a schema to another node while it is written, and keeps the copy up to date: the rows are those of one moment,
 * at which a replication slot begins, and a subscription of the new node applies later writes. See decisions/046.
 */
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { StaleVersion } from '../database.ts';
import { identifier, literal } from '../sql.ts';
import { removeFromSource, removeFromTarget, type SchemaNode } from './node-remains.ts';
import type { PostgresClient } from './postgres-client.ts';
import { lowestTransaction } from './postgres-event-log.ts';
import { isLockTimeout, toPostgresFault } from './postgres-fault.ts';
import { runQueries, runQuery } from './run-query.ts';
import { readDefinition, readStorage, type SchemaDefinition } from './schema-definition.ts';
import { connectForCopies } from './schema-snapshot.ts';
import { isTableIn } from './schema-tables.ts';
import { findFilledTables, setForCopies } from './table-copy.ts';

export interface NodeCopyParts {
  readonly schema: string;
  /** The name of the publication, the slot and the subscription. */
  readonly name: string;
  readonly source: SchemaNode;
  readonly target: SchemaNode;
  /** Called with the digest of the definition that is copied. */
  readonly onDefinition: (digest: string) => Promise<void>;
}

/** How long the start of the slot may wait for transactions that are running. */
const slotMilliseconds = 120_000;
/** Attempts to lock a table for a moment, while requests use it. */
const maxLockAttempts = 20;

/** Creates the copy, and replaces what an earlier move has left. @throws Error */
export async function copyToNode(parts: NodeCopyParts): Promise<void> {
  const { schema, name, source, target, onDefinition } = parts;
  await removeFromTarget(target, schema, { dropSchema: true });
  await removeFromSource(source, schema);
  const reader = await connectForCopies(source.url, source.budget);
  const writer = await connectForCopies(target.url, target.budget);
  let slot: PostgresClient | null = null;
  try {
    await publish(reader, schema, name);
    slot = await openReplication(source);
    const snapshot = await createSlot(slot, name);
    const begin = (): Promise<void> => beginAt(reader, schema, snapshot);
    await begin();
    const definition = await readDefinition(reader, schema);
    await onDefinition(await digestDefinition(reader, schema));
    await runQuery(reader, 'COMMIT');
    await createCopy({ reader, writer, schema, definition, begin });
    await subscribe(writer, name, describeConnection(reader, source));
  } catch (error) {
    throw toMoveError(error);
  } finally {
    await Promise.allSettled([reader.end(), writer.end(), slot?.end()]);
  }
}

/** Definitions were changed while the schema was copied. */
export class ChangedDefinition extends Error {
  constructor() {
    super('Collections of the application were changed while it was copied. Try again when they are not.');
  }
}

/** The error of a move: tables or columns are missing if they were changed meanwhile. */
export function toMoveError(error: unknown): unknown {
  if (!(error instanceof StaleVersion)) return error;
  const { code, message } = error.cause as { readonly code?: string; readonly message: string };
  return code === '0A000' ? new Error(message, { cause: error }) : new ChangedDefinition();
}

/**
 * A digest of all that logical replication does not copy. It changes if a table, column, default, key or index is created, dropped, changed
 * or rewritten. It is computed while the tables are locked, so it only reads catalogues: 0.1 s for 2,000 tables (2026-11), where the
 * statements of {@link readDefinition} take 2.4 s.
 */
export async function digestDefinition(client: PostgresClient, schema: string): Promise<string> {
  const [row] = await runQuery<{ digest: string }>(client, selectDigest, [schema]);
  return `${await readStorage(client, schema)}.${row?.digest}`;
}

const isTable = isTableIn('$1');
const selectDigest = `SELECT md5(concat_ws('|',
(SELECT string_agg(concat_ws('.',attrelid,attnum,attname,atttypid,atttypmod,attnotnull,attidentity,attgenerated,attstattarget,attstorage),','
ORDER BY attrelid,attnum) FROM pg_attribute a JOIN pg_class t ON t.oid=a.attrelid WHERE ${isTable} AND attnum>0 AND NOT attisdropped),
(SELECT string_agg(d.oid::text,',' ORDER BY d.oid) FROM pg_attrdef d JOIN pg_class t ON t.oid=d.adrelid WHERE ${isTable}),
(SELECT string_agg(concat_ws('.',indexrelid,indisvalid),',' ORDER BY indexrelid) FROM pg_index i JOIN pg_class t ON t.oid=i.indrelid WHERE ${isTable}),
(SELECT string_agg(concat_ws('.',k.oid,conname,convalidated),',' ORDER BY k.oid) FROM pg_constraint k JOIN pg_class t ON t.oid=k.conrelid WHERE ${isTable})
)) AS digest`;

/** Positions of sequences are set when nothing writes any more. */
const isPosition = (text: string): boolean => text.startsWith('SELECT setval(');

/**
 * Publishes all tables. Without a key, updates can only find a row by all of its columns, so these identify the row.
 */
async function publish(client: PostgresClient, schema: string, name: string): Promise<void> {
  const tables = await runQuery<{ table: string; hasKey: boolean }>(
    client,
    `SELECT relname AS "table",relreplident='f' OR EXISTS(SELECT FROM pg_index WHERE indrelid=t.oid AND indisprimary) AS "hasKey"
FROM pg_class t WHERE ${isTable} ORDER BY oid`,
    [schema],
  );
  const qualified = ({ table }: { readonly table: string }): string => `${schema}.${identifier(table)}`;
  for (const each of tables.filter(({ hasKey }) => !hasKey))
    await withShortLock(client, `ALTER TABLE ${qualified(each)} REPLICA IDENTITY FULL`);
  await withShortLock(client, `CREATE PUBLICATION ${name} FOR TABLE ${tables.map(qualified).join(',')}`);
}

/** Requests wait while a statement waits for its lock, so it only waits for a short time, several times. */
async function withShortLock(client: PostgresClient, statement: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return void (await runQuery(client, `BEGIN; SET LOCAL lock_timeout='500ms'; ${statement}; COMMIT`));
    } catch (error) {
      await runQuery(client, 'ROLLBACK');
      if (!isLockTimeout(error) || attempt === maxLockAttempts) throw error;
      await pause(250 * attempt * Math.random());
    }
  }
}

async function openReplication({ url, budget }: SchemaNode): Promise<PostgresClient> {
  const config: pg.ClientConfig & { readonly replication: string } = {
    connectionString: url,
    query_timeout: slotMilliseconds,
    replication: 'database',
  };
  const client = new budget.client(config);
  await client.connect().catch((error: unknown) => Promise.reject(toPostgresFault(error)));
  return client;
}

/** @returns the name of the snapshot at which the slot begins. It exists until the client runs another statement. */
async function createSlot(client: PostgresClient, name: string): Promise<string> {
  const text = `CREATE_REPLICATION_SLOT ${name} LOGICAL pgoutput EXPORT_SNAPSHOT`;
  const [row] = await runQuery<{ snapshot_name: string }>(client, text);
  return row?.snapshot_name ?? '';
}

async function beginAt(client: PostgresClient, schema: string, snapshot: string): Promise<void> {
  await runQueries(client, [
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    `SET TRANSACTION SNAPSHOT ${literal(snapshot)}`,
    `SET LOCAL search_path TO ${schema},public`,
    setForCopies('LOCAL'),
  ]);
}

interface CopySteps {
  readonly reader: PostgresClient;
  readonly writer: PostgresClient;
  readonly schema: string;
  readonly definition: SchemaDefinition;
  /** Begins a transaction of the reader at the moment that is copied. */
  readonly begin: () => Promise<void>;
}

async function createCopy({ reader, writer, schema, definition, begin }: CopySteps): Promise<void> {
  await runQueries(writer, [
    `CREATE SCHEMA ${schema}`,
    `SET search_path TO ${schema},public`,
    setForCopies('SESSION'),
    ...definition.create,
  ]);
  await begin();
  const filled = await findFilledTables(reader, definition.tables);
  await runQuery(reader, 'COMMIT');
  for (const { table, columns } of definition.tables) {
    if (!filled.has(table)) continue;
    await begin();
    const list = columns.join(',');
    const source =
      table === '_events'
        ? `(SELECT ${columns.map((each) => (each === 'xid' ? `'${lowestTransaction}'::xid8` : each)).join(',')} FROM _events)`
        : `${identifier(table)} (${list})`;
    const rows = reader.submit(copyTo(`COPY ${source} TO STDOUT`));
    await pipeline(rows, writer.submit(copyFrom(`COPY ${identifier(table)} (${list}) FROM STDIN`)));
    await runQuery(reader, 'COMMIT');
  }
  await runQueries(writer, [
    ...definition.index.filter((each) => !isPosition(each)),
    ...definition.relate,
    ...numberEvents,
    ...definition.tables.map(({ table }) => `ANALYZE ${identifier(table)}`),
  ]);
}

export const numberingFunction = 'number_moved_event';
/**
 * Numbers of transactions of another node mean nothing here, so all copied events have the lowest one, as after
 * {@link PostgresEventLog.adopt}. Rewriting them at the end of the move would take long.
 */
const numberEvents = [
  `CREATE FUNCTION ${numberingFunction}() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.xid='${lowestTransaction}'; RETURN NEW; END$$`,
  `CREATE TRIGGER ${numberingFunction} BEFORE INSERT ON _events FOR EACH ROW EXECUTE FUNCTION ${numberingFunction}()`,
  `ALTER TABLE _events ENABLE ALWAYS TRIGGER ${numberingFunction}`,
];

/** How the new node connects to the old one: with the address that the cluster has of it, and the role and password of this server. */
function describeConnection(client: PostgresClient, { host, port, url }: SchemaNode): string {
  const { user, password, database } = client as { user?: unknown; password?: unknown; database?: unknown };
  const sslMode = new URL(url).searchParams.get('sslmode');
  const parts: Readonly<Record<string, unknown>> = {
    host,
    port,
    user,
    password,
    dbname: database,
    sslmode: sslMode === 'no-verify' ? 'require' : sslMode,
    connect_timeout: 10,
  };
  const quote = (value: string): string => `'${value.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  return Object.entries(parts)
    .flatMap(([key, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [`${key}=${quote(String(value))}`] : [],
    )
    .join(' ');
}

/** Keeps PostgreSQL from writing the password to its log or its statistics. Only a superuser may set them. */
const unlogged = [
  "log_statement='none'",
  "log_min_messages='panic'",
  "log_min_error_statement='panic'",
  'log_min_duration_statement=-1',
  'log_min_duration_sample=-1',
  "pg_stat_statements.track_utility='off'",
];

/** @throws Error without the connection parameters. */
async function subscribe(client: PostgresClient, name: string, connection: string): Promise<void> {
  const [role] = await runQuery<{ isSuperuser: boolean }>(
    client,
    'SELECT rolsuper AS "isSuperuser" FROM pg_roles WHERE rolname=current_user',
  );
  const settings = role?.isSuperuser ? unlogged.map((each) => `SET LOCAL ${each}`) : [];
  const options = `create_slot=false,copy_data=false,slot_name=${name},synchronous_commit='off'`;
  const statement = `CREATE SUBSCRIPTION ${name} CONNECTION ${literal(connection)} PUBLICATION ${name} WITH (${options})`;
  await client.query(['BEGIN', ...settings].join(';'));
  try {
    await client.query(statement);
    await client.query('COMMIT');
  } catch (error) {
    throw new Error(
      `The new node could not subscribe to the old one: ${(error as Error).message}. The role of DATABASE_URL must be a superuser, and must be able to connect from each node to the others.`,
    );
  }
}
