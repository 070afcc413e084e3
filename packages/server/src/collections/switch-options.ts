/**
 * Switches the options of a collection: what an option keeps is added to the table, or removed from it. Refuses to remove
 * what something else names, and what holds data unless that is forced.
 */
import { isoTime } from '../base/clock.ts';
import { deleteFields, insertFields } from '../database/catalogue.ts';
import { countRows, countValues, keysWithValue, readColumn } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import { countHistory, deleteHistory } from '../database/history-rows.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { CollectionOptions } from '../protocol/definition.ts';
import { limits } from '../protocol/limits.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { liveDependants } from '../records/dependants.ts';
import { withServerGrant } from '../records/with-grants.ts';
import { destroyRecords } from '../records/write-records.ts';
import { keptNames, type SwitchName, switchNames } from '../schema/collection-options-check.ts';
import { collectionOf } from '../schema/load-registry.ts';
import { type Collection, columnsOf, type Field, makeCollection } from '../schema/registry.ts';
import { runAll } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { keptFields } from './kept-fields.ts';
import type { NewField } from './new-field.ts';
import { refuseNamed } from './permission-names.ts';
import { relationsOn } from './relation-needs.ts';
import { indexChanges } from './replace-indexes.ts';
import { columnDefinition, indexesOf } from './storage.ts';
import { storedFacts } from './stored-facts.ts';
import { requireFreeName } from './system-fields.ts';

/** What is to be switched, planned before the transaction. */
export interface OptionSwitch {
  readonly collection: Collection;
  /** The options as they will be. */
  readonly options: CollectionOptions;
  readonly removed: readonly Field[];
  readonly added: readonly NewField[];
  /** The table is built anew on engines that cannot drop a foreign key in place. */
  readonly rebuilds: boolean;
}

/** @throws ApiError 409 where a name is taken, or where a relation needs a field that would be removed. */
export function planSwitch(
  { registry }: DefinitionContext,
  collection: Collection,
  options: CollectionOptions,
): OptionSwitch {
  const names = new Set(keptNames(options));
  const removed = collection.fields.filter((field) => field.kept && !names.has(field.name));
  const added = keptFields(options, false).filter(({ definition }) => !collection.byName.get(definition.name)?.kept);
  for (const { definition } of added) requireFreeName(collection, definition.name);
  for (const field of removed) {
    const own = new Set(removed.map(({ name }) => `${collection.name}.${name}`));
    const users = relationsOn(collection, field, registry).filter((name) => !own.has(name));
    if (users.length > 0)
      throw new ApiError(
        'DEPENDANTS_EXIST',
        `${collection.name}.${field.name} is used by ${users.join(', ')}; destroy those first.`,
      );
  }
  return { collection, options, removed, added, rebuilds: removed.some(({ references }) => references !== null) };
}

/**
 * Brings fields, columns and indexes to the new options.
 *
 * @param force what would be lost is removed: the trash is emptied, history and values are deleted.
 * @throws ApiError 409 naming what would be lost, or what names a field that would be removed.
 */
export async function switchOptions(
  context: DefinitionContext,
  transaction: Transaction,
  plan: OptionSwitch,
  force: boolean,
): Promise<void> {
  const { collection, removed } = plan;
  await refuseNamed(
    context,
    transaction,
    collection,
    removed.filter((field) => !field.hidden),
  );
  if (turnsOff(plan, 'paranoid')) await refuseLiveDependants(context, transaction, plan);
  if (!force) await refuseLoss(context, transaction, plan);
  if (turnsOff(plan, 'paranoid')) await emptyTrash(context, transaction, plan);
  if (turnsOff(plan, 'logging')) await deleteHistory(context.database, transaction, collection.id);
  await changeStorage(context, transaction, plan);
  transaction.touch('*'); // joins of other collections may see links that they did not see, or the reverse
}

function turnsOff({ collection, options }: OptionSwitch, name: SwitchName): boolean {
  return collection.options[name] && !options[name];
}

/** What switching an option off would lose; null: nothing. */
async function lossOf(
  { database }: DefinitionContext,
  transaction: Transaction,
  { collection }: OptionSwitch,
  name: SwitchName,
): Promise<string | null> {
  const { table, byName, trash } = collection;
  const values = (field: string): Promise<number> =>
    countValues(database, transaction, { table, column: byName.get(field)!.column! });
  if (name === 'timestamps')
    return counted(await countRows(database, transaction, table), [
      'record with timestamps',
      'records with timestamps',
    ]);
  if (name === 'logging')
    return counted(await countHistory(database, transaction, collection.id), ['history entry', 'history entries']);
  if (name === 'paranoid')
    return counted(trash ? await values(trash.deletedAt.name) : 0, [
      'deleted record in the trash',
      'deleted records in the trash',
    ]);
  const most = Math.max(await values('createdById'), await values('updatedById'));
  return counted(most, ['record with an author', 'records with authors']);
}

function counted(count: number, [one, many]: readonly [string, string]): string | null {
  return count === 0 ? null : `${count} ${count === 1 ? one : many}`;
}

async function refuseLoss(context: DefinitionContext, transaction: Transaction, plan: OptionSwitch): Promise<void> {
  const details: Record<string, string> = {};
  for (const name of switchNames.filter((each) => turnsOff(plan, each))) {
    const loss = await lossOf(context, transaction, plan, name);
    if (loss !== null) details[`options.${name}`] = loss;
  }
  if (Object.keys(details).length === 0) return;
  const losses = Object.entries(details).map(([option, loss]) => `"${option}": ${loss}`);
  throw new ApiError(
    'DATA_WOULD_BE_LOST',
    `Switching these options off would delete data of ${plan.collection.name}: ${losses.join('; ')}. Send collections:update with force=true to accept that.`,
    { details },
  );
}

/** Keys of records that a refusal names, of each collection. */
const namedDependants = 5;

/**
 * Emptying the trash destroys no record that is outside of it: one that was restored alone, or made before its parent's foreign key
 * became a cascade, is to be kept from that by whoever switches.
 *
 * @throws ApiError 409 naming the collections, how many records each has, and the first of them to callers who may list them.
 */
async function refuseLiveDependants(
  context: DefinitionContext,
  transaction: Transaction,
  { collection }: OptionSwitch,
): Promise<void> {
  const { table, primaryKey, trash } = collection;
  const { column, type } = trash!.deletedAt;
  const key = { column: primaryKey.column!, storage: primaryKey.type.storage! };
  const place = { table, key, column: column!, storage: type.storage! };
  const records = context.recordContext(transaction);
  const live = new Map<string, Set<unknown>>();
  for await (const piece of readColumn(context.database, transaction, place)) {
    const keys = piece.map((each) => each.key);
    for (const found of await liveDependants(records, transaction, { collection, keys })) {
      const those = live.get(found.collection) ?? new Set();
      live.set(found.collection, those.add(found.key));
    }
  }
  if (live.size === 0) return;
  const details = Object.fromEntries([...live].map(([name, keys]) => [name, named(context, name, [...keys])]));
  const what = Object.entries(details).map(([name, records]) => `${name}: ${records}`);
  throw new ApiError(
    'DEPENDANTS_EXIST',
    `Records outside the trash would be destroyed with the trash of ${collection.name}, also with force=true: ${what.join('; ')}. Restore the records that they depend on, or let them refer to others.`,
    { details },
  );
}

function named({ registry, mayList }: DefinitionContext, name: string, keys: readonly unknown[]): string {
  const count = `${keys.length} ${keys.length === 1 ? 'record' : 'records'}`;
  if (!mayList(name)) return count;
  const first = keys.slice(0, namedDependants).join(', ');
  const more = keys.length > namedDependants ? ', …' : '';
  return `${count} (${registry.get(name).primaryKey.name} ${first}${more})`;
}

/** Destroys what is in the trash as a forced destroy of records does: with events, history, and what depends on it. */
async function emptyTrash(context: DefinitionContext, transaction: Transaction, plan: OptionSwitch): Promise<void> {
  const { collection } = plan;
  const { table, primaryKey, trash } = collection;
  const key = { column: primaryKey.column!, storage: primaryKey.type.storage! };
  const records = context.recordContext(transaction);
  const free = withServerGrant(records, wholeGrant);
  for (;;) {
    const place = { table, key, column: trash!.deletedAt.column! };
    const keys = await keysWithValue(context.database, transaction, place, limits.bulkRecords);
    if (keys.length === 0) return;
    if (plan.rebuilds)
      throw invalidDefinition({
        'options.authors':
          '"authors" cannot be switched off together with "paranoid" and force. Switch "paranoid" off first, then "authors".',
      });
    const request = { ...requestByKeys('destroy', keys), trash: 'with' as const, force: true };
    await destroyRecords(free, collection, request, null, null);
    for (const each of keys) context.trial?.changes.push({ name: `${collection.name}.destroyed`, tk: String(each) });
  }
}

const wholeGrant = { identity: 'emptied trash', rows: null, may: (): boolean => true };

async function changeStorage(
  context: DefinitionContext,
  transaction: Transaction,
  { collection, options, removed, added, rebuilds }: OptionSwitch,
): Promise<void> {
  const { database, registry } = context;
  const { dialect } = database;
  const { table } = collection;
  const ids = removed.map(({ id }) => id);
  await deleteFields(database, transaction, ids);
  const made = await addFields(context, transaction, collection, added);
  const fields = [...collection.fields.filter((field) => !removed.includes(field)), ...made];
  const after = makeCollection({ ...collection, options, fields });
  const { dropped, created } = indexChanges(collection, after);
  const gone = removed.flatMap(({ column }) => column ?? []);
  const columns = columnsOf(after).map((field) => columnDefinition(field, registry));
  await runAll(context, transaction, [
    ...dropped.map(({ name }) => dialect.dropIndex(name)),
    ...(rebuilds ? dialect.dropColumns(table, gone, columns, indexesOf(after)) : dialect.dropPlainColumns(table, gone)),
    // Where the table was rebuilt it has its indexes already.
    ...(rebuilds && !dialect.shared ? [] : created.map((index) => dialect.createIndex(table, index))),
  ]);
}

/** Columns of fields that the server keeps. Records that exist are created and updated at the time of the switch. */
async function addFields(
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
  const key = { id, collectionId: collection.id, name, definition, facts: storedFacts(collection.primaryKey) };
  const stored = rows.map((row, index) => ({ ...row, id: ids[index]! }));
  const made = collectionOf(collection, [key, ...stored]).fields.slice(1);
  for (const field of made) {
    if (field.column === null) continue;
    const column = columnDefinition(field, registry);
    await runAll(context, transaction, dialect.addColumn(collection.table, column, field.notNull ? now : undefined));
    const noted = field.name === 'deletedAt' ? dialect.noteMostlyNull(collection.table, field.column) : null;
    if (noted) await runAll(context, transaction, [noted]);
  }
  return made;
}
