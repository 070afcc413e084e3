import { isoTime } from '../base/clock.ts';
import { recordEvent } from '../changes/record-event.ts';
import { bumpVersion, readDefinitionsInTx, replaceTableName } from '../database/catalogue.ts';
import { countRows } from '../database/column-data.ts';
import { bindFixed, DatabaseFault, StaleVersion, type Transaction } from '../database/database.ts';
import type { Sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { buildNextRegistry } from '../schema/load-registry.ts';
import { tableName } from '../schema/names.ts';
import {
  type DefinitionContext,
  type DefinitionDryRun,
  type DefinitionTransaction,
  DryRunRollback,
} from './definition-context.ts';
import { reconcileSearchIndexes } from './reconcile-search-indexes.ts';

export interface ChangeScope {
  /** The collection that an error names. */
  readonly subject: string;
  /** Tables whose rows or columns change. Writers on them wait, and the change sees everything that they wrote. */
  readonly tables: readonly string[];
  /** Tables are rebuilt, and other tables may refer to them. */
  readonly needsRebuild?: boolean;
  /** Readers continue until the columns of the tables change, which is done last. */
  readonly isReadable?: boolean;
}

/**
 * Runs a change of definitions. It is guarded by the version for which it was planned, and its result is loaded at the
 * end.
 *
 * @throws ApiError 409 if the definitions have changed meanwhile.
 */
export async function runDefinitionChange(
  context: DefinitionContext,
  scope: ChangeScope,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  try {
    if (context.tx) await changeInTransaction(context, context.tx, work);
    else await changeInOwnTransaction(context, scope, work);
  } catch (error) {
    throw toDefinitionError(error, scope.subject);
  }
}

/** One step of several changes that are committed or rolled back as one. */
export type DefinitionStep = (change: (context: DefinitionContext) => Promise<unknown>) => Promise<void>;

/** Runs several changes in one transaction. `scope` names the existing tables of all of them. */
export async function runDefinitionSteps(
  context: DefinitionContext,
  scope: ChangeScope,
  work: (step: DefinitionStep) => Promise<void>,
): Promise<void> {
  const { registry, version } = context;
  await runDefinitionChange(context, scope, async (transaction) => {
    // All changes count as one: both versions have increased by one.
    const nextRegistry = registry.with([], [], registry.version + 1);
    const tx: DefinitionTransaction = { transaction, registry: nextRegistry, version: version + 1 };
    await work(async (change) => {
      await change({ ...context, registry: tx.registry, version: tx.version, tx });
    });
  });
}

async function changeInTransaction(
  { database, registry, version }: DefinitionContext,
  tx: DefinitionTransaction,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  const { transaction } = tx;
  await bumpVersion(transaction, 'schema');
  await work(transaction);
  const changed = await readDefinitionsInTx(database, transaction, registry.version);
  tx.registry = buildNextRegistry(registry, registry.version + 1, changed);
  tx.version = version + 1;
}

async function changeInOwnTransaction(
  context: DefinitionContext,
  { tables, needsRebuild = false, isReadable = false }: ChangeScope,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  const { database, registry } = context;
  await database.write(
    async (transaction) => {
      // Before any read: the first read of a transaction determines what it sees.
      const lock = tables.length > 0 ? database.dialect.lockTables([...tables].sort(), isReadable) : null;
      if (lock) await runStatements(context, transaction, [lock]);
      // This is also the lock that serialises definition changes of several servers.
      if ((await bumpVersion(transaction, 'schema')) !== context.version + 1) throw new StaleVersion();
      if (context.dryRun) await beginDryRun(context, context.dryRun, transaction, tables);
      await work(transaction);
      if (context.dryRun) throw new DryRunRollback(context.dryRun);
      for (const table of tables) await renameTableForVersion(context, transaction, table);
      // Definitions that cannot be loaded must never be committed: no collection could be used any more.
      const changed = await readDefinitionsInTx(database, transaction, registry.version);
      const next = buildNextRegistry(registry, registry.version + 1, changed);
      await reconcileSearchIndexes(database, transaction, next);
    },
    // Nothing is written between the commit and the loading of the new definitions.
    {
      heavy: tables.length > 0,
      longRunning: tables.length > 0,
      rebuild: needsRebuild,
      afterCommit: () => context.refresh(),
    },
  );
}

/** Starts a dry run. A transaction that is retried starts it again. */
async function beginDryRun(
  { database, registry }: DefinitionContext,
  dryRun: DefinitionDryRun,
  transaction: Transaction,
  tables: readonly string[],
): Promise<void> {
  dryRun.changes.length = 0;
  for (const { name, table } of registry.all())
    if (tables.includes(table)) dryRun.records[name] = await countRows(database, transaction, table);
}

/** Renames a table, so that concurrent statements that were compiled for the previous definition fail. */
async function renameTableForVersion(
  context: DefinitionContext,
  transaction: Transaction,
  table: string,
): Promise<void> {
  const { database, registry, version } = context;
  const collection = registry.all().find((each) => each.table === table && !each.system);
  const name = collection && `${tableName(collection.name, collection.id)}_v${version + 1}`;
  const rename = name && database.dialect.renameTable(table, name);
  if (!rename) return;
  await runStatements(context, transaction, [rename]);
  await replaceTableName(database, transaction, table, name);
}

function toDefinitionError(error: unknown, subject: string): unknown {
  if (!(error instanceof DatabaseFault)) return error;
  if (error.kind === 'unique')
    return new ApiError(
      'UNIQUE_CONFLICT',
      `Several records of "${subject}" have the same value, so it cannot be unique. Make the values distinct first.`,
    );
  if (error.kind === 'collision' || error.kind === 'timeout')
    return new ApiError('BUSY', 'The change waited too long for other writes. Try again.', { retryAfter: 1 });
  return error;
}

/**
 * Appends the event of a change to definitions, after the hooks of extensions have accepted it.
 *
 * @param name such as `fields.updated`. @param key such as `albums.title`.
 */
export async function appendDefinitionEvent(
  context: DefinitionContext,
  transaction: Transaction,
  name: string,
  key: string,
): Promise<void> {
  context.dryRun?.changes.push({ name, tk: key });
  context.collectedEvents?.push({ name, tk: key });
  const { requestId, caller } = context;
  if (caller) await context.hooks?.beforeDefinition(name, key, caller, requestId); // Changes by the server itself run no hooks.
  const [resource = '', verb = ''] = name.split('.');
  const event = recordEvent(resource, verb, [key], { caller, requestId, isAudited: true });
  await context.changes.append(transaction, event, isoTime(context.clock.now()));
}

/** Runs statements one after the other in a transaction. */
export async function runStatements(
  context: DefinitionContext,
  transaction: Transaction,
  statements: readonly Sql[],
): Promise<void> {
  for (const statement of statements) await transaction.run(bindFixed(context.database.dialect, statement));
}
