import { countDuplicates } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import type { IndexPlan } from '../database/dialect.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Collection, type Field, requireColumnField } from '../schema/registry.ts';
import { runStatements } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { planFieldIndex, planIndexes } from './storage.ts';

/** The indexes that a change of a collection drops and creates; one that changes its shape is in both lists. */
export interface IndexChanges {
  readonly dropped: readonly IndexPlan[];
  readonly created: readonly IndexPlan[];
}

/** The indexes that a collection needs to drop and to create when it changes. */
export function diffIndexes(before: Collection, after: Collection): IndexChanges {
  const [old, wanted] = [planIndexes(before), planIndexes(after)];
  const shape = (index: IndexPlan): string => JSON.stringify([index.name, index.columns, index.where, index.present]);
  const findMissing = (from: readonly IndexPlan[], in_: readonly IndexPlan[]): readonly IndexPlan[] => {
    const existing = new Set(in_.map(shape));
    return from.filter((index) => !existing.has(shape(index)));
  };
  return { dropped: findMissing(old, wanted), created: findMissing(wanted, old) };
}

/** Drops and creates indexes as the changed collection needs. Its columns already exist. */
export async function replaceIndexes(
  context: DefinitionContext,
  transaction: Transaction,
  before: Collection,
  after: Collection,
): Promise<void> {
  const { dialect } = context.database;
  const { dropped, created } = diffIndexes(before, after);
  const drops = dropped.map(({ name }) => dialect.dropIndex(name));
  const creates = created.map((index) => dialect.createIndex(after.table, index));
  await runStatements(context, transaction, [...drops, ...creates]);
}

/** Refuses to make a field unique if it has equal values. @throws ApiError 409 with the number of repeated values. */
export async function rejectDuplicates(
  { database }: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  field: Field,
): Promise<void> {
  const { column } = requireColumnField(field);
  const where = planFieldIndex(collection, field)?.where ?? null;
  const duplicateCount = await countDuplicates(database, transaction, { table: collection.table, column }, where);
  if (duplicateCount > 0)
    throw new ApiError(
      'UNIQUE_CONFLICT',
      `"${field.name}" cannot become unique: ${duplicateCount} of its values occur in more than one record. Make them distinct first.`,
    );
}
