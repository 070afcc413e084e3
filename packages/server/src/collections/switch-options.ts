/**
 * Switches options of a collection on or off, and adds or removes the columns and data that belong to them. It refuses to
 * remove fields that something else refers to, and to delete data unless that is forced.
 */
import { isoTime } from '../base/clock.ts';
import { deleteFields, insertFields } from '../database/catalogue.ts';
import { countRows, countValues, readColumn, readKeysWithValue } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import { countHistory, deleteHistory } from '../database/history-rows.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { CollectionOptions } from '../protocol/definition.ts';
import { limits } from '../protocol/limits.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { withServerGrant } from '../records/with-grants.ts';
import { findLiveCascade } from '../records/write/cascade.ts';
import { destroyRecords } from '../records/write/write-records.ts';
import { listServerManagedFields, type SwitchName, switchNames } from '../schema/collection-options-check.ts';
import { toCollection } from '../schema/load-registry.ts';
import { type Collection, type Field, getColumnField, listColumnFields, makeCollection } from '../schema/registry.ts';
import { runStatements } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { findDependentRelations } from './dependent-relations.ts';
import { toKeyColumn } from './field-values.ts';
import type { NewField } from './new-field.ts';
import { rejectNamedFields } from './permission-names.ts';
import { diffIndexes } from './replace-indexes.ts';
import { buildServerManagedFields } from './server-managed-fields.ts';
import { planIndexes, toColumnDefinition } from './storage.ts';
import { toStoredFacts } from './stored-facts.ts';
import { requireFreeName } from './system-fields.ts';

/** A planned switch of options. It is planned before the transaction. */
export interface OptionSwitch {
  readonly collection: Collection;
  /** The new options. */
  readonly options: CollectionOptions;
  readonly removed: readonly Field[];
  readonly added: readonly NewField[];
  /** Whether the table is rebuilt on engines that cannot drop a foreign key in place. */
  readonly needsRebuild: boolean;
}

/**
 * Plans a switch of options.
 *
 * @throws ApiError 409 if a name is taken, or if a relation needs a field that would be removed.
 */
export function planOptionSwitch(
  { registry }: DefinitionContext,
  collection: Collection,
  options: CollectionOptions,
): OptionSwitch {
  const names = new Set(listServerManagedFields(options));
  const removed = collection.fields.filter((field) => field.serverManaged && !names.has(field.name));
  const added = buildServerManagedFields(options, false).filter(
    ({ definition }) => !collection.byName.get(definition.name)?.serverManaged,
  );
  for (const { definition } of added) requireFreeName(collection, definition.name);
  for (const field of removed) {
    const removedNames = new Set(removed.map(({ name }) => `${collection.name}.${name}`));
    const users = findDependentRelations(collection, field, registry).filter((name) => !removedNames.has(name));
    if (users.length > 0)
      throw new ApiError(
        'DEPENDANTS_EXIST',
        `"${field.name}" of "${collection.name}" is used by ${users.join(', ')}. Destroy these first.`,
      );
  }
  return { collection, options, removed, added, needsRebuild: removed.some(({ references }) => references !== null) };
}

/**
 * Changes fields, columns and indexes to match the new options.
 *
 * @param force deletes the data of the options: the trash is emptied, history and values are deleted.
 * @throws ApiError 409 naming the data that would be lost, or what refers to a field that would be removed.
 */
export async function switchOptions(
  context: DefinitionContext,
  transaction: Transaction,
  plan: OptionSwitch,
  force: boolean,
): Promise<void> {
  const { collection, removed } = plan;
  await rejectNamedFields(
    context,
    transaction,
    collection,
    removed.filter((field) => !field.hidden),
  );
  if (isTurnedOff(plan, 'paranoid')) await rejectLiveDependents(context, transaction, plan);
  if (!force) await rejectDataLoss(context, transaction, plan);
  if (isTurnedOff(plan, 'paranoid')) await emptyTrash(context, transaction, plan);
  if (isTurnedOff(plan, 'logging')) await deleteHistory(context.database, transaction, collection.id);
  if (removed.length > 0) await context.keepDropped?.(transaction, { collection, fields: removed });
  await applyStorageChange(context, transaction, plan);
  transaction.touch('*'); // the links that are visible in joins of other collections may change
}

function isTurnedOff({ collection, options }: OptionSwitch, name: SwitchName): boolean {
  return collection.options[name] && !options[name];
}

/** The data that would be lost if an option is switched off; null: none. */
async function describeLoss(
  { database }: DefinitionContext,
  transaction: Transaction,
  { collection }: OptionSwitch,
  name: SwitchName,
): Promise<string | null> {
  const { table, trash } = collection;
  const countIn = (field: string): Promise<number> =>
    countValues(database, transaction, { table, column: getColumnField(collection, field).column });
  if (name === 'timestamps')
    return describeCount(await countRows(database, transaction, table), [
      'record with timestamps',
      'records with timestamps',
    ]);
  if (name === 'logging')
    return describeCount(await countHistory(database, transaction, collection.id), [
      'history entry',
      'history entries',
    ]);
  if (name === 'paranoid')
    return describeCount(trash ? await countIn(trash.deletedAt.name) : 0, [
      'deleted record in the trash',
      'deleted records in the trash',
    ]);
  const authoredCount = Math.max(await countIn('createdById'), await countIn('updatedById'));
  return describeCount(authoredCount, ['record with an author', 'records with authors']);
}

function describeCount(count: number, [singular, plural]: readonly [string, string]): string | null {
  return count === 0 ? null : `${count} ${count === 1 ? singular : plural}`;
}

async function rejectDataLoss(context: DefinitionContext, transaction: Transaction, plan: OptionSwitch): Promise<void> {
  const details: Record<string, string> = {};
  for (const name of switchNames.filter((each) => isTurnedOff(plan, each))) {
    const loss = await describeLoss(context, transaction, plan, name);
    if (loss !== null) details[`options.${name}`] = loss;
  }
  if (Object.keys(details).length === 0) return;
  const losses = Object.entries(details).map(([option, loss]) => `"${option}": ${loss}`);
  throw new ApiError(
    'DATA_WOULD_BE_LOST',
    `Switching these options off would delete data of "${plan.collection.name}": ${losses.join('; ')}. Send collections:update with force=true to accept this.`,
    { details },
  );
}

/** Maximum number of keys of a collection that a refusal names. */
const maxReportedDependents = 5;

/**
 * Refuses to empty the trash if that would cascade to records outside the trash: records that were restored without their
 * parent, or created before the foreign key to the parent had a cascade.
 *
 * @throws ApiError 409 naming the collections, the number of such records, and the first ones if the caller may list them.
 */
async function rejectLiveDependents(
  context: DefinitionContext,
  transaction: Transaction,
  { collection }: OptionSwitch,
): Promise<void> {
  const { table, primaryKey, trash } = collection;
  if (trash === null) return;
  const { column, type } = trash.deletedAt;
  const trashColumn = { table, key: toKeyColumn(primaryKey), column, storage: type.storage };
  const recordContext = context.recordContext(transaction);
  const live = new Map<string, Set<unknown>>();
  for await (const batch of readColumn(context.database, transaction, trashColumn)) {
    const keys = batch.map((each) => each.key);
    for (const found of await findLiveCascade(recordContext, transaction, { collection, keys })) {
      const dependentKeys = live.get(found.collection) ?? new Set();
      live.set(found.collection, dependentKeys.add(found.key));
    }
  }
  if (live.size === 0) return;
  const details = Object.fromEntries(
    [...live].map(([name, keys]) => [name, describeRecords(context, name, [...keys])]),
  );
  const summaries = Object.entries(details).map(([name, records]) => `${name}: ${records}`);
  throw new ApiError(
    'DEPENDANTS_EXIST',
    `Emptying the trash of "${collection.name}" would also delete records outside it, even with force=true: ${summaries.join('; ')}. Restore the records that they refer to, or change these references.`,
    { details },
  );
}

function describeRecords({ registry, mayList }: DefinitionContext, name: string, keys: readonly unknown[]): string {
  const count = `${keys.length} ${keys.length === 1 ? 'record' : 'records'}`;
  if (!mayList(name)) return count;
  const first = keys.slice(0, maxReportedDependents).join(', ');
  const more = keys.length > maxReportedDependents ? ', …' : '';
  return `${count} (${registry.get(name).primaryKey.name} ${first}${more})`;
}

/** Destroys all records in the trash, like a forced destroy: with events, history and cascades. */
async function emptyTrash(context: DefinitionContext, transaction: Transaction, plan: OptionSwitch): Promise<void> {
  const { collection } = plan;
  const { table, primaryKey, trash } = collection;
  if (trash === null) return;
  const trashColumn = { table, key: toKeyColumn(primaryKey), column: trash.deletedAt.column };
  const recordContext = context.recordContext(transaction);
  const serverContext = withServerGrant(recordContext, fullGrant);
  for (;;) {
    const keys = await readKeysWithValue(context.database, transaction, trashColumn, limits.bulkRecords);
    if (keys.length === 0) return;
    if (plan.needsRebuild)
      throw invalidDefinition({
        'options.authors':
          '"authors" cannot be switched off together with "paranoid" and force. Switch "paranoid" off first, then "authors".',
      });
    const request = { ...requestByKeys('destroy', keys), trash: 'with' as const, force: true };
    await destroyRecords(serverContext, collection, request, { rules: null });
    for (const each of keys) context.dryRun?.changes.push({ name: `${collection.name}.destroyed`, tk: String(each) });
  }
}

const fullGrant = { identity: 'emptied trash', rows: null, may: (): boolean => true };

async function applyStorageChange(
  context: DefinitionContext,
  transaction: Transaction,
  { collection, options, removed, added, needsRebuild }: OptionSwitch,
): Promise<void> {
  const { database, registry } = context;
  const { dialect } = database;
  const { table } = collection;
  const ids = removed.map(({ id }) => id);
  await deleteFields(database, transaction, ids);
  const newFields = await addServerManagedFields(context, transaction, collection, added);
  const fields = [...collection.fields.filter((field) => !removed.includes(field)), ...newFields];
  const after = makeCollection({ ...collection, options, fields });
  const { dropped, created } = diffIndexes(collection, after);
  const droppedColumns = removed.flatMap(({ column }) => column ?? []);
  const columns = listColumnFields(after).map((field) => toColumnDefinition(field, registry));
  await runStatements(context, transaction, [
    ...dropped.map(({ name }) => dialect.dropIndex(name)),
    ...(needsRebuild
      ? dialect.dropColumns(table, droppedColumns, columns, planIndexes(after))
      : dialect.dropPlainColumns(table, droppedColumns)),
    // A rebuilt table already has its indexes.
    ...(needsRebuild && dialect.rebuildsTables ? [] : created.map((index) => dialect.createIndex(table, index))),
  ]);
}

/** Adds the columns of server-managed fields. Existing records get the time of the switch as their timestamps. */
async function addServerManagedFields(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  added: readonly NewField[],
): Promise<Field[]> {
  const { database, registry, clock } = context;
  const { dialect } = database;
  const now = isoTime(clock.now());
  const rows = added.map(({ definition, facts }) => ({
    collectionId: collection.id,
    name: definition.name,
    definition,
    facts,
  }));
  const ids = rows.length === 0 ? [] : await insertFields(database, transaction, rows);
  const { id, name, definition } = collection.primaryKey;
  const key = { id, collectionId: collection.id, name, definition, facts: toStoredFacts(collection.primaryKey) };
  const stored = rows.map((row, index) => ({ ...row, id: ids[index]! }));
  const newFields = toCollection(collection, [key, ...stored]).fields.slice(1);
  for (const field of newFields) {
    if (field.column === null) continue;
    const column = toColumnDefinition(field, registry);
    await runStatements(
      context,
      transaction,
      dialect.addColumn(collection.table, column, field.notNull ? now : undefined),
    );
    const mostlyNullStatement =
      field.name === 'deletedAt' ? dialect.noteMostlyNull(collection.table, field.column) : null;
    if (mostlyNullStatement) await runStatements(context, transaction, [mostlyNullStatement]);
  }
  return newFields;
}
