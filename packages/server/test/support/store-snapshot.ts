import type { Application } from '../../src/applications/application.ts';
import { serialiseCollection } from '../../src/collections/serialise-definition.ts';
import { listColumnFields, type Registry } from '../../src/schema/registry.ts';

/**
 * Tables that are not in a registry. Some columns and tables are left out because they change on their own: event
 * cursors, the journal,
 * and stored replies.
 */
const ownTables: readonly (readonly [table: string, columns: readonly string[]])[] = [
  ['_meta', ['version', 'schema_version']],
  ['_collections', ['id', 'name', 'title', 'description', 'options', 'table_name']],
  ['_fields', ['id', 'collection_id', 'name', 'definition', 'facts']],
  ['_history', ['id', 'collection_id', 'tk', 'action', 'changes']],
];
/** Columns that are updated even by refused requests: for example, the expiry of a login moves each time it is used. */
const notedInPassing = new Set(['apiKeys.lastUsedAt', 'logins.lastUsedAt', 'logins.expiresAt']);
/** Queues that background work empties at any time. */
const backgroundQueues = new Set(['mailChecks']);
/** SQLite can join at most 500 SELECTs. */
const tablesAtOnce = 200;

/**
 * Everything that a refused request must not change, as one text: the definitions that this server uses, and every row
 * of every
 * table, including hidden columns and the trash. It is read directly from the store, because each refusal needs two
 * snapshots.
 */
export async function readStoreSnapshot({ database, registry }: Application): Promise<string> {
  const definitions = registry.all().map((collection) => JSON.stringify(serialiseCollection(collection, true)));
  const statements = knownStatements.get(registry) ?? compileStatements(registry, database.multiNode);
  knownStatements.set(registry, statements);
  const rows: string[] = [];
  for (const text of statements) {
    const [found] = await database.read([{ text, values: [] }]);
    rows.push(...found!.map(String));
  }
  return [...definitions, ...rows.sort()].join('\n');
}

/**
 * Cached by registry: each change of a definition creates a new one. Compiling the statements takes as long as running
 * them.
 */
const knownStatements = new WeakMap<Registry, readonly string[]>();

function compileStatements(registry: Registry, isPostgres: boolean): string[] {
  const tables = [
    ...ownTables,
    ...registry
      .all()
      .filter(({ name }) => !backgroundQueues.has(name))
      .map(
        (collection) =>
          [
            collection.table,
            listColumnFields(collection).flatMap(({ name, column }) =>
              notedInPassing.has(`${collection.name}.${name}`) ? [] : [column],
            ),
          ] as const,
      ),
  ];
  const rowText = isPostgres
    ? (columns: readonly string[]) => `ROW(${columns})::text`
    : (columns: readonly string[]) => columns.map((column) => `quote(${column})`).join("||','||");
  const selects = tables.map(
    ([table, columns]) => `SELECT '${table}',${rowText(columns.map((column) => `"${column}"`))} FROM "${table}"`,
  );
  const statements: string[] = [];
  for (let from = 0; from < selects.length; from += tablesAtOnce)
    statements.push(selects.slice(from, from + tablesAtOnce).join(' UNION ALL '));
  return statements;
}
