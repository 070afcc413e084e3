/** Which foreign key keeps records from being destroyed: the engine refuses, and only PostgreSQL says for which table. */
import { type BoundStatement, bind, type DatabaseFault, type Row } from '../../database/database.ts';
import { limits } from '../../protocol/limits.ts';
import { toPlanContext } from '../record-context.ts';
import { findReferencesTo, type ParentRecords, type Reference, restrictedDeleteError } from './references.ts';
import { planChildKeys, planReferencedValues } from './trash-plan.ts';
import { planKeys } from './write-plan.ts';
import { buildWriteEnvironment, type WriteOperation } from './write-steps.ts';

type RunStatement = (statement: BoundStatement) => Promise<Row[]>;

/**
 * Names the foreign key that a refused destroy met. In a shared transaction of PostgreSQL nothing can be read any more: there
 * the refusal itself names the table.
 *
 * @param key what the destroy was to reach; undefined: what the filter of the request says.
 * @throws ApiError `DEPENDANTS_EXIST` naming the collection, where the caller may read the foreign key. Returns where the dependants
 * are gone by now.
 */
export async function explainRestrictFault(
  operation: WriteOperation,
  key: unknown,
  { table }: DatabaseFault,
): Promise<void> {
  const { context, collection, request, grant } = operation;
  const { database, tx, registry } = context;
  if (tx && database.dialect.faultEndsTransaction) {
    const child = registry.all().find((each) => each.table === table);
    const field = child?.fields.find(({ references }) => references?.onDelete === 'restrict');
    if (child && field) throw restrictedDeleteError(context, { child, field, isJoinKey: false }, true);
    return;
  }
  const run: RunStatement = async (statement) => (tx ? tx.run(statement) : (await database.read([statement]))[0]!);
  const statement = planKeys(request, collection, grant, toPlanContext(context));
  const rows = await run(bind(database.dialect, statement, buildWriteEnvironment(operation, { key })));
  const found = await findRestricting(operation, { collection, keys: rows.map((row) => row[0]) }, run);
  if (found) throw restrictedDeleteError(context, found, true);
}

/** The first foreign key that restricts a record, or one of those that would be destroyed with it; level by level. */
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
      const { onDelete, field: named } = field.references!;
      if (onDelete === 'setNull') continue;
      const isKey = named === collection.primaryKey.name;
      const values = isKey
        ? keys
        : (await run(planReferencedValues(collection, named, keys, dialect))).map((row) => row[0]);
      const nonNullValues = values.filter((value) => value !== null);
      const max = onDelete === 'restrict' ? 1 : limits.maxCascade;
      const children = (await run(planChildKeys(child, field, nonNullValues, max, dialect))).map((row) => row[0]);
      if (children.length > 0 && onDelete === 'restrict') return reference;
      const newKeys = children.filter((each) => !seen.has(`${child.name} ${each}`));
      for (const each of newKeys) seen.add(`${child.name} ${each}`);
      queue.push({ collection: child, keys: newKeys });
    }
  }
  return null;
}
