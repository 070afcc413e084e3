/**
 * The parts of `main` that describe the server and not the data of `main`: which applications exist with which stores, to which application
 * a token belongs, and the list of backups. A restored `main` gets those of the replaced one.
 */

interface ListTable {
  readonly table: string;
  readonly key: string;
  /** Columns that are generated again. */
  readonly without: readonly string[];
  readonly isReplaced: boolean;
}

const tables: readonly ListTable[] = [
  // Rows are updated, because foreign keys of other tables may refer to them.
  { table: 'applications', key: 'name', without: [], isReplaced: false },
  { table: '"applicationErrors"', key: 'id', without: ['id'], isReplaced: true },
  { table: '"keyHomes"', key: '"tokenHash"', without: [], isReplaced: true },
  { table: '_backups', key: 'id', without: [], isReplaced: true },
];

/** A table of a store, and the columns that both stores have and that can be written. */
export type ReadColumns = (table: string) => Promise<readonly string[]>;

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * The statements that copy the lists from one store to another.
 *
 * @param from the schema of the present store, as it is written in SQL. @param to that of the restored store.
 * @param readColumns gets the name of a table without quotes.
 */
export async function compileListCopies(from: string, to: string, readColumns: ReadColumns): Promise<string[]> {
  const statements: string[] = [];
  // Stores are unique: one may belong to another application now.
  statements.push(`UPDATE ${to}.applications SET store=NULL`);
  for (const { table, key, without, isReplaced } of tables) {
    const found = await readColumns(table.replaceAll('"', ''));
    const columns = found.filter((name) => !without.includes(name)).map(quote);
    const list = columns.join(',');
    const others = columns.filter((name) => name !== quote(key.replaceAll('"', '')));
    const isMissing = isReplaced ? 'true' : `${key} NOT IN (SELECT ${key} FROM ${from}.${table})`;
    statements.push(`DELETE FROM ${to}.${table} WHERE ${isMissing}`);
    const update = isReplaced
      ? ''
      : ` ON CONFLICT (${key}) DO UPDATE SET ${others.map((name) => `${name}=excluded.${name}`).join(',')}`;
    statements.push(
      `INSERT INTO ${to}.${table} (${list}) SELECT ${list} FROM ${from}.${table} WHERE true ORDER BY ${key}${update}`,
    );
  }
  // The owner becomes the first administrator of an application that was never started.
  statements.push(`UPDATE ${to}.applications SET "ownerId"=NULL WHERE "ownerId" NOT IN (SELECT id FROM ${to}.users)`);
  return statements;
}
