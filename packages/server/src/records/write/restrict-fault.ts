/** Which foreign key keeps records from being destroyed. The engine refuses the delete; only PostgreSQL names the table. */
import { type BoundStatement, bind, type DatabaseFault, type Row } from '../../database/database.ts';
import { limits } from '../../protocol/limits.ts';
import { requireReference } from '../../schema/field-parts.ts';
import { runUntranslated } from './reference-check.ts';
import { findReferencesTo, type ParentRecords, type Reference, restrictedDeleteError } from './references.ts';
import { planChildKeys, planReferencedValues } from './trash-plan.ts';
import { planKeys } from './write-plan.ts';
import { buildWriteEnvironment, type WriteOperation } from './write-steps.ts';

type RunStatement = (statement: BoundStatement) => Promise<Row[]>;

/**
 * Names the foreign key that kept a record from being destroyed. PostgreSQL runs no statement in a transaction after a
 * fault; there the fault itself names the table. Returns if the records that depended on it are deleted by now.
 *
 * @throws ApiError `DEPENDANTS_EXIST`, naming the collection if the caller may read the foreign key.
 */
export async function explainRestrictFault(operation: WriteOperation, { table }: DatabaseFault): Promise<void> {
  const { context, collection, key } = operation;
  const { database, tx, registry } = context;
  if (tx && database.dialect.faultEndsTransaction) {
    const child = registry.all().find((each) => each.table === table);
    const field = child?.fields.find(({ references }) => references?.onDelete === 'restrict');
    if (child && field) throw restrictedDeleteError(context, { child, field, isJoinKey: false }, true);
    return;
  }
  const run: RunStatement = (statement) => runUntranslated(context, statement);
  const rows = await run(bind(database.dialect, planKeys(operation), buildWriteEnvironment(operation, { key })));
  const found = await findRestricting(operation, { collection, keys: rows.map((row) => row[0]) }, run);
  if (found) throw restrictedDeleteError(context, found, true);
}

/** The first foreign key by `restrict` to one of these records, or to a record that a cascade would delete; level by level. */
async function findRestricting(
  { context }: WriteOperation,
  first: ParentRecords,
  run: RunStatement,
): Promise<Reference | null> {
  const { dialect } = context.database;
  const seen = new Set(first.keys.map((key) => `${first.collection.name} ${key}`));
  const queue = [first];
  for (let parents = queue.shift(); parents; parents = queue.shift()) {
    const { collection, keys } = parents;
    if (keys.length === 0) continue;
    for (const reference of findReferencesTo(collection, context.registry)) {
      const { child, field } = reference;
      const { onDelete, field: named } = requireReference(field);
      if (onDelete === 'setNull') continue;
      const isKey = named === collection.primaryKey.name;
      const values = isKey
        ? keys
        : (await run(planReferencedValues(collection, named, keys, dialect))).map((row) => row[0]);
      const nonNullValues = values.filter((value) => value !== null);
      const max = onDelete === 'restrict' ? 1 : limits.maxCascade;
      const children = (await run(planChildKeys(child, { field, values: nonNullValues }, max, dialect))).map(
        (row) => row[0],
      );
      if (children.length > 0 && onDelete === 'restrict') return reference;
      const newKeys = children.filter((each) => !seen.has(`${child.name} ${each}`));
      for (const each of newKeys) seen.add(`${child.name} ${each}`);
      queue.push({ collection: child, keys: newKeys });
    }
  }
  return null;
}
