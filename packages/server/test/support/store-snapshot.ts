import type { Application } from '../../src/applications/application.ts';
import { serialiseCollection } from '../../src/collections/serialise-definition.ts';
import { listColumnFields, type Registry } from '../../src/schema/registry.ts';

/** Tables that stand in no registry. What is left out moves by itself: the log's cursors, the journal, kept replies. */
const ownTables: readonly (readonly [table: string, columns: readonly string[]])[] = [
  ['_meta', ['version', 'schema_version']],
  ['_collections', ['id', 'name', 'title', 'description', 'options', 'table_name']],
  ['_fields', ['id', 'collection_id', 'name', 'definition', 'facts']],
  ['_history', ['id', 'collection_id', 'tk', 'action', 'changes']],
];
/** Noted in passing, whatever becomes of the request: a login slides on as it is used. */
const notedInPassing = new Set(['apiKeys.lastUsedAt', 'logins.lastUsedAt', 'logins.expiresAt']);
/** Queues that background work empties whenever it gets to them. */
const backgroundQueues = new Set(['mailChecks']);
/** SQLite joins 500 at most. */
const tablesAtOnce = 200;

/**
 * Everything that a refused request must leave as it was, as one text: the definitions that this server goes by, and every
 * row of every table, hidden columns and the trash included. Read past the wire: a refusal takes two of them.
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

/** Each change of a definition makes a new registry. Compiling the statements takes as long as running them. */
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
