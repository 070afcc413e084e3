import type { Transaction } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { type Collection, type Field, listColumnFields, type Registry } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import { planReferencedValues } from './trash-plan.ts';

/** A foreign key that names records of a collection. */
export interface Reference {
  readonly child: Collection;
  readonly field: Field;
  /** The child is the join of a many-to-many relation, and this one of its ends. */
  readonly isJoinKey: boolean;
}

/** Records whose children follow them. */
export interface ParentRecords {
  readonly collection: Collection;
  readonly keys: readonly unknown[];
}

const noReferences: readonly Reference[] = [];
const referenceCache = new WeakMap<Registry, ReadonlyMap<string, readonly Reference[]>>();

/** Foreign keys that name records of a collection; found once for each snapshot. */
export function findReferencesTo({ name }: Collection, registry: Registry): readonly Reference[] {
  let all = referenceCache.get(registry);
  if (!all) {
    all = collectReferences(registry);
    referenceCache.set(registry, all);
  }
  return all.get(name) ?? noReferences;
}

function collectReferences(registry: Registry): Map<string, Reference[]> {
  const links = new Set<string>();
  for (const { fields } of registry.all())
    for (const { relation } of fields) {
      const through = relation?.through;
      if (through)
        for (const name of [through.sourceField, through.targetField]) links.add(`${through.collection}.${name}`);
    }
  const all = registry
    .all()
    .flatMap((child) =>
      listColumnFields(child).map((field) => ({ child, field, isJoinKey: links.has(`${child.name}.${field.name}`) })),
    )
    .filter(({ field }) => field.references);
  return Map.groupBy(all, ({ field }) => field.references!.collection);
}

/** Whether a caller may be told that there is such a foreign key: who may not read it learns nothing of it. */
export function mayReadReference({ findGrant }: RecordContext, { child, field }: Reference): boolean {
  return findGrant(child.name, 'get')?.may(field) ?? false;
}

/** A record stays because others refer to it. The collection is named only where the caller may read the foreign key. */
export function restrictedDeleteError(context: RecordContext, reference: Reference, includesTrash = false): ApiError {
  const { child, field } = reference;
  if (!mayReadReference(context, reference))
    return new ApiError('DEPENDANTS_EXIST', 'Other records depend on it; remove or change them first.');
  const trashed =
    includesTrash && child.trash
      ? ', including those in the trash ("withDeleted=true" lists them, "force=true" removes them for good)'
      : '';
  return new ApiError(
    'DEPENDANTS_EXIST',
    `Records of ${child.name} depend on it by "${field.name}"; remove or change them first${trashed}.`,
  );
}

/** The values by which children name these parents. */
export async function readReferencedValues(
  { database }: RecordContext,
  transaction: Transaction,
  { collection, keys }: ParentRecords,
  { references }: Field,
): Promise<readonly unknown[]> {
  if (references!.field === collection.primaryKey.name) return keys;
  const rows = await transaction.run(planReferencedValues(collection, references!.field, keys, database.dialect));
  return rows.map((row) => row[0]).filter((value) => value !== null);
}
