/**
 * What goes along when records are destroyed for good: children by `cascade` fall with them, children by `setNull` lose
 * their link. The engine's foreign keys would do it without a word. Here it is noted before, level by level and with one
 * statement for each foreign key, so that every record is asked about, told of and kept in history like any other change.
 */
import { isoTime } from '../../base/clock.ts';
import { bind, type Row, type Transaction } from '../../database/database.ts';
import type { BindEnvironment } from '../../database/sql.ts';
import type { HookedAction } from '../../extensions/extension.ts';
import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { Grant } from '../../query/grant.ts';
import { isMailResource } from '../../schema/mail-collections.ts';
import type { Collection, Field, Registry } from '../../schema/registry.ts';
import { type RecordContext, readStamp, toPlanContext } from '../record-context.ts';
import { readStates, type States, writeHistory } from './history.ts';
import { checkUpdate } from './record-input.ts';
import {
  findReferencesTo,
  mayReadReference,
  type ParentRecords,
  type Reference,
  readReferencedValues,
} from './references.ts';
import { planChildKeys, planSetNull } from './trash-plan.ts';
import { planKeys } from './write-plan.ts';
import { type WriteOperation, writeInTransaction } from './write-steps.ts';

/** The server's own logs: nothing that happens to them is told anywhere. */
const logCollections = new Set(['webhookDeliveries', 'applicationErrors']);

/** What a foreign key does to its children is no matter of grants. */
const cascadeGrant: Grant = { identity: 'along', rows: null, may: () => true };

/** Children that change alike: they fall, or lose the links of the same foreign keys. */
interface CascadeGroup {
  readonly child: Collection;
  /** The foreign keys that lose their link; none: the children fall. */
  readonly fields: readonly Field[];
  readonly keys: readonly unknown[];
  /** Those outside the trash, which are told of. */
  readonly reported: readonly unknown[];
  readonly before: States | null;
}

/** A child that was found, and what becomes of it. */
interface CascadedRecord {
  readonly child: Collection;
  readonly key: unknown;
  readonly isLive: boolean;
  readonly fields: Set<Field>;
}

/** More goes along than the event loop is to be held for: the destroy begins again beside it. */
class CascadeTooLarge extends Error {}

/**
 * Runs a destroy that may have many dependants: on the event loop where they are few, else beside it.
 *
 * @param heavy the destroy itself may reach many records.
 * @param work is told how many dependants it may have; it throws {@link CascadeTooLarge} past fewer than the most.
 */
export async function inBoundedTransaction(
  operation: WriteOperation,
  heavy: boolean,
  work: (transaction: Transaction, max: number) => Promise<Row[]>,
): Promise<Row[]> {
  const withMax =
    (max: number) =>
    (transaction: Transaction): Promise<Row[]> =>
      work(transaction, max);
  if (heavy || operation.context.tx) return writeInTransaction(operation, withMax(limits.maxCascade), heavy);
  try {
    return await writeInTransaction(operation, withMax(limits.maxCascadeOnEventLoop));
  } catch (error) {
    if (error instanceof CascadeTooLarge) return writeInTransaction(operation, withMax(limits.maxCascade), true);
    throw error;
  }
}

/** @throws CascadeTooLarge, or ApiError 400 where not even the most would do. */
export function requireCascadeLimit(context: RecordContext, count: number, max: number, reference: Reference): void {
  if (count > max) throw max < limits.maxCascade ? new CascadeTooLarge() : cascadeLimitError(context, reference);
}

/** Whether destroying records of a collection may do something to others that is to be told of. */
export function hasCascades(collection: Collection, registry: Registry): boolean {
  return findReferencesTo(collection, registry).some(isReported);
}

/** Who made a record is forgotten along with the user, which changes nothing that the record says. */
function isReported({ child, field }: Reference): boolean {
  return (
    field.references!.onDelete !== 'restrict' &&
    !field.serverManaged &&
    !child.internal &&
    !logCollections.has(child.name)
  );
}

/**
 * Notes what goes along with the records that a destroy is about to reach, and takes the links of those that stay.
 *
 * @param max past so many records it is not done: {@link limits.maxCascade}, or fewer.
 * @returns what tells of it, once the records are destroyed.
 * @throws ApiError 400 past {@link limits.maxCascade} records; what extensions refuse.
 * @throws CascadeTooLarge past fewer.
 */
export async function prepareCascade(
  operation: WriteOperation,
  transaction: Transaction,
  environment: BindEnvironment,
  max: number,
): Promise<() => Promise<void>> {
  const { context, collection, request, grant } = operation;
  if (!hasCascades(collection, context.registry)) return async () => {};
  const plan = planKeys(request, collection, grant, toPlanContext(context));
  const rows = await transaction.run(bind(context.database.dialect, plan, environment));
  const keys = rows.map((row) => row[0]);
  const found = await collectCascade(context, transaction, { collection, keys }, max);
  const parts: CascadeGroup[] = [];
  for (const group of found) parts.push(await prepareGroup(context, transaction, group));
  return async () => {
    for (const part of parts) await emitGroupEvent(context, transaction, part);
  };
}

/**
 * Records outside the trash that would be destroyed along with these, each once.
 *
 * @throws ApiError 400 past {@link limits.maxCascade} dependants.
 */
export async function findLiveCascade(
  context: RecordContext,
  transaction: Transaction,
  parents: ParentRecords,
): Promise<{ readonly collection: string; readonly key: unknown }[]> {
  if (!hasCascades(parents.collection, context.registry)) return [];
  const found = await collectCascade(context, transaction, parents, limits.maxCascade);
  return found
    .flat()
    .filter(({ isLive, fields }) => isLive && fields.size === 0)
    .map(({ child, key }) => ({ collection: child.name, key }));
}

/** All that hangs on these records, each child once. */
async function collectCascade(
  context: RecordContext,
  transaction: Transaction,
  first: ParentRecords,
  max: number,
): Promise<CascadedRecord[][]> {
  const deletedKeys = new Map([[first.collection.name, new Map(first.keys.map((key) => [String(key), key]))]]);
  const found = new Map<string, CascadedRecord>();
  const queue: ParentRecords[] = [first];
  for (let parents = queue.shift(); parents; parents = queue.shift()) {
    for (const reference of findReferencesTo(parents.collection, context.registry).filter(isReported)) {
      const { child, field } = reference;
      const rows = await findChildren(context, transaction, parents, reference, max - found.size);
      requireCascadeLimit(context, found.size + rows.length, max, reference);
      const deletedHere = deletedKeys.get(child.name) ?? new Map<string, unknown>();
      const newKeys: unknown[] = [];
      for (const [key, live] of rows) {
        const name = `${child.name} ${key}`;
        const isDeleted = field.references!.onDelete === 'cascade';
        if (deletedHere.has(String(key))) continue;
        const existing = found.get(name);
        if (!isDeleted && existing) existing.fields.add(field);
        else found.set(name, { child, key, isLive: Boolean(live), fields: new Set(isDeleted ? [] : [field]) });
        if (!isDeleted) continue;
        deletedHere.set(String(key), key);
        newKeys.push(key);
      }
      deletedKeys.set(child.name, deletedHere);
      if (newKeys.length > 0) queue.push({ collection: child, keys: newKeys });
    }
  }
  return groupByForeignKeys([...found.values()]);
}

async function findChildren(
  context: RecordContext,
  transaction: Transaction,
  parents: ParentRecords,
  { child, field }: Reference,
  max: number,
): Promise<readonly (readonly unknown[])[]> {
  const values = await readReferencedValues(context, transaction, parents, field);
  if (values.length === 0) return [];
  return transaction.run(planChildKeys(child, field, values, max + 1, context.database.dialect));
}

function cascadeLimitError(context: RecordContext, reference: Reference): ApiError {
  const { child, field } = reference;
  const cure = mayReadReference(context, reference)
    ? `first destroy records of ${child.name}, or change their "${field.name}"`
    : 'first have the records destroyed that depend on it';
  return new ApiError('LIMIT_EXCEEDED', `More than ${limits.maxCascade} records would go along; ${cure}.`);
}

/** In the order in which they were found. */
function groupByForeignKeys(found: readonly CascadedRecord[]): CascadedRecord[][] {
  const groups = Map.groupBy(found, ({ child, fields }) => `${child.name} ${[...fields].map(({ id }) => id).sort()}`);
  return [...groups.values()];
}

async function prepareGroup(
  context: RecordContext,
  transaction: Transaction,
  group: readonly CascadedRecord[],
): Promise<CascadeGroup> {
  const { child, fields } = group[0]!;
  const keys = group.map(({ key }) => key);
  const reported = group.filter(({ isLive }) => isLive || fields.size === 0).map(({ key }) => key);
  const values = Object.fromEntries([...fields].map(({ name }) => [name, null]));
  await runBeforeHooks(context, child, fields.size === 0 ? 'destroy' : 'update', keys, values);
  const before = child.options.logging ? await readStates(context, child, transaction, keys) : null;
  if (fields.size > 0) {
    const change = checkUpdate(values, child, cascadeGrant, readStamp(context));
    await transaction.run(planSetNull(child, keys, change.values, context.database.dialect));
  }
  return { child, fields: [...fields], keys, reported, before };
}

/** Extensions may refuse what goes along with another record; other values than these it cannot get. */
export async function runBeforeHooks(
  { hooks, caller, requestId }: RecordContext,
  { name, system }: Collection,
  action: HookedAction,
  keys: readonly unknown[],
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (!hooks?.hasBeforeHook(name, system)) return;
  for (const key of keys) await hooks.before({ collection: name, action, key, values, caller, requestId }, system);
}

async function emitGroupEvent(context: RecordContext, transaction: Transaction, part: CascadeGroup): Promise<void> {
  const { child, fields, keys, reported, before } = part;
  const verb = fields.length === 0 ? 'destroyed' : 'updated';
  const event = {
    name: `${child.name}.${verb}`,
    resource: child.name,
    keys: reported.map(String),
    actor: formatActor(context.caller),
    requestId: context.requestId,
    changed: fields.map(({ name }) => name),
    by: child.system && !isMailResource(child.name) ? context.caller : null,
  };
  await context.changes.append(transaction, event, isoTime(context.clock.now()));
  await writeHistory({ context, collection: child }, transaction, verb, keys, before);
}
