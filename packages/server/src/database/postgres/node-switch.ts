/**
 * The last part of a move to another node, during which nothing writes the schema, and the return of the schema to the
 * old node if the move fails.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { bindFixed } from '../database.ts';
import type { Sql } from '../sql.ts';
import { ChangedDefinition, digestDefinition, numberingFunction, toMoveError } from './node-copy.ts';
import { dropPublications, lockedSchema, type SchemaNode, withClient } from './node-remains.ts';
import type { PostgresClient } from './postgres-client.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { adoptedPositions, newEpoch } from './postgres-event-log.ts';
import { restorePart } from './restore-schemas.ts';
import { runQueries, runQuery } from './run-query.ts';
import { readPositions } from './schema-definition.ts';
import { isTableIn } from './schema-tables.ts';
import { setForCopies } from './table-copy.ts';

/** A move of a schema. */
export interface SchemaMove {
  readonly schema: string;
  /** The name of the publication, the slot and the subscription. */
  readonly name: string;
  readonly source: SchemaNode;
  readonly target: SchemaNode;
}

/** What the locked schema contains beyond its rows. */
export interface LockedState {
  /** The version in `_meta`. It belongs to the last change before the lock, so a copy with this version is complete. */
  readonly version: string;
  /** Statements that set the positions of the sequences. */
  readonly sequences: readonly string[];
  readonly positions: Readonly<Record<keyof typeof adoptedPositions, readonly AdoptedPosition[]>>;
}

interface AdoptedPosition {
  readonly id: string | number;
  readonly position: string;
}

/** How much may be missing in the copy when the schema is locked, in bytes of the log of the node. */
const maxMissingBytes = 1024 * 1024;
const lagMilliseconds = 100;
/** The copy may be behind for this long without coming closer. */
const stalledMilliseconds = 120_000;
/** How long requests may wait for the lock, and then be refused: less than two seconds together. */
const lockMilliseconds = 500;
export const maxLockedMilliseconds = 1000;
/** After this time, PostgreSQL ends a vacuum that is in the way. Only a superuser may set it. */
const endVacuum = `SELECT set_config('deadlock_timeout','200ms',false) FROM pg_roles WHERE rolname=current_user AND rolsuper`;
const markMilliseconds = 5;
const idleMilliseconds = 3000;

/** Waits until little is missing in the copy. @throws Error if it does not come closer. */
export async function waitForCopy({ name, source }: SchemaMove, signal: AbortSignal): Promise<void> {
  await withClient(source.url, source.budget, async (client) => {
    let least = Number.POSITIVE_INFINITY;
    let deadline = performance.now() + stalledMilliseconds;
    for (;;) {
      signal.throwIfAborted();
      const [row] = await runQuery<{ missing: string }>(
        client,
        'SELECT pg_wal_lsn_diff(pg_current_wal_lsn(),replay_lsn)::text AS missing FROM pg_stat_replication WHERE application_name=$1',
        [name],
      );
      const missing = Number(row?.missing ?? Number.POSITIVE_INFINITY);
      if (missing < maxMissingBytes) return;
      if (missing < least) deadline = performance.now() + stalledMilliseconds;
      least = Math.min(least, missing);
      if (performance.now() > deadline)
        throw new Error(
          row
            ? 'More is written than the new node can apply. Try again when less is written.'
            : 'The new node does not replicate. See its log; max_logical_replication_workers may be too low.',
        );
      await pause(lagMilliseconds);
    }
  });
}

/**
 * Locks the schema: no server can write or read it from then on, because its name has changed.
 *
 * @param digest of the definition that was copied.
 * @returns null if a table did not become free in time.
 * @throws ChangedDefinition; Error if the move was given up.
 */
export async function lockSchema({ schema, name, source }: SchemaMove, digest: string): Promise<LockedState | null> {
  return withClient(source.url, source.budget, async (client) => {
    await runQueries(client, [
      `SET search_path TO ${schema},public`,
      setForCopies('SESSION'),
      `SET lock_timeout='${lockMilliseconds}ms'`,
      endVacuum,
      // If this server hangs or is cut off, PostgreSQL rolls the transaction back.
      `SET idle_in_transaction_session_timeout='${idleMilliseconds}ms'`,
      'BEGIN',
    ]);
    const isLocked = await lockTables(client, schema);
    if (!isLocked) return null;
    await lockRename(client, schema);
    const published = await runQuery(client, 'SELECT 1 FROM pg_publication WHERE pubname=$1', [name]);
    if (published.length === 0) throw new Error('The move was given up by another server.');
    if (await hasPart(client, schema)) throw new Error('"tablinum move" replaces the application meanwhile.');
    if ((await digestDefinition(client, schema)) !== digest) throw new ChangedDefinition();
    const state = await readState(client, schema);
    await runQuery(client, `ALTER SCHEMA ${schema} RENAME TO ${lockedSchema(schema)}; COMMIT`);
    return state;
  }).catch((error: unknown) => Promise.reject(toMoveError(error)));
}

/** Whether a copy by `tablinum move` exists next to a schema. The copy would stay on this node. */
export async function hasPart(client: PostgresClient, schema: string): Promise<boolean> {
  const found = await runQuery(client, 'SELECT 1 FROM pg_namespace WHERE nspname=$1', [restorePart(schema)]);
  return found.length > 0;
}

/** Writes wait, and transactions that have written are waited for. */
async function lockTables(client: PostgresClient, schema: string): Promise<boolean> {
  const [row] = await runQuery<{ tables: string }>(
    client,
    `SELECT string_agg(format('%I.%I',$1::text,relname),',' ORDER BY oid) AS tables FROM pg_class t WHERE ${isTableIn('$1')}`,
    [schema],
  );
  try {
    await client.query(`LOCK TABLE ${row?.tables} IN EXCLUSIVE MODE`);
    return true;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === '55P03' || code === '40P01') return false;
    throw error;
  }
}

/** Prevents two servers from renaming the schema at the same time. The lock ends with the transaction. */
async function lockRename(client: PostgresClient, schema: string): Promise<void> {
  await runQuery(client, "SELECT pg_advisory_xact_lock(hashtext('tablinum move'),hashtext($1))", [schema]);
}

async function readState(client: PostgresClient, schema: string): Promise<LockedState> {
  const select = (statement: Sql): Promise<AdoptedPosition[]> => {
    const { text, values } = bindFixed(postgresDialect, statement);
    return runQuery<AdoptedPosition & { id: string }>(client, text, values);
  };
  const sequences = await readPositions(client, schema);
  const positions = {
    _outbox: await select(adoptedPositions._outbox),
    webhooks: await select(adoptedPositions.webhooks),
  };
  const [row] = await runQuery<{ version: string }>(
    client,
    'UPDATE _meta SET version=version+1 RETURNING version::text',
  );
  return { version: row?.version ?? '', sequences, positions };
}

/** Waits until the copy has all. @returns false if that takes too long. @param deadline in terms of performance.now(). */
export async function waitForRest(
  { schema, target }: SchemaMove,
  { version }: LockedState,
  deadline: number,
): Promise<boolean> {
  return withClient(target.url, target.budget, async (client) => {
    for (;;) {
      const rows = await runQuery(client, `SELECT 1 FROM ${schema}._meta WHERE version=$1::int8`, [version]);
      if (rows.length > 0) return true;
      if (performance.now() > deadline) return false;
      await pause(markMilliseconds);
    }
  });
}

/** Completes the copy, in one transaction. Its commit also makes durable what was replicated. */
export async function completeCopy({ schema, target }: SchemaMove, state: LockedState): Promise<void> {
  await withClient(target.url, target.budget, async (client) => {
    await runQueries(client, [
      'BEGIN',
      `SET LOCAL search_path TO ${schema},public`,
      'SET LOCAL synchronous_commit=on',
      ...state.sequences,
      bindFixed(postgresDialect, newEpoch).text,
      `DROP FUNCTION ${numberingFunction} CASCADE`,
    ]);
    for (const { id, position } of state.positions._outbox)
      await runQuery(client, 'UPDATE _outbox SET position=$2 WHERE id=$1', [id, position]);
    for (const { id, position } of state.positions.webhooks)
      await runQuery(client, 'UPDATE webhooks SET "startsAfter"=$2 WHERE id=$1', [id, position]);
    await runQuery(client, 'COMMIT');
  });
}

/**
 * Gives the schema its name again, if it was locked. It can be repeated.
 *
 * @param isFinal whether the move is given up: no other server can lock the schema for it afterwards.
 */
export async function unlockSchema(
  { schema, source }: Pick<SchemaMove, 'schema' | 'source'>,
  isFinal: boolean,
): Promise<void> {
  await withClient(source.url, source.budget, async (client) => {
    await runQuery(client, 'BEGIN');
    await lockRename(client, schema);
    const names = await runQuery<{ name: string }>(
      client,
      'SELECT nspname AS name FROM pg_namespace WHERE nspname=ANY($1::text[])',
      [[schema, lockedSchema(schema)]],
    );
    if (names.length === 1 && names[0]?.name === lockedSchema(schema))
      await runQuery(client, `ALTER SCHEMA ${lockedSchema(schema)} RENAME TO ${schema}`);
    if (isFinal) await dropPublications(client, schema);
    await runQuery(client, 'COMMIT');
  });
}
