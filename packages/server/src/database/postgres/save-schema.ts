import type pg from 'pg';
import type { ConnectionBudget } from './connection-budget.ts';
import { toPostgresFault } from './postgres-fault.ts';
import { dropPostgres, query } from './postgres-open.ts';

/** A transaction locks each table that it copies with all its indexes, so it copies no more than these. */
const tablesPerTransaction = 50;
const copyMilliseconds = 3_600_000;

/**
 * Copies a schema with its rows, constraints, indexes and the positions of its sequences to another one of the same database. The copy
 * shows one moment, also if others write meanwhile. It gets its name when it is complete, and replaces an earlier one of the name.
 *
 * To use it: `DROP SCHEMA source CASCADE; ALTER SCHEMA target RENAME TO source`.
 */
export async function saveSchema(url: string, budget: ConnectionBudget, source: string, target: string): Promise<void> {
  const part = `${target}_part`;
  await dropPostgres(url, part, budget);
  const connect = (): pg.Client => new budget.client({ connectionString: url, query_timeout: copyMilliseconds });
  const [holder, worker] = [connect(), connect()];
  try {
    for (const client of [holder, worker])
      await client.connect().catch((error: unknown) => Promise.reject(toPostgresFault(error)));
    await query(holder, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const [{ snapshot } = { snapshot: '' }] = await query<{ snapshot: string }>(
      holder,
      'SELECT pg_export_snapshot() AS snapshot',
    );
    await query(worker, `CREATE SCHEMA ${part}`);
    await new SchemaCopy(worker, snapshot, source, part).run();
    await dropPostgres(url, target, budget);
    await query(worker, `ALTER SCHEMA ${part} RENAME TO ${target}`);
  } finally {
    await Promise.allSettled([holder.end(), worker.end()]);
  }
}

class SchemaCopy {
  readonly #client: pg.Client;
  readonly #snapshot: string;
  readonly #source: string;
  readonly #target: string;

  constructor(client: pg.Client, snapshot: string, source: string, target: string) {
    this.#client = client;
    this.#snapshot = snapshot;
    this.#source = source;
    this.#target = target;
  }

  async run(): Promise<void> {
    const found = await query<{ name: string }>(
      this.#client,
      'SELECT tablename AS name FROM pg_tables WHERE schemaname=$1 ORDER BY 1',
      [this.#source],
    );
    const tables = found.map(({ name }) => name);
    // Foreign keys are checked when they are added, so all rows must be there.
    for (const list of [[tableStatements, rowStatements, keyStatements, indexStatements], [foreignKeyStatements]])
      for (let from = 0; from < tables.length; from += tablesPerTransaction)
        await this.#runBatch(list, tables.slice(from, from + tablesPerTransaction));
  }

  /** Runs, in one transaction, the statements that queries write for some tables. */
  async #runBatch(generators: readonly string[], tables: readonly string[]): Promise<void> {
    const client = this.#client;
    await query(client, `BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '${this.#snapshot}'`);
    try {
      // Names without a schema mean those of the copy.
      await query(client, `SET LOCAL search_path TO ${this.#target}, public`);
      for (const generator of generators) {
        const statements = await query<{ text: string }>(client, generator, [this.#source, this.#target, tables]);
        for (const { text } of statements) await query(client, text);
      }
      await query(client, 'COMMIT');
    } catch (error) {
      await query(client, 'ROLLBACK');
      throw error;
    }
  }
}

/** The tables $3 of the schema $1, as `t`. */
const ofTables = 'FROM pg_class t WHERE t.relnamespace=$1::regnamespace AND t.relname=ANY($3)';

const tableStatements = `SELECT format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING GENERATED INCLUDING STORAGE INCLUDING COMPRESSION)',$2::text,t.relname,$1::text,t.relname) AS text ${ofTables}`;

/** Rows, then the positions of the sequences that number them. Positions only grow, so a later one is as good. */
const rowStatements = `SELECT format('INSERT INTO %I.%I (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %I.%I',$2::text,t.relname,c.names,c.names,$1::text,t.relname) AS text
FROM pg_class t, LATERAL (SELECT string_agg(quote_ident(a.attname),',' ORDER BY a.attnum) AS names FROM pg_attribute a WHERE a.attrelid=t.oid AND a.attnum>0 AND NOT a.attisdropped AND a.attgenerated='') c
WHERE t.relnamespace=$1::regnamespace AND t.relname=ANY($3)
UNION ALL
SELECT format('SELECT setval(pg_get_serial_sequence(%L,%L),last_value,is_called) FROM %s',format('%I.%I',$2::text,t.relname),a.attname,pg_get_serial_sequence(format('%I.%I',$1::text,t.relname),a.attname))
FROM pg_class t JOIN pg_attribute a ON a.attrelid=t.oid AND a.attidentity<>'' WHERE t.relnamespace=$1::regnamespace AND t.relname=ANY($3)`;

const constraint = `format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s',$2::text,t.relname,k.conname,replace(pg_get_constraintdef(k.oid),' REFERENCES '||quote_ident($1::text)||'.',' REFERENCES '||quote_ident($2::text)||'.')) AS text FROM pg_class t JOIN pg_constraint k ON k.conrelid=t.oid WHERE t.relnamespace=$1::regnamespace AND t.relname=ANY($3)`;
const keyStatements = `SELECT ${constraint} AND k.contype IN ('p','u','c') ORDER BY k.contype<>'p'`;
const foreignKeyStatements = `SELECT ${constraint} AND k.contype='f'`;

const indexStatements = `SELECT replace(pg_get_indexdef(i.indexrelid),' ON '||quote_ident($1::text)||'.',' ON '||quote_ident($2::text)||'.') AS text
FROM pg_class t JOIN pg_index i ON i.indrelid=t.oid WHERE t.relnamespace=$1::regnamespace AND t.relname=ANY($3)
AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid=i.indexrelid AND k.contype IN ('p','u','x'))
UNION ALL
SELECT format('ALTER TABLE %I.%I ALTER COLUMN %I SET STATISTICS %s',$2::text,t.relname,a.attname,a.attstattarget)
FROM pg_class t JOIN pg_attribute a ON a.attrelid=t.oid WHERE t.relnamespace=$1::regnamespace AND t.relname=ANY($3) AND a.attnum>0 AND NOT a.attisdropped AND a.attstattarget>0`;
