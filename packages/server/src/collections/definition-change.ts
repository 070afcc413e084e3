import { isoTime } from '../base/clock.ts';
import { bumpVersion, followTable, readUncommitted } from '../database/catalogue.ts';
import { countRows } from '../database/column-data.ts';
import { DatabaseFault, fixed, StaleVersion, type Transaction } from '../database/database.ts';
import type { Sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { changedRegistry } from '../schema/load-registry.ts';
import { tableName } from '../schema/names.ts';
import { type DefinitionContext, type OpenChange, type Trial, TrialEnd } from './definition-context.ts';

export interface ChangeScope {
  /** The collection that an error names. */
  readonly subject: string;
  /** Tables whose rows or shape change; writers on them wait, and the change sees all that they wrote. */
  readonly tables: readonly string[];
  /** Tables are built anew that others may refer to. */
  readonly rebuild?: boolean;
  /** Readers go on until the tables change their shape, which is done last. */
  readonly readable?: boolean;
}

/** Runs a change of definitions: guarded by the version it was planned for, refused as a conflict, taken up at the end. */
export async function changing(
  context: DefinitionContext,
  scope: ChangeScope,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  try {
    if (context.inside) await changeInside(context, context.inside, work);
    else await changeAlone(context, scope, work);
  } catch (error) {
    throw definitionFault(error, scope.subject);
  }
}

/** One step of several changes that come and go together. */
export type Step = (change: (context: DefinitionContext) => Promise<unknown>) => Promise<void>;

/** Runs several changes in one transaction. `scope` names the tables of all of them that are there before. */
export async function changingTogether(
  context: DefinitionContext,
  scope: ChangeScope,
  work: (step: Step) => Promise<void>,
): Promise<void> {
  const { registry, version } = context;
  await changing(context, scope, async (transaction) => {
    // The change as a whole has moved both versions on by one.
    const moved = registry.with([], [], registry.version + 1);
    const inside: OpenChange = { transaction, registry: moved, version: version + 1 };
    await work(async (change) => {
      await change({ ...context, registry: inside.registry, version: inside.version, inside });
    });
  });
}

async function changeInside(
  { database, registry, version }: DefinitionContext,
  inside: OpenChange,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  const { transaction } = inside;
  await bumpVersion(transaction, 'schema');
  await work(transaction);
  const changed = await readUncommitted(database, transaction, registry.version);
  inside.registry = changedRegistry(registry, registry.version + 1, changed);
  inside.version = version + 1;
}

async function changeAlone(
  context: DefinitionContext,
  { tables, rebuild = false, readable = false }: ChangeScope,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  const { database, registry } = context;
  await database.write(
    async (transaction) => {
      // Before anything is read: what a transaction sees is settled by its first look.
      const lock = tables.length > 0 ? database.dialect.lockTables([...tables].sort(), readable) : null;
      if (lock) await runAll(context, transaction, [lock]);
      // Also the lock by which definition changes of several nodes follow each other.
      if ((await bumpVersion(transaction, 'schema')) !== context.version + 1) throw new StaleVersion();
      if (context.trial) await beginTrial(context, context.trial, transaction, tables);
      await work(transaction);
      if (context.trial) throw new TrialEnd(context.trial);
      for (const table of tables) await moveOn(context, transaction, table);
      // What does not load must never be committed: nothing would be reachable any more.
      changedRegistry(registry, registry.version + 1, await readUncommitted(database, transaction, registry.version));
    },
    // Nobody writes between the change and its being known here.
    { heavy: tables.length > 0, patient: tables.length > 0, rebuild, committed: () => context.refresh() },
  );
}

/** A transaction that is tried again notes everything anew. */
async function beginTrial(
  { database, registry }: DefinitionContext,
  trial: Trial,
  transaction: Transaction,
  tables: readonly string[],
): Promise<void> {
  trial.changes.length = 0;
  for (const { name, table } of registry.all())
    if (tables.includes(table)) trial.records[name] = await countRows(database, transaction, table);
}

/** Makes statements that were written for the former definition fail, also those that wait for this change to end. */
async function moveOn(context: DefinitionContext, transaction: Transaction, table: string): Promise<void> {
  const { database, registry, version } = context;
  const collection = registry.all().find((each) => each.table === table && !each.system);
  const name = collection && `${tableName(collection.name, collection.id)}_v${version + 1}`;
  const rename = name && database.dialect.renameTable(table, name);
  if (!rename) return;
  await runAll(context, transaction, [rename]);
  await followTable(database, transaction, table, name);
}

function definitionFault(error: unknown, subject: string): unknown {
  if (!(error instanceof DatabaseFault)) return error;
  if (error.kind === 'unique')
    return new ApiError(
      'UNIQUE_CONFLICT',
      `Records of ${subject} hold equal values; a unique field needs distinct ones.`,
    );
  if (error.kind === 'collision' || error.kind === 'timeout')
    return new ApiError('BUSY', 'The change waited too long for others; try again.', { retryAfter: 1 });
  return error;
}

export async function logged(
  context: DefinitionContext,
  transaction: Transaction,
  name: string,
  tk: string,
): Promise<void> {
  context.trial?.changes.push({ name, tk });
  context.noted?.push({ name, tk });
  const { actor, requestId, by } = context;
  if (by) await context.hooks?.beforeDefinition(name, tk, by, requestId); // the server asks nobody about its own
  const events = { name, resource: name.split('.')[0]!, tks: [tk], actor, requestId, changed: [], by };
  await context.changes.append(transaction, events, isoTime(context.clock.now()));
}

export async function runAll(
  context: DefinitionContext,
  transaction: Transaction,
  statements: readonly Sql[],
): Promise<void> {
  for (const statement of statements) await transaction.run(fixed(context.database.dialect, statement));
}
