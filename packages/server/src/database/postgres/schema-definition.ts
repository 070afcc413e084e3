/** The definition of a schema as statements without its name, so that it can be created again under any name. */
import type pg from 'pg';
import { runQuery } from './run-query.ts';
import { isTableIn } from './schema-tables.ts';

const isTable = isTableIn('$1');
const tables = `FROM pg_class t WHERE ${isTable}`;

/** A table with the names of the columns that are stored, in their order, and the identity of its storage. */
export interface TableDefinition {
  readonly table: string;
  /** Quoted. */
  readonly columns: readonly string[];
}

export interface SchemaDefinition {
  readonly tables: readonly TableDefinition[];
  /** Statements before the rows, after them, and after those of all tables. The search path is the new schema, then `public`. */
  readonly create: readonly string[];
  readonly index: readonly string[];
  readonly relate: readonly string[];
}

/** Reads the definition of the schema `$1` in the snapshot of the client's transaction, whose search path must be that schema. */
export async function readDefinition(client: pg.Client, schema: string): Promise<SchemaDefinition> {
  const texts = async (query: string): Promise<string[]> =>
    (await runQuery<{ text: string }>(client, query, [schema])).map(({ text }) => text);
  const index = await texts(indexStatements);
  const trigrams = index.some((text) => text.includes('gin_trgm_ops'));
  return {
    tables: await runQuery<{ table: string; columns: string[] }>(client, tableColumns, [schema]),
    create: [
      ...(trigrams ? ['CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public'] : []),
      ...(await texts(tableStatements)),
    ],
    index: [...(await texts(keyStatements)), ...index, ...(await texts(positionStatements))],
    relate: await texts(foreignKeyStatements),
  };
}

/** Statements that set the positions of the sequences of a schema. The search path must be the new schema. */
export async function readPositions(client: pg.Client, schema: string): Promise<string[]> {
  return (await runQuery<{ text: string }>(client, positionStatements, [schema])).map(({ text }) => text);
}

/**
 * A digest that changes if a table or column is created, dropped, renamed or rewritten: the snapshot of a reader does not protect it from
 * that.
 */
export async function readStorage(client: pg.Client, schema: string): Promise<string> {
  const [row] = await runQuery<{ storage: string | null }>(
    client,
    `SELECT md5(string_agg(concat_ws('.',oid,relfilenode,relname,
(SELECT string_agg(attname::text,',' ORDER BY attnum) FROM pg_attribute WHERE attrelid=oid AND attnum>0)),';' ORDER BY oid)) AS storage
FROM pg_class t WHERE ${isTable}`,
    [schema],
  );
  return row?.storage ?? '';
}

const columns = 'FROM pg_attribute a WHERE a.attrelid=t.oid AND a.attnum>0 AND NOT a.attisdropped';

const tableColumns = `SELECT t.relname AS "table",
ARRAY(SELECT quote_ident(a.attname) ${columns} AND a.attgenerated='' ORDER BY a.attnum) AS columns ${tables} ORDER BY t.oid`;

const defaultOf =
  '(SELECT pg_get_expr(d.adbin,d.adrelid,true) FROM pg_attrdef d WHERE d.adrelid=a.attrelid AND d.adnum=a.attnum)';
const column = `quote_ident(a.attname)||' '||format_type(a.atttypid,a.atttypmod)
||coalesce((SELECT ' COLLATE '||quote_ident(n.nspname)||'.'||quote_ident(l.collname) FROM pg_collation l JOIN pg_namespace n ON n.oid=l.collnamespace
JOIN pg_type y ON y.oid=a.atttypid WHERE l.oid=a.attcollation AND a.attcollation<>y.typcollation),'')
||CASE WHEN a.attidentity='' THEN '' ELSE format(' GENERATED %s AS IDENTITY (SEQUENCE NAME %I)',CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END,
(SELECT q.relname FROM pg_class q WHERE q.oid=pg_get_serial_sequence(format('%I.%I',$1::text,t.relname),a.attname)::regclass)) END
||CASE WHEN a.attgenerated='s' THEN ' GENERATED ALWAYS AS ('||${defaultOf}||') STORED' ELSE coalesce(' DEFAULT '||${defaultOf},'') END
||CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END`;
const tableStatements = `SELECT text FROM (
SELECT t.oid,1 AS place,format('CREATE TABLE %I (%s)%s',t.relname,(SELECT string_agg(${column},', ' ORDER BY a.attnum) ${columns}),
coalesce(' WITH ('||array_to_string(t.reloptions,',')||')','')) AS text ${tables}
UNION ALL SELECT t.oid,2,format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS %s',t.relname,a.attname,a.attstattarget)
FROM pg_class t JOIN pg_attribute a ON a.attrelid=t.oid WHERE ${isTable} AND a.attnum>0 AND NOT a.attisdropped AND a.attstattarget>0
UNION ALL SELECT t.oid,3,format('ALTER TABLE %I ALTER COLUMN %I SET STORAGE %s',t.relname,a.attname,CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END)
FROM pg_class t JOIN pg_attribute a ON a.attrelid=t.oid JOIN pg_type y ON y.oid=a.atttypid
WHERE ${isTable} AND a.attnum>0 AND NOT a.attisdropped AND a.attstorage<>y.typstorage) s ORDER BY oid,place`;

/** Where the search path finds them, the pretty form of a definition leaves out the name of the schema. */
const constraints = (
  types: string,
): string => `SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s',t.relname,k.conname,pg_get_constraintdef(k.oid,true)) AS text
FROM pg_class t JOIN pg_constraint k ON k.conrelid=t.oid WHERE ${isTable} AND k.contype IN (${types})
ORDER BY k.contype<>'p',t.oid,k.oid`;
const keyStatements = constraints("'p','u','c'");
const foreignKeyStatements = constraints("'f'");

const indexStatements = `SELECT pg_get_indexdef(i.indexrelid,0,true) AS text
FROM pg_class t JOIN pg_index i ON i.indrelid=t.oid WHERE ${isTable} AND i.indisvalid
AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid=i.indexrelid AND k.contype IN ('p','u','x')) ORDER BY i.indexrelid`;

/** Positions of sequences are not part of a snapshot, but they only grow, so a later one is as good. */
const positionStatements = `SELECT format('SELECT setval(pg_get_serial_sequence(%L,%L),%s,true)',quote_ident(t.relname),a.attname,
pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I',$1::text,t.relname),a.attname)::regclass)) AS text
FROM pg_class t JOIN pg_attribute a ON a.attrelid=t.oid AND a.attidentity<>'' WHERE ${isTable}
AND pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I',$1::text,t.relname),a.attname)::regclass) IS NOT NULL ORDER BY t.oid`;
