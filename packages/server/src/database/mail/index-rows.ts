/** Statements of the rebuild of the full-text index: its state, and the e-mails with their indexed texts. */
import type { Database, Row, Transaction } from '../database.ts';
import type { FullTextEntry } from '../full-text-index.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import type { AddressLists, MailAddressValue } from './mail-writer.ts';

export interface IndexState {
  /** The form in which tokens are stored. */
  readonly version: number;
  /** E-mails from this key on have that form; null: all e-mails. */
  readonly position: number | null;
}

/** The state of the index; null in a store of an earlier server version, or without any e-mail. */
export async function readIndexState(database: Database): Promise<IndexState | null> {
  const [row] = await createReader(database)(sql`SELECT version,position FROM _mail_index`);
  return row ? { version: Number(row[0]), position: row[1] === null ? null : Number(row[1]) } : null;
}

/** Stores the state of the index. */
export async function setIndexState(database: Database, transaction: Transaction, state: IndexState): Promise<void> {
  const run = createTxRunner(database, transaction);
  await run(sql`DELETE FROM _mail_index`);
  await run(
    sql`INSERT INTO _mail_index (version,position) VALUES (${value('integer', state.version)},${value('bigint', state.position)})`,
  );
}

/** The key after the newest e-mail; null in a store without e-mails. */
export async function readNextEmailKey(database: Database): Promise<number | null> {
  const [row] = await createReader(database)(sql`SELECT id FROM emails ORDER BY id DESC LIMIT 1`);
  return row ? Number(row[0]) + 1 : null;
}

/** All e-mails, with the columns `id` and `account`. */
export const indexedEmails = sql`SELECT id,"accountId" AS account FROM emails`;

/** A stored e-mail with its indexed texts. */
export interface IndexableEmail extends AddressLists {
  readonly id: number;
  readonly accountId: number;
  /** Changes with the e-mail. */
  readonly version: number;
  readonly subject: string;
  readonly bcc: readonly MailAddressValue[];
  readonly text: string;
  readonly attachments: readonly { readonly filename: string | null }[];
}

/** The newest e-mails below a key, at most `max`. */
export async function readEmailsBelow(database: Database, key: number, max: number): Promise<IndexableEmail[]> {
  const run = createReader(database);
  const rows = await run(
    sql`SELECT e.id,e."accountId",e._v,e.subject,c.text,e."from",e."to",e.cc,c.bcc FROM emails e LEFT JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id<${value('bigint', key)} ORDER BY e.id DESC LIMIT ${max}`,
  );
  const keys = rows.map(([id]) => Number(id));
  const files = await run(
    sql`SELECT "emailId",filename FROM attachments WHERE ${database.dialect.isIn(sql`"emailId"`, listValue('bigint', keys))} ORDER BY id`,
  );
  const filesByEmail = Map.groupBy(files, ([email]) => Number(email));
  return rows.map((row) => toIndexableEmail(row, filesByEmail.get(Number(row[0])) ?? []));
}

function toIndexableEmail([id, account, version, subject, text, ...lists]: Row, files: readonly Row[]): IndexableEmail {
  const [from = [], to = [], cc = [], bcc = []] = lists.map(
    (each) => (parseJsonColumn(each) ?? []) as readonly MailAddressValue[],
  );
  return {
    id: Number(id),
    accountId: Number(account),
    version: Number(version),
    subject: (subject ?? '') as string,
    from,
    to,
    cc,
    bcc,
    text: (text ?? '') as string,
    attachments: files.map(([, filename]) => ({ filename: filename as string | null })),
  };
}

/** Replaces the tokens of an e-mail, unless it was changed since that version or deleted. */
export async function replaceTokens(
  database: Database,
  transaction: Transaction,
  entry: FullTextEntry,
  version: number,
): Promise<void> {
  const unchanged = sql`EXISTS (SELECT 1 FROM emails e WHERE e.id=${value('bigint', entry.id)} AND e._v=${value('integer', version)})`;
  await createTxRunner(database, transaction)(database.fullText.replace(entry, unchanged));
}
