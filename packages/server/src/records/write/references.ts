import type { Transaction } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requireReference } from '../../schema/field-parts.ts';
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

/** Records whose children are searched for. */
export interface ParentRecords {
  readonly collection: Collection;
  readonly keys: readonly unknown[];
}

const noReferences: readonly Reference[] = [];
const referenceCache = new WeakMap<Registry, ReadonlyMap<string, readonly Reference[]>>();

/** Foreign keys that name records of a collection. They are collected once for each snapshot. */
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
  return Map.groupBy(all, ({ field }) => requireReference(field).collection);
}

/** Whether errors may name a foreign key: only to callers who may read it. */
export function mayReadReference({ findGrant }: RecordContext, { child, field }: Reference): boolean {
  return findGrant(child.name, 'get')?.may(field) ?? false;
}

/** Other records still refer to a record. The error names their collection if the caller may read the foreign key. */
export function restrictedDeleteError(context: RecordContext, reference: Reference, includesTrash = false): ApiError {
  const { child, field } = reference;
  if (!mayReadReference(context, reference))
    return new ApiError('DEPENDANTS_EXIST', 'Other records depend on this record; remove or change them first.');
  const trashed =
    includesTrash && child.trash
      ? ', including those in the trash ("withDeleted=true" lists them, "force=true" removes them for good)'
      : '';
  return new ApiError(
    'DEPENDANTS_EXIST',
    `Records of ${child.name} depend on this record by "${field.name}"; remove or change them first${trashed}.`,
  );
}

/** The values by which children name these parents. */
export async function readReferencedValues(
  { database }: RecordContext,
  transaction: Transaction,
  { collection, keys }: ParentRecords,
  foreignKey: Field,
): Promise<readonly unknown[]> {
  const { field } = requireReference(foreignKey);
  if (field === collection.primaryKey.name) return keys;
  const rows = await transaction.run(planReferencedValues(collection, field, keys, database.dialect));
  return rows.map(([value]) => value).filter((value) => value !== null);
}
