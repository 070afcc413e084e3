/**
 * Cascades of a destroy: children by `cascade` are deleted with their parents, and children by `setNull` lose their link.
 * The engine's foreign keys do this silently. So the children are collected before the statement, level by level with one
 * statement for each foreign key. Each of them gets its hooks, event and history entry like any other changed record.
 */
import { isoTime } from '../../base/clock.ts';
import { recordEvent } from '../../changes/record-event.ts';
import type { Row, Transaction } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { Grant } from '../../query/grant.ts';
import { requireReference } from '../../schema/field-parts.ts';
import type { Collection, Field, Registry } from '../../schema/registry.ts';
import { type RecordContext, readStamp } from '../record-context.ts';
import { askCascadeHooks } from './before-hooks.ts';
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
import { type BoundWrite, readReachedKeys, type WriteOperation, writeInTransaction } from './write-steps.ts';

/** The server's own logs. Changes to them have no events. */
const logCollections = new Set(['webhookDeliveries', 'applicationErrors']);

/** Foreign keys change children whatever the grants of the caller. */
const cascadeGrant: Grant = { identity: 'cascade', rows: null, may: () => true };

/** Children that change in the same way: they are deleted, or lose the links of the same foreign keys. */
interface CascadeGroup {
  readonly child: Collection;
  /** The foreign keys that are set to null; none: the children are deleted. */
  readonly fields: readonly Field[];
  readonly keys: readonly unknown[];
  /**
   * Keys that the event lists. Deleted children that were in the trash are not among them, because they had their event
   * then.
   */
  readonly reported: readonly unknown[];
  readonly before: States | null;
}

/** A child, and its change. */
interface CascadedRecord {
  readonly child: Collection;
  readonly key: unknown;
  readonly isLive: boolean;
  /** The foreign keys that are set to null; none: the child is deleted. */
  readonly fields: Set<Field>;
}

/** The cascade reaches too many records for the event loop: the write starts again off the event loop. */
class CascadeTooLarge extends Error {}

/** The end of a cascade, with the keys of the records that the write itself has reached. */
export type CascadeEnd = (keys: readonly unknown[]) => Promise<void>;

/**
 * Runs a write whose cascade may be large: first on the event loop, with {@link limits.maxCascadeOnEventLoop}. If it reaches
 * more records, that transaction is rolled back and the write starts again off the event loop, with {@link limits.maxCascade}.
 *
 * @param heavy the write itself may reach many records: it runs off the event loop from the start.
 * @param work gets how many records a cascade may reach.
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
  if (heavy || operation.context.tx)
    return writeInTransaction(operation, withMax(limits.maxCascade), heavy ? 'heavy' : 'several');
  try {
    return await writeInTransaction(operation, withMax(limits.maxCascadeOnEventLoop), 'one');
  } catch (error) {
    if (error instanceof CascadeTooLarge) return writeInTransaction(operation, withMax(limits.maxCascade), 'heavy');
    throw error;
  }
}

/** @throws CascadeTooLarge past the limit of the event loop, or ApiError `LIMIT_EXCEEDED` past {@link limits.maxCascade}. */
export function requireCascadeLimit(context: RecordContext, count: number, max: number, reference: Reference): void {
  if (count > max) throw max < limits.maxCascade ? new CascadeTooLarge() : cascadeLimitError(context, reference);
}

/** Whether destroying records of a collection may change other records that have events. */
export function hasCascades(collection: Collection, registry: Registry): boolean {
  return findReferencesTo(collection, registry).some(isReported);
}

/**
 * Whether a change has an event. If `createdBy` loses a deleted user, there is none, because no client has written the
 * field.
 */
function isReported({ child, field }: Reference): boolean {
  return (
    requireReference(field).onDelete !== 'restrict' &&
    !field.serverManaged &&
    !child.internal &&
    !logCollections.has(child.name)
  );
}

/**
 * Collects what a destroy will cascade to, runs the hooks, and sets to null the links of the children that are not
 * deleted.
 *
 * @returns a function that appends the events and history of the children, once the records are destroyed.
 * @throws ApiError `LIMIT_EXCEEDED` past {@link limits.maxCascade} records, and the refusals of hooks.
 */
export async function prepareCascade(write: Omit<BoundWrite, 'rules' | 'key' | 'match'>): Promise<() => Promise<void>> {
  const { context, collection, transaction, maxCascade } = write;
  if (!hasCascades(collection, context.registry)) return async () => {};
  const keys = await readReachedKeys(write);
  const found = await collectCascade(context, transaction, { collection, keys }, maxCascade);
  const parts: CascadeGroup[] = [];
  for (const group of found) parts.push(await prepareGroup(context, transaction, group));
  return async () => {
    for (const part of parts) await emitGroupEvent(context, transaction, part);
  };
}

/**
 * Records outside the trash that a destroy of these would delete, each once.
 *
 * @throws ApiError `LIMIT_EXCEEDED` past {@link limits.maxCascade} records.
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

/** All children of these records that a destroy would change, each once. */
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
      const values = await readReferencedValues(context, transaction, parents, field);
      const children = { field, values };
      const rows =
        values.length === 0
          ? []
          : await transaction.run(planChildKeys(child, children, max - found.size + 1, context.database.dialect));
      requireCascadeLimit(context, found.size + rows.length, max, reference);
      const deletedHere = deletedKeys.get(child.name) ?? new Map<string, unknown>();
      const newKeys: unknown[] = [];
      for (const [key, live] of rows) {
        const name = `${child.name} ${key}`;
        const isDeleted = requireReference(field).onDelete === 'cascade';
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

function cascadeLimitError(context: RecordContext, reference: Reference): ApiError {
  const { child, field } = reference;
  const cure = mayReadReference(context, reference)
    ? `First destroy records of ${child.name}, or change their "${field.name}".`
    : 'First destroy the records that depend on it.';
  return new ApiError(
    'LIMIT_EXCEEDED',
    `More than ${limits.maxCascade} other records would change with this delete. ${cure}`,
  );
}

/** Groups of children that change in the same way, in the order in which they were found. */
function groupByForeignKeys(found: readonly CascadedRecord[]): CascadedRecord[][] {
  const groups = Map.groupBy(found, ({ child, fields }) => `${child.name} ${[...fields].map(({ id }) => id).sort()}`);
  return [...groups.values()];
}

async function prepareGroup(
  context: RecordContext,
  transaction: Transaction,
  group: readonly CascadedRecord[],
): Promise<CascadeGroup> {
  const [first] = group;
  if (!first) throw new Error('internal error: a cascade group is empty');
  const { child, fields } = first;
  const keys = group.map(({ key }) => key);
  const reported = group.filter(({ isLive }) => isLive || fields.size === 0).map(({ key }) => key);
  const values = Object.fromEntries([...fields].map(({ name }) => [name, null]));
  const action = fields.size === 0 ? 'destroy' : 'update';
  await askCascadeHooks(context, { collection: child, action, keys, values });
  const before = child.options.logging ? await readStates(context, child, transaction, keys) : null;
  if (fields.size > 0) {
    const change = checkUpdate(values, child, cascadeGrant, readStamp(context));
    await transaction.run(planSetNull(child, keys, change.values, context.database.dialect));
  }
  return { child, fields: [...fields], keys, reported, before };
}

async function emitGroupEvent(context: RecordContext, transaction: Transaction, part: CascadeGroup): Promise<void> {
  const { child, fields, keys, reported, before } = part;
  const verb = fields.length === 0 ? 'destroyed' : 'updated';
  const changed = fields.map(({ name }) => name);
  const isAudited = child.system && !child.traits.hasUnauditedCascades;
  const { caller, requestId } = context;
  const event = recordEvent(child.name, verb, reported, { changed, caller, requestId, isAudited });
  await context.changes.append(transaction, event, isoTime(context.clock.now()));
  await writeHistory({ context, collection: child, transaction }, verb, keys, before);
}
