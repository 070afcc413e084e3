/** Which foreign key keeps records from being destroyed: the engine refuses, and only PostgreSQL says for which table. */
import { type BoundStatement, bind, type DatabaseFault, type Row } from '../database/database.ts';
import { limits } from '../protocol/limits.ts';
import { planContext } from './record-context.ts';
import { dependantsExist, type Parents, type Reference, referencesTo } from './references.ts';
import { planNamed, planReferenced } from './trash-plan.ts';
import { planKeys } from './write-plan.ts';
import { environmentOf, type Target } from './write-steps.ts';

type Run = (statement: BoundStatement) => Promise<Row[]>;

/**
 * Names the foreign key that a refused destroy met. In a shared transaction of PostgreSQL nothing can be read any more: there
 * the refusal itself names the table.
 *
 * @param key what the destroy was to reach; undefined: what the filter of the request says.
 * @throws ApiError `DEPENDANTS_EXIST` naming the collection, where the caller may read the foreign key. Returns where the dependants
 * are gone by now.
 */
export async function tellRestricting(target: Target, key: unknown, { table }: DatabaseFault): Promise<void> {
  const { context, collection, request, grant } = target;
  const { database, inside, registry } = context;
  if (inside && database.dialect.shared) {
    const child = registry.all().find((each) => each.table === table);
    const field = child?.fields.find(({ references }) => references?.onDelete === 'restrict');
    if (child && field) throw dependantsExist(context, { child, field, link: false }, true);
    return;
  }
  const run: Run = async (statement) => (inside ? inside.run(statement) : (await database.read([statement]))[0]!);
  const statement = planKeys(request, collection, grant, planContext(context));
  const rows = await run(bind(database.dialect, statement, environmentOf(target, { key })));
  const found = await firstRestricting(target, { collection, keys: rows.map((row) => row[0]) }, run);
  if (found) throw dependantsExist(context, found, true);
}

/** The first foreign key that restricts a record, or one of those that would be destroyed with it; level by level. */
async function firstRestricting({ context }: Target, first: Parents, run: Run): Promise<Reference | null> {
  const { dialect } = context.database;
  const seen = new Set(first.keys.map((key) => `${first.collection.name} ${key}`));
  const waiting = [first];
  for (let parents = waiting.shift(); parents; parents = waiting.shift()) {
    const { collection, keys } = parents;
    if (keys.length === 0) continue;
    for (const reference of referencesTo(collection, context.registry)) {
      const { child, field } = reference;
      const { onDelete, field: named } = field.references!;
      if (onDelete === 'setNull') continue;
      const isKey = named === collection.primaryKey.name;
      const values = isKey ? keys : (await run(planReferenced(collection, named, keys, dialect))).map((row) => row[0]);
      const known = values.filter((value) => value !== null);
      const most = onDelete === 'restrict' ? 1 : limits.recordsAlong;
      const children = (await run(planNamed(child, field, known, most, dialect))).map((row) => row[0]);
      if (children.length > 0 && onDelete === 'restrict') return reference;
      const news = children.filter((each) => !seen.has(`${child.name} ${each}`));
      for (const each of news) seen.add(`${child.name} ${each}`);
      waiting.push({ collection: child, keys: news });
    }
  }
  return null;
}
