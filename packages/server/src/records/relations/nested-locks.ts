/**
 * The locks of the rules of records that a write reaches through relations: nested values that change existing records, and links whose
 * foreign key other records have. Such a transaction must begin with the locks, see `RecordRules.findLockKeys`.
 */
import { isObject } from '../../protocol/json-text.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import { getRules } from '../system/system-rules.ts';
import { findWriteLocks } from '../write/write-records.ts';
import { isNested } from './nested-check.ts';
import type { RecordRelation } from './related-parent.ts';

/** A write with nested values. */
interface NestedWrite {
  readonly collection: Collection;
  /** One body or several, as the client sent them. */
  readonly body: unknown;
  /** Paths of relations whose existing records may change. */
  readonly mayUpdate: readonly string[];
}

/**
 * The locks for the existing records that nested values may change. Which ones these are is only known when they are read, so the locks
 * are those for any records of the collections that are reached.
 *
 *     await findNestedLocks(context, tickets, request, { id: 1, mails: [{ id: 5, read: true }] }); // ['mail 3']
 */
export async function findNestedLocks(
  context: RecordContext,
  collection: Collection,
  { updateAssociationValues: mayUpdate }: Pick<RecordRequest, 'updateAssociationValues'>,
  body: unknown,
): Promise<readonly string[]> {
  const targets = new Set<Collection>();
  collectChanged(context, { collection, body, mayUpdate }, targets);
  return findLocks(context, targets);
}

/** The locks for the records whose foreign key changes with the links of a record. */
export function findLinkLocks(
  context: RecordContext,
  { source, target, relation, key }: Pick<RecordRelation, 'source' | 'target' | 'relation' | 'key'>,
): Promise<readonly string[]> {
  if (relation.kind === 'belongsTo') return findWriteLocks(context, getRules(source), { filterByTk: key });
  return relation.through ? Promise.resolve([]) : findLocks(context, [target]);
}

async function findLocks(context: RecordContext, targets: Iterable<Collection>): Promise<readonly string[]> {
  const locks: string[] = [];
  for (const target of targets) locks.push(...(await findWriteLocks(context, getRules(target), {})));
  return locks;
}

/** The depth is limited, because the values were parsed and their depth was checked. */
function collectChanged(context: RecordContext, write: NestedWrite, targets: Set<Collection>): void {
  const { collection, body, mayUpdate } = write;
  for (const each of [body].flat()) {
    if (!isObject(each)) continue;
    for (const [name, value] of Object.entries(each)) {
      const field = collection.byName.get(name);
      if (!isNested(field, value)) continue;
      const { kind, through, target: targetName } = field.relation;
      const target = context.registry.find(targetName);
      if (!target) continue;
      const hasForeignKey = kind !== 'belongsTo' && !through;
      const mayChange = mayUpdate.includes(name) && [value].flat().some(isObject);
      if (hasForeignKey || mayChange) targets.add(target);
      const prefix = `${name}.`;
      const deeper = mayUpdate.flatMap((path) => (path.startsWith(prefix) ? [path.slice(prefix.length)] : []));
      collectChanged(context, { collection: target, body: value, mayUpdate: deeper }, targets);
    }
  }
}
