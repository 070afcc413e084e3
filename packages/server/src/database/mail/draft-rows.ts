/** Statements about messages that are written here: what the user wrote, and how a draft is rewritten. */
import type { Database, Row, Transaction } from '../database.ts';
import type { FullTextEntry } from '../full-text-index.ts';
import { parseJsonColumn } from '../json-column.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { parseAddressList, parseTextList } from './address-lists.ts';
import {
  type AddressLists,
  attachmentColumns,
  type MailAddressValue,
  type NewAttachment,
  type NewEmail,
  toAttachmentValues,
} from './mail-writer.ts';
import { TransactionRows } from './transaction-rows.ts';

/** The present state of a message of an account. */
export interface StoredDraft extends AddressLists {
  readonly id: number;
  readonly accountId: number;
  readonly conversationId: number;
  readonly draft: boolean;
  /** The record's hidden write counter. */
  readonly version: number;
  readonly subject: string;
  readonly messageId: string | null;
  readonly sentAt: string | null;
  readonly bcc: readonly MailAddressValue[];
  readonly replyTo: readonly MailAddressValue[];
  /** Message-IDs without angle brackets. */
  readonly inReplyTo: readonly string[];
  readonly references: readonly string[];
  readonly text: string;
  readonly html: string | null;
  /** What the user wrote; null for a message that was not written here. */
  readonly source: unknown;
}

/** The name and the address under which a message is sent. */
export interface Sender {
  readonly name: string | null;
  readonly address: string;
}

/**
 * A message of an account, with its source.
 *
 * @param transaction the open one, if any.
 * @returns null if the e-mail does not exist.
 */
export async function readDraft(
  database: Database,
  id: number,
  transaction?: Transaction,
): Promise<StoredDraft | null> {
  const run = createRunner(database, transaction);
  const [row] = await run(
    sql`SELECT e."accountId",e."conversationId",e.draft,e._v,e.subject,e."messageId",e."sentAt",c.text,c.html,c.source,e."from",e."to",e.cc,c.bcc,c."replyTo",c."inReplyTo",c."references" FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id=${value('bigint', id)}`,
  );
  if (!row) return null;
  const [account, conversation, draft, version, subject, messageId, sentAt, text, html, source, ...lists] = row;
  const [from, to, cc, bcc, replyTo, inReplyTo, references] = lists;
  return {
    id,
    accountId: Number(account),
    conversationId: Number(conversation),
    draft: Boolean(draft),
    version: Number(version),
    subject: (subject ?? '') as string,
    messageId: messageId as string | null,
    sentAt: sentAt === null ? null : new Date(sentAt as string).toISOString(),
    text: (text ?? '') as string,
    html: html as string | null,
    source: parseJsonColumn(source),
    from: parseAddressList(from),
    to: parseAddressList(to),
    cc: parseAddressList(cc),
    bcc: parseAddressList(bcc),
    replyTo: parseAddressList(replyTo),
    inReplyTo: parseTextList(inReplyTo),
    references: parseTextList(references),
  };
}

/** A file of an e-mail. The account and the hash locate its bytes. */
export interface StoredFile extends NewAttachment {
  readonly id: number;
  readonly accountId: number;
}

/** @param selector the ids of files, or the e-mail whose files they are. */
export async function readFiles(
  database: Database,
  selector: { readonly ids: readonly number[] } | { readonly email: number },
): Promise<StoredFile[]> {
  const which =
    'ids' in selector
      ? database.dialect.isIn(sql`id`, listValue('integer', selector.ids))
      : sql`"emailId"=${value('bigint', selector.email)}`;
  const rows = await createReader(database)(
    sql`SELECT id,"accountId",filename,"contentType","sniffedType",size,disposition,"contentId",sha256 FROM attachments WHERE ${which} ORDER BY id`,
  );
  return rows.map(toStoredFile);
}

/** Drafts inside a transaction. */
export class DraftRows extends TransactionRows {
  constructor(database: Database, transaction: Transaction) {
    super(database, transaction, ['emails', 'mailContents', 'attachments', 'conversations']);
  }

  /** Stores what the user wrote next to the message. */
  async setSource(email: number, source: unknown, bcc: unknown): Promise<void> {
    await this.run(
      sql`UPDATE "mailContents" SET source=${value('json', source)},bcc=${value('json', bcc)} WHERE id=(SELECT "contentId" FROM emails WHERE id=${value('bigint', email)})`,
    );
  }

  /** What the user wrote; null for a message that was not written here. */
  async readSource(email: number): Promise<unknown> {
    const [row] = await this.run(
      sql`SELECT c.source FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id=${value('bigint', email)}`,
    );
    return parseJsonColumn(row?.[0]);
  }

  /** What the user wrote for the messages of an account that were sent in the conversations of some e-mails. */
  async readSentSources(
    account: number,
    emails: readonly number[],
  ): Promise<{ readonly id: number; readonly source: unknown }[]> {
    const { dialect } = this.database;
    const isInConversation = sql`e."conversationId" IN (SELECT o."conversationId" FROM emails o WHERE ${dialect.isIn(sql`o.id`, listValue('bigint', emails))})`;
    const rows = await this.run(
      sql`SELECT e.id,c.source FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e."accountId"=${value('integer', account)} AND ${isInConversation} AND NOT (${dialect.isTrue(sql`e.draft`)}) AND c.source IS NOT NULL ORDER BY e.id`,
    );
    return rows.map(([id, source]) => ({ id: Number(id), source: parseJsonColumn(source) }));
  }

  /** Rewrites a draft. Its position in lists and its conversation stay. */
  async rewrite(id: number, email: NewEmail, fullTextEntry: FullTextEntry): Promise<void> {
    const { content } = email;
    const key = value('bigint', id);
    await this.run(
      sql`UPDATE "mailContents" SET text=${value('text', content.text)},html=${value('text', content.html)},headers=${value('json', content.headers)},"inReplyTo"=${value('json', content.inReplyTo)},"references"=${value('json', content.references)},"rawSha256"=${value('text', content.rawSha256)} WHERE id=(SELECT "contentId" FROM emails WHERE id=${key})`,
    );
    await this.run(
      sql`UPDATE emails SET identity=${value('text', email.identity)},"subjectKey"=${value('text', email.subjectKey)},orphan=${value('boolean', email.orphan)},"messageId"=${value('text', email.messageId)},subject=${value('text', email.subject)},"from"=${value('json', email.from)},"to"=${value('json', email.to)},cc=${value('json', email.cc)},"sentAt"=${value('datetime', email.sentAt)},snippet=${value('text', email.snippet)},size=${value('integer', email.size)},"hasAttachments"=${value('boolean', email.hasAttachments)},warnings=${value('json', email.warnings)},"bodyState"=${value('text', email.bodyState)},_v=_v+1 WHERE id=${key}`,
    );
    await this.run(this.database.fullText.remove(listValue('bigint', [id])));
    await this.run(this.database.fullText.insert([fullTextEntry]));
  }

  /** Sets the files of a draft. Files that it already has keep their ids. */
  async setFiles(account: number, email: number, files: readonly NewAttachment[]): Promise<void> {
    const rows = await this.run(
      sql`SELECT id,"accountId",filename,"contentType","sniffedType",size,disposition,"contentId",sha256 FROM attachments WHERE "emailId"=${value('bigint', email)} ORDER BY id`,
    );
    const wanted = [...files];
    const removed = rows.map(toStoredFile).filter((each) => {
      const index = wanted.findIndex((file) => isSameFile(file, each));
      if (index >= 0) wanted.splice(index, 1);
      return index < 0;
    });
    const keys = removed.map(({ id }) => id);
    if (keys.length > 0)
      await this.run(
        sql`DELETE FROM attachments WHERE ${this.database.dialect.isIn(sql`id`, listValue('integer', keys))}`,
      );
    const added = wanted.map((each) => toAttachmentValues(account, email, each));
    await insertRows(this.run, this.database.dialect, 'attachments', attachmentColumns, added);
  }

  /** Renames a conversation that consists of a draft only. */
  async renameConversation(conversation: number, subject: string): Promise<void> {
    await this.run(
      sql`UPDATE conversations SET subject=${value('text', subject)} WHERE id=${value('integer', conversation)} AND messages<=1`,
    );
  }

  /** Deletes the row of a message. The caller updates the full-text index and the counts. */
  async remove(email: number): Promise<void> {
    await this.run(sql`DELETE FROM emails WHERE id=${value('bigint', email)}`);
  }

  /** Marks an e-mail as a draft, or as no draft. */
  async setDraft(email: number, draft: boolean): Promise<void> {
    await this.run(sql`UPDATE emails SET draft=${value('boolean', draft)},_v=_v+1 WHERE id=${value('bigint', email)}`);
  }
}

const isSameFile = (one: NewAttachment, second: NewAttachment): boolean =>
  one.sha256 === second.sha256 &&
  one.filename === second.filename &&
  one.contentId === second.contentId &&
  one.contentType === second.contentType;

function toStoredFile([
  id,
  account,
  filename,
  contentType,
  sniffed,
  size,
  disposition,
  contentId,
  sha256,
]: Row): StoredFile {
  return {
    id: Number(id),
    accountId: Number(account),
    filename: filename as string | null,
    contentType: contentType as string,
    sniffedType: sniffed as string | null,
    size: Number(size),
    disposition: disposition as string,
    contentId: contentId as string | null,
    sha256: sha256 as string,
  };
}
