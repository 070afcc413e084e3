/** Removes what a move to another node has created. Every step can be repeated. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionBudget } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import { dropPostgres } from './postgres-open.ts';
import { runQuery } from './run-query.ts';
import { connectForCopies } from './schema-snapshot.ts';

/** A node, as this server and other nodes reach it. */
export interface SchemaNode {
  readonly url: string;
  readonly budget: ConnectionBudget;
  /** The address that other nodes use. */
  readonly host: string;
  readonly port: number;
}

/** The name of the publication, the slot and the subscription of a move. */
export const moveName = (schema: string, id: string): string => `${movePrefix(schema)}${id.slice(0, 8)}`;
const movePrefix = (schema: string): string => `${schema}_move_`;
/** The name of a schema on the old node when it is locked. */
export const lockedSchema = (schema: string): string => `${schema}_moved`;

const maxSlotAttempts = 50;
const slotPauseMilliseconds = 100;

/** On the node to which a schema was to be moved, or was moved. */
export async function removeFromTarget(
  { url, budget }: Pick<SchemaNode, 'url' | 'budget'>,
  schema: string,
  { dropSchema }: { readonly dropSchema: boolean },
): Promise<void> {
  await withClient(url, budget, (client) => dropSubscriptions(client, movePrefix(schema)));
  if (dropSchema) await dropPostgres(url, schema, budget);
}

/** On the node from which a schema is moved. The schema itself stays. */
export async function removeFromSource(
  { url, budget }: Pick<SchemaNode, 'url' | 'budget'>,
  schema: string,
): Promise<void> {
  await withClient(url, budget, async (client) => {
    await dropPublications(client, schema);
    await dropSlots(client, movePrefix(schema));
  });
}

/** Drops the publications of all moves of a schema. A move cannot lock the schema without its own, see `lockSchema`. */
export async function dropPublications(client: PostgresClient, schema: string): Promise<void> {
  const rows = await runQuery<{ name: string }>(
    client,
    'SELECT pubname AS name FROM pg_publication WHERE starts_with(pubname,$1)',
    [movePrefix(schema)],
  );
  for (const { name } of rows) await runQuery(client, `DROP PUBLICATION IF EXISTS ${name}`);
}

/** Uses no connection to the other node, which may not reply. */
async function dropSubscriptions(client: PostgresClient, prefix: string): Promise<void> {
  const rows = await runQuery<{ name: string }>(
    client,
    `SELECT subname AS name FROM pg_subscription
WHERE starts_with(subname,$1) AND subdbid=(SELECT oid FROM pg_database WHERE datname=current_database())`,
    [prefix],
  );
  for (const { name } of rows)
    for (const statement of [
      `ALTER SUBSCRIPTION ${name} DISABLE`,
      `ALTER SUBSCRIPTION ${name} SET (slot_name=NONE)`,
      `DROP SUBSCRIPTION IF EXISTS ${name}`,
    ])
      await runQuery(client, statement);
}

/** A slot prevents PostgreSQL from removing its log. One that is in use ends shortly after its subscription. */
async function dropSlots(client: PostgresClient, prefix: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const rows = await runQuery<{ name: string; pid: number | null }>(
      client,
      'SELECT slot_name AS name,active_pid AS pid FROM pg_replication_slots WHERE starts_with(slot_name,$1) AND database=current_database()',
      [prefix],
    );
    if (rows.length === 0) return;
    for (const { name, pid } of rows)
      if (pid === null) await runQuery(client, 'SELECT pg_drop_replication_slot($1)', [name]).catch(ignoreLast);
      else await runQuery(client, 'SELECT pg_terminate_backend($1)', [pid]);
    if (attempt === maxSlotAttempts) throw new Error(`The replication slot ${rows[0]?.name} is still in use.`);
    await pause(slotPauseMilliseconds);
  }
}

/** It has just become active, or was dropped by another server; the next attempt shows it. */
function ignoreLast(): void {}

/** Runs work with a connection to a node. */
export async function withClient<T>(
  url: string,
  budget: ConnectionBudget,
  work: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const client = await connectForCopies(url, budget);
  return work(client).finally(() => client.end());
}
