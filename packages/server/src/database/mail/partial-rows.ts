/** Statements about e-mails whose body is read from the mail server later. */
import type { Database, Transaction } from '../database.ts';
import type { FullTextEntry } from '../full-text-index.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createRunner, createTxRunner, type RunStatement } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { attachmentColumns, type NewAttachment, type NewEmail, toAttachmentValues } from './mail-writer.ts';

/** An e-mail of which only the headers are stored. */
export interface PartialEmail {
  readonly id: number;
  readonly accountId: number;
  readonly mailboxId: number;
  readonly folder: string;
  /** ISO 8601. */
  readonly receivedAt: string;
  readonly conversationId: number | null;
  readonly hasAttachments: boolean;
}

/** An e-mail of which only the headers are stored; null for others. @param transaction null: outside of a transaction. */
export async function readPartialEmail(
  database: Database,
  transaction: Transaction | null,
  id: number,
): Promise<PartialEmail | null> {
  const run = createRunner(database, transaction);
  const [row] = await run(
    sql`SELECT id,"accountId","mailboxId",folder,"receivedAt","conversationId","hasAttachments" FROM emails WHERE id=${value('bigint', id)} AND "bodyState"='partial'`,
  );
  if (!row) return null;
  const [key, account, mailbox, folder, receivedAt, conversation, hasAttachments] = row;
  return {
    id: Number(key),
    accountId: Number(account),
    mailboxId: Number(mailbox),
    folder: folder as string,
    receivedAt: new Date(receivedAt as string).toISOString(),
    conversationId: conversation === null ? null : Number(conversation),
    hasAttachments: Boolean(hasAttachments),
  };
}

/** Where the message of an e-mail is on the mail server. */
export interface RemoteMessage {
  readonly accountId: number;
  readonly mailboxId: number;
  /** The server's name of the mailbox. */
  readonly rawPath: string;
  readonly uidvalidity: string;
  readonly uid: number;
  /** Bytes, as the server reported them. */
  readonly size: number;
}

/** Where the message of an e-mail is on the mail server; null if it is not known. */
export async function readRemoteMessage(database: Database, id: number): Promise<RemoteMessage | null> {
  const [row] = await createReader(database)(
    sql`SELECT m."accountId",m.id,m."rawPath",p.uidvalidity,p.uid,e.size FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" JOIN emails e ON e.id=p."emailId" WHERE p."emailId"=${value('bigint', id)} AND p.uid IS NOT NULL AND m."rawPath" IS NOT NULL ORDER BY p.id LIMIT 1`,
  );
  if (!row) return null;
  const [account, mailbox, rawPath, uidvalidity, uid, size] = row;
  return {
    accountId: Number(account),
    mailboxId: Number(mailbox),
    rawPath: rawPath as string,
    uidvalidity: uidvalidity as string,
    uid: Number(uid),
    size: Number(size),
  };
}

/** Which of two e-mails was stored here first. */
export async function findFirstStored(
  database: Database,
  transaction: Transaction,
  emails: readonly [number, number],
): Promise<number> {
  const isOneOf = database.dialect.isIn(sql`id`, listValue('bigint', emails));
  // Contents are numbered in the order in which they are stored.
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT id FROM emails WHERE ${isOneOf} ORDER BY "contentId" LIMIT 1`);
  return Number(row?.[0] ?? emails[0]);
}

/** Which of the Message-IDs belong to e-mails that are stored completely. */
export async function findCompleteMessageIds(
  database: Database,
  account: number,
  messageIds: readonly string[],
): Promise<Set<string>> {
  if (messageIds.length === 0) return new Set();
  const isOneOf = database.dialect.isIn(sql`"messageId"`, listValue('text', messageIds));
  const rows = await createReader(database)(
    sql`SELECT "messageId" FROM emails WHERE "accountId"=${value('integer', account)} AND ${isOneOf} AND "bodyState" IS DISTINCT FROM 'partial'`,
  );
  return new Set(rows.map(([messageId]) => messageId as string));
}

/** Gives an e-mail its body. Its conversation, its position in lists and its flags stay. */
export async function writeBody(
  database: Database,
  transaction: Transaction,
  id: number,
  { email, entry }: { readonly email: NewEmail; readonly entry: FullTextEntry },
): Promise<void> {
  const run = createTxRunner(database, transaction);
  for (const table of ['emails', 'mailContents', 'attachments']) transaction.touch(table);
  const key = value('bigint', id);
  const { content } = email;
  await run(
    sql`UPDATE "mailContents" SET text=${value('text', content.text)},html=${value('text', content.html)},headers=${value('json', content.headers)},"inReplyTo"=${value('json', content.inReplyTo)},"references"=${value('json', content.references)},bcc=${value('json', content.bcc)},"replyTo"=${value('json', content.replyTo)},authentication=${value('json', content.authentication)},"rawSha256"=${value('text', content.rawSha256)} WHERE id=(SELECT "contentId" FROM emails WHERE id=${key})`,
  );
  await run(
    sql`UPDATE emails SET identity=${value('text', email.identity)},snippet=${value('text', email.snippet)},size=${value('integer', email.size)},"hasAttachments"=${value('boolean', email.hasAttachments)},warnings=${value('json', email.warnings)},"bodyState"=${value('text', email.bodyState)},_v=_v+1 WHERE id=${key}`,
  );
  await run(database.fullText.remove(listValue('bigint', [id])));
  await run(database.fullText.insert([entry]));
  await storeFiles(database, run, { account: entry.account, id }, email.attachments);
}

/** Stores the files of an e-mail. Files that are known by name and type keep their ids and their parts. */
async function storeFiles(
  database: Database,
  run: RunStatement,
  { account, id }: { readonly account: number; readonly id: number },
  files: readonly NewAttachment[],
): Promise<void> {
  const rows = await run(
    sql`SELECT id,filename,"contentType" FROM attachments WHERE "emailId"=${value('bigint', id)} ORDER BY id`,
  );
  const known = rows.map(([key, filename, contentType]) => ({ key: Number(key), filename, contentType }));
  const added: NewAttachment[] = [];
  for (const file of files) {
    const index = known.findIndex(
      ({ filename, contentType }) => filename === file.filename && contentType === file.contentType,
    );
    const [same] = index < 0 ? [] : known.splice(index, 1);
    if (!same) added.push(file);
    else
      await run(
        sql`UPDATE attachments SET "sniffedType"=${value('text', file.sniffedType)},size=${value('integer', file.size)},disposition=${value('text', file.disposition)},"contentId"=${value('text', file.contentId)},sha256=${value('text', file.sha256)},state='stored' WHERE id=${value('integer', same.key)}`,
      );
  }
  const removed = known.map(({ key }) => key);
  if (removed.length > 0)
    await run(sql`DELETE FROM attachments WHERE ${database.dialect.isIn(sql`id`, listValue('integer', removed))}`);
  const values = added.map((each) => toAttachmentValues(account, id, each));
  await insertRows(run, database.dialect, 'attachments', attachmentColumns, values);
}

/** Moves the placements and operations of an e-mail to another one, which is the same message. */
export async function mergePlacements(
  database: Database,
  transaction: Transaction,
  from: number,
  into: number,
): Promise<void> {
  const run = createTxRunner(database, transaction);
  for (const table of ['mailPlacements', 'mailOperations']) transaction.touch(table);
  for (const table of ['mailPlacements', 'mailOperations'])
    await run(
      sql`UPDATE ${`"${table}"`} SET "emailId"=${value('bigint', into)} WHERE "emailId"=${value('bigint', from)}`,
    );
}
