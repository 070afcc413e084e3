import type { Transaction } from '../database/database.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Collection, columnsOf, type Field, type Registry } from '../schema/registry.ts';
import type { RecordContext } from './record-context.ts';
import { planReferenced } from './trash-plan.ts';

/** A foreign key that names records of a collection. */
export interface Reference {
  readonly child: Collection;
  readonly field: Field;
  /** The child is the join of a many-to-many relation, and this one of its ends. */
  readonly link: boolean;
}

/** Records whose children follow them. */
export interface Parents {
  readonly collection: Collection;
  readonly keys: readonly unknown[];
}

const none: readonly Reference[] = [];
const kept = new WeakMap<Registry, ReadonlyMap<string, readonly Reference[]>>();

/** Foreign keys that name records of a collection; found once for each snapshot. */
export function referencesTo({ name }: Collection, registry: Registry): readonly Reference[] {
  let all = kept.get(registry);
  if (!all) {
    all = allReferences(registry);
    kept.set(registry, all);
  }
  return all.get(name) ?? none;
}

function allReferences(registry: Registry): Map<string, Reference[]> {
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
      columnsOf(child).map((field) => ({ child, field, link: links.has(`${child.name}.${field.name}`) })),
    )
    .filter(({ field }) => field.references);
  return Map.groupBy(all, ({ field }) => field.references!.collection);
}

/** Whether a caller may be told that there is such a foreign key: who may not read it learns nothing of it. */
export function mayKnow({ grantOf }: RecordContext, { child, field }: Reference): boolean {
  return grantOf(child.name, 'get')?.may(field) ?? false;
}

/** A record stays because others refer to it. The collection is named only where the caller may read the foreign key. */
export function dependantsExist(context: RecordContext, reference: Reference, trashToo = false): ApiError {
  const { child, field } = reference;
  if (!mayKnow(context, reference))
    return new ApiError('DEPENDANTS_EXIST', 'Other records depend on it; remove or change them first.');
  const trashed =
    trashToo && child.trash
      ? ', including those in the trash ("withDeleted=true" lists them, "force=true" removes them for good)'
      : '';
  return new ApiError(
    'DEPENDANTS_EXIST',
    `Records of ${child.name} depend on it by "${field.name}"; remove or change them first${trashed}.`,
  );
}

/** The values by which children name these parents. */
export async function namesOf(
  { database }: RecordContext,
  transaction: Transaction,
  { collection, keys }: Parents,
  { references }: Field,
): Promise<readonly unknown[]> {
  if (references!.field === collection.primaryKey.name) return keys;
  const rows = await transaction.run(planReferenced(collection, references!.field, keys, database.dialect));
  return rows.map((row) => row[0]).filter((value) => value !== null);
}
