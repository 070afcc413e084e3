/** The schema of an application in PostgreSQL, as a move reads and builds it. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Storage } from '../../schema/field-type.ts';
import { auditTables, createAuditStatements } from '../audit-tables.ts';
import { type BoundStatement, bindFixed, type Row, type Transaction } from '../database.ts';
import { indexedEmails } from '../mail/index-rows.ts';
import type { MovedVersions, MoveReader, MoveTarget, NewTable, RowChanges } from '../move/move-stores.ts';
import {
  chooseBatchSize,
  isInRange,
  type KeyRange,
  type MovedColumn,
  type MovedRow,
  type MovedTable,
  toDoubleText,
  wholeTable,
} from '../move/moved-table.ts';
import { identifier, literal, Sql } from '../sql.ts';
import type { ConnectionBudget } from './connection-budget.ts';
import type { PostgresClient } from './postgres-client.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { lowestTransaction } from './postgres-event-log.ts';
import { toPostgresFault } from './postgres-fault.ts';
import { runQuery } from './run-query.ts';
import { connectForCopies } from './schema-snapshot.ts';
import { setForCopies } from './table-copy.ts';

export interface PostgresMoveLocation {
  readonly url: string;
  readonly budget: ConnectionBudget;
  readonly schema: string;
}

export const beginSnapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const firstEvents = `${lowestTransaction}.`;

/** A column as text that is equal on every engine. Doubles are converted by {@link toDoubleText}. */
function selectText({ name, storage, position }: MovedColumn, isTarget: boolean): string {
  const column = identifier(name);
  if (position) return selectPosition(column, isTarget);
  if (storage === 'boolean') return `CASE WHEN ${column} THEN '1' WHEN NOT ${column} THEN '0' END`;
  if (storage === 'datetime') return postgresDialect.scalar(storage, new Sql([column])).parts.join('');
  return `${column}::text`;
}

/**
 * A position in the event log as `0.<id>`, as an engine with one writer has it. Events after a position of a log that is ordered by
 * transactions need not have larger ids, so the first of them decides: some webhook messages may be sent again, none is lost.
 */
function selectPosition(column: string, isTarget: boolean): string {
  if (isTarget) return `'0.'||split_part(${column},'.',2)`;
  const isLater = `CASE WHEN strpos(${column},':')>0 THEN NOT pg_visible_in_snapshot(e.xid,nullif(${column},'')::pg_snapshot)
ELSE (e.xid,e.id)>(split_part(${column},'.',1)::xid8,split_part(${column},'.',2)::bigint) END`;
  const id = `coalesce((SELECT min(e.id)-1 FROM _events e WHERE ${isLater}),(SELECT max(id) FROM _events),0)`;
  return `CASE WHEN ${column} IS NOT NULL THEN '0.'||${id} END`;
}

/** Reads a schema while servers may write it. */
export class PostgresMoveReader implements MoveReader {
  protected readonly reader: PostgresClient;
  readonly #isTarget: boolean;

  constructor(reader: PostgresClient, isTarget = false) {
    this.reader = reader;
    this.#isTarget = isTarget;
  }

  /** One cursor reads the table as of one moment. */
  async *rows(moved: MovedTable, range: KeyRange = wholeTable): AsyncGenerator<readonly MovedRow[]> {
    const { table, columns, key } = moved;
    if (!(await hasPostgresTable(this.reader, table))) return;
    const list = this.#selectList(columns);
    const order = key.map(orderBy).join(',');
    await this.beginRead();
    try {
      await runQuery(
        this.reader,
        `DECLARE moved NO SCROLL CURSOR FOR SELECT ${list} FROM ${identifier(table)}${selectRange(moved, range)} ORDER BY ${order}`,
      );
      // A key of several columns is compared here.
      const isFiltered = range !== wholeTable && key.length > 1;
      for (let limit = 100; ; ) {
        const rows = await this.#fetch(columns, limit);
        if (rows.length > 0) yield isFiltered ? rows.filter((row) => isInRange(moved, row, range)) : rows;
        if (rows.length < limit) return;
        limit = chooseBatchSize(rows);
      }
    } finally {
      await this.endRead();
    }
  }

  /** The columns have their own names, because the rows are ordered by the columns and not by their texts. */
  #selectList(columns: readonly MovedColumn[]): string {
    return columns.map((each, index) => `${selectText(each, this.#isTarget)} AS c${index}`).join(',');
  }

  protected async beginRead(): Promise<void> {
    await runQuery(this.reader, beginSnapshot);
  }

  protected async endRead(): Promise<void> {
    await runQuery(this.reader, 'ROLLBACK');
  }

  rowsOf(table: MovedTable, keys: readonly string[]): Promise<MovedRow[]> {
    return this.selectRows(this.reader, table, joinKeys(table, keys));
  }

  protected selectRows(
    client: PostgresClient,
    { table, columns, key }: MovedTable,
    { join, values }: KeyJoin,
  ): Promise<MovedRow[]> {
    const list = this.#selectList(columns);
    const text = `SELECT ${list} FROM ${identifier(table)} ${join} ORDER BY ${key.map(orderBy).join(',')}`;
    return queryRows(client, columns, { text, values: [...values] });
  }

  async #fetch(columns: readonly MovedColumn[], limit: number): Promise<MovedRow[]> {
    return queryRows(this.reader, columns, { text: `FETCH ${limit} FROM moved` });
  }

  async versions(): Promise<MovedVersions> {
    const [found] = await runQuery<{ version: string; schema: string; store: number | null }>(
      this.reader,
      'SELECT version::text,schema_version::text AS schema,(SELECT max(number) FROM _migrations) AS store FROM _meta',
    );
    if (!found) throw new Error('The store of the application is not complete.');
    return { ...found, store: Number(found.store ?? 0) };
  }

  async lastGenerated({ table, generated }: MovedTable): Promise<bigint | null> {
    const column = generated ?? 'id';
    const sequence = `pg_get_serial_sequence(${literal(identifier(table))},${literal(column)})`;
    const [found] = await runQuery<{ last: string | null }>(
      this.reader,
      `SELECT greatest((SELECT max(${identifier(column)})::int8 FROM ${identifier(table)}),pg_sequence_last_value(${sequence}))::text AS last`,
    );
    return found?.last === null || found === undefined ? null : BigInt(found.last);
  }

  async close(): Promise<void> {
    await this.reader.end();
  }
}

/** Builds a schema. */
export class PostgresMoveTarget extends PostgresMoveReader implements MoveTarget {
  readonly dialect = postgresDialect;
  readonly #writer: PostgresClient;

  private constructor(reader: PostgresClient, writer: PostgresClient) {
    super(reader, true);
    this.#writer = writer;
  }

  static async open(location: PostgresMoveLocation): Promise<PostgresMoveTarget> {
    const writer = await connect(location);
    try {
      await runQuery(writer, `CREATE SCHEMA IF NOT EXISTS ${location.schema}`);
      return new PostgresMoveTarget(await connect(location), writer);
    } catch (error) {
      await writer.end();
      throw error;
    }
  }

  async read(statements: readonly BoundStatement[]): Promise<Row[][]> {
    const results: Row[][] = [];
    for (const each of statements) results.push(await this.#run(each));
    return results;
  }

  async createFixedTables(): Promise<void> {
    await this.inTransaction(async () => {
      for (const [table, statements] of Object.entries(postgresDialect.catalogue))
        if (!(await hasPostgresTable(this.#writer, table))) await this.#runAll(statements);
      if (!(await hasPostgresTable(this.#writer, Object.keys(auditTables)[0] ?? '')))
        await this.#runAll(createAuditStatements(postgresDialect));
    });
  }

  async beginCopy(): Promise<void> {
    await this.inTransaction(async () => {
      await runQuery(this.#writer, 'DELETE FROM _meta');
      const references = await runQuery<{ table: string; name: string }>(
        this.#writer,
        `SELECT conrelid::regclass::text AS table,quote_ident(conname) AS name FROM pg_constraint
WHERE contype='f' AND connamespace=current_schema()::regnamespace`,
      );
      for (const { table, name } of references)
        await runQuery(this.#writer, `ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
    });
  }

  async createTable({ table, columns, indexes, mostlyNullColumn }: NewTable): Promise<void> {
    const plain = columns.map((each) => ({ ...each, references: null }));
    await this.inTransaction(async () => {
      await this.dropTable(table);
      await this.#runAll(postgresDialect.createTable(table, plain, indexes, mostlyNullColumn));
    });
  }

  /** Only in this schema: the search path also finds tables of other programs in `public`. */
  async dropTable(name: string): Promise<void> {
    if (await hasPostgresTable(this.#writer, name))
      await runQuery(this.#writer, `DROP TABLE ${identifier(name)} CASCADE`);
  }

  async apply(table: MovedTable, { removed, added }: RowChanges): Promise<void> {
    await this.inTransaction(async () => {
      if (removed.length > 0) await this.#remove(table, removed);
      if (added.length > 0) await this.#add(table, added);
    });
  }

  async setLastGenerated({ table, generated }: MovedTable, last: bigint): Promise<void> {
    const sequence = `pg_get_serial_sequence(${literal(identifier(table))},${literal(generated ?? 'id')})`;
    await runQuery(this.#writer, `SELECT setval(${sequence},$1::int8)`, [String(last)]);
  }

  async analyse(): Promise<void> {
    const tables = await runQuery<{ name: string }>(
      this.#writer,
      'SELECT tablename AS name FROM pg_tables WHERE schemaname=current_schema()',
    );
    for (const { name } of tables) await runQuery(this.#writer, `ANALYZE ${identifier(name)}`);
  }

  async relate(tables: readonly NewTable[]): Promise<void> {
    await this.inTransaction(() => this.#addReferences(tables));
  }

  async tryToRelate(tables: readonly NewTable[]): Promise<void> {
    await runQuery(this.#writer, 'BEGIN');
    await this.#addReferences(tables).finally(() => runQuery(this.#writer, 'ROLLBACK').catch(() => {}));
  }

  async #addReferences(tables: readonly NewTable[]): Promise<void> {
    const references = 'REFERENCES _collections(id) ON DELETE CASCADE';
    await runQuery(this.#writer, `ALTER TABLE _fields ADD FOREIGN KEY (collection_id) ${references}`);
    for (const { table, columns } of tables)
      for (const column of columns)
        if (column.references) await this.#runAll(postgresDialect.addReference(table, column, columns, []));
  }

  async inTransaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    await runQuery(this.#writer, 'BEGIN');
    try {
      const result = await work({
        run: (statement) => this.#run(statement),
        touch: () => {},
        afterDurable: () => {},
      });
      await runQuery(this.#writer, 'COMMIT');
      return result;
    } catch (error) {
      await runQuery(this.#writer, 'ROLLBACK').catch(() => {});
      throw toPostgresFault(error);
    }
  }

  async complete(application: string, { version, schema }: MovedVersions): Promise<void> {
    await this.inTransaction(async () => {
      await runQuery(this.#writer, 'DELETE FROM _meta');
      await runQuery(
        this.#writer,
        'INSERT INTO _meta (version,schema_version,epoch,application) VALUES ($1::int8,$2::int8,$3,$4)',
        [version, schema, randomUUID(), application],
      );
      // Entries without words: the rebuild of the index, which runs because `_mail_index` is empty, replaces entries.
      await runQuery(
        this.#writer,
        `TRUNCATE _mail_text; INSERT INTO _mail_text (id,account,words)
SELECT e.id,e.account,'' FROM (${indexedEmails.parts.join('')}) e`,
      );
    });
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#writer.end()]);
  }

  async #run({ text, values }: BoundStatement): Promise<Row[]> {
    return (await this.#writer.query<unknown[]>({ text, values: [...values], rowMode: 'array' })).rows;
  }

  async #runAll(statements: readonly Sql[]): Promise<void> {
    for (const each of statements) {
      const { text, values } = bindFixed(postgresDialect, each);
      await runQuery(this.#writer, text, values);
    }
  }

  async #remove({ table, columns, key }: MovedTable, rows: readonly MovedRow[]): Promise<void> {
    const lists = key.map((column) => {
      const index = columns.indexOf(column);
      return rows.map((row) => toCopyText(column, row[index] ?? null));
    });
    const names = key.map((_, index) => `k${index}`).join(',');
    const same = key.map(
      (column, index) => `${identifier(column.name)} IS NOT DISTINCT FROM k${index}::${castOf(column.storage)}`,
    );
    // The planner uses an index for a plain comparison only.
    const [only] = key;
    const condition =
      only && key.length === 1 ? `${identifier(only.name)}=k0::${castOf(only.storage)}` : same.join(' AND ');
    const source = `unnest(${key.map((_, index) => `$${index + 1}::text[]`).join(',')}) AS u(${names})`;
    await runQuery(this.#writer, `DELETE FROM ${identifier(table)} USING ${source} WHERE ${condition}`, lists);
  }

  async #add({ table, columns }: MovedTable, rows: readonly MovedRow[]): Promise<void> {
    const isEvents = table === '_events';
    const names = [...columns.map(({ name }) => identifier(name)), ...(isEvents ? ['xid'] : [])].join(',');
    const more = isEvents ? `\t${lowestTransaction}` : '';
    const lines = rows.map(
      (row) => `${columns.map((each, index) => escapeCopy(toCopyText(each, row[index] ?? null))).join('\t')}${more}\n`,
    );
    const copy = this.#writer.submit(copyFrom(`COPY ${identifier(table)} (${names}) FROM STDIN`));
    await pipeline(Readable.from(lines), copy).catch((error: unknown) => Promise.reject(toPostgresFault(error)));
  }
}

export async function connect({ url, budget, schema }: PostgresMoveLocation): Promise<PostgresClient> {
  const client = await connectForCopies(url, budget);
  await runQuery(client, `SET search_path TO ${schema},public; ${setForCopies('SESSION')}`).catch(
    async (error: unknown) => {
      await client.end();
      throw error;
    },
  );
  return client;
}

async function queryRows(
  client: PostgresClient,
  columns: readonly MovedColumn[],
  query: { readonly text: string; readonly values?: unknown[] },
): Promise<MovedRow[]> {
  const { rows } = await client
    .query<(string | null)[]>({ ...query, rowMode: 'array' })
    .catch((error: unknown) => Promise.reject(toPostgresFault(error)));
  return rows.map((row) =>
    row.map((each, index) => (each !== null && columns[index]?.storage === 'double' ? toDoubleText(each) : each)),
  );
}

/** A join that only leaves the rows with certain keys. */
interface KeyJoin {
  readonly join: string;
  readonly values: readonly unknown[];
}

/** The join with keys of one column, as texts. */
export function joinKeys(table: MovedTable, keys: readonly string[]): KeyJoin {
  return { join: `JOIN unnest($1::text[]) AS u(moved_key) ON ${matchKey(table)}`, values: [keys] };
}

/** The condition that joins the key, which is one column, with the texts `moved_key`. */
export function matchKey({ key: [only] }: MovedTable): string {
  return only ? `${identifier(only.name)}=moved_key::${castOf(only.storage)}` : 'FALSE';
}

export async function hasPostgresTable(client: PostgresClient, table: string): Promise<boolean> {
  const rows = await runQuery(client, 'SELECT 1 FROM pg_tables WHERE schemaname=current_schema() AND tablename=$1', [
    table,
  ]);
  return rows.length > 0;
}

function orderBy({ name, storage }: MovedColumn): string {
  return storage === 'text' ? `${identifier(name)} COLLATE "C"` : identifier(name);
}

/** The condition for the rows of a range if the key is one column. A cursor takes no parameters. */
function selectRange({ key: [only, ...others] }: MovedTable, { after, until }: KeyRange): string {
  if (!only || others.length > 0) return '';
  const bound = (operator: string, [value]: MovedRow): string =>
    value == null ? '' : `${orderBy(only)}${operator}${literal(value)}::${castOf(only.storage)}`;
  const conditions = [bound('>', after ?? []), bound('<=', until ?? [])].filter((each) => each !== '');
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
}

/** The text that PostgreSQL reads as the value. */
function toCopyText({ position }: MovedColumn, text: string | null): string | null {
  return position && text !== null ? `${firstEvents}${text.slice(text.indexOf('.') + 1)}` : text;
}

function castOf(storage: Storage): string {
  if (storage === 'boolean') return 'bool';
  if (storage === 'integer' || storage === 'bigint') return 'int8';
  if (storage === 'double') return 'float8';
  if (storage === 'datetime') return 'timestamptz';
  return storage.startsWith('decimal') ? 'numeric' : storage;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeCopy(text: string | null): string {
  return text === null ? '\\N' : text.replaceAll(/[\\\n\r\t]/g, (each) => escapes[each] ?? each);
}
