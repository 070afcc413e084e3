/** Reads the properties of e-mails that the conditions and actions of rules need. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql } from '../sql.ts';
import { parseAddressList, parseTextList } from './address-lists.ts';
import type { AddressLists, MailAddressValue } from './mail-writer.ts';

/** An e-mail as rules see it. */
export interface RuleMessageRow extends AddressLists {
  readonly id: number;
  readonly accountId: number;
  readonly conversationId: number | null;
  readonly assigneeId: number | null;
  readonly messageId: string | null;
  readonly references: readonly string[];
  readonly bcc: readonly MailAddressValue[];
  readonly subject: string;
  /** The beginning of the text; empty if no condition uses it. */
  readonly text: string;
  /** Names as they were written, values decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Bytes of the raw message. */
  readonly size: number;
  readonly hasAttachments: boolean;
  /** Whether it names messages that it answers. */
  readonly isReply: boolean;
  readonly read: boolean;
  readonly starred: boolean;
  readonly draft: boolean;
  readonly outgoing: boolean;
  readonly labels: readonly string[];
  readonly mailboxId: number | null;
  readonly folder: string | null;
  /** ISO 8601. */
  readonly receivedAt: string;
}

/**
 * Reads some e-mails.
 *
 * @param textLength characters of the text; 0 if no condition uses it.
 * @returns them by id; those that were deleted are missing.
 */
export async function readRuleMessages(
  database: Database,
  ids: readonly number[],
  textLength: number,
): Promise<Map<number, RuleMessageRow>> {
  const text = textLength === 0 ? sql`''` : sql`substr(c.text,1,${textLength})`;
  const rows = await createReader(database)(
    sql`SELECT e.id,e."accountId",e."conversationId",v."assigneeId",e."messageId",e.subject,${text},e.size,e."hasAttachments",e.read,e.starred,e.draft,e.outgoing,e.labels,e."mailboxId",e.folder,e."receivedAt",e."from",e."to",e.cc,c.bcc,c.headers,c."inReplyTo",c."references" FROM emails e LEFT JOIN "mailContents" c ON c.id=e."contentId" LEFT JOIN conversations v ON v.id=e."conversationId" WHERE ${database.dialect.isIn(sql`e.id`, listValue('bigint', ids))}`,
  );
  return new Map(rows.map(toMessage).map((each) => [each.id, each]));
}

/** What the actions of rules change. */
export type ActionTarget = Pick<RuleMessageRow, 'id' | 'conversationId' | 'assigneeId' | 'read' | 'starred' | 'labels'>;

/** Reads e-mails inside a transaction; those that were deleted are missing. */
export async function readActionTargets(
  database: Database,
  transaction: Transaction,
  ids: readonly number[],
): Promise<ActionTarget[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT e.id,e."conversationId",v."assigneeId",e.read,e.starred,e.labels FROM emails e LEFT JOIN conversations v ON v.id=e."conversationId" WHERE ${database.dialect.isIn(sql`e.id`, listValue('bigint', ids))} ORDER BY e.id`,
  );
  return rows.map(([id, conversation, assignee, read, starred, labels]) => ({
    id: Number(id),
    conversationId: toKey(conversation),
    assigneeId: toKey(assignee),
    read: Boolean(read),
    starred: Boolean(starred),
    labels: parseTextList(labels),
  }));
}

const toKey = (column: unknown): number | null => (column === null ? null : Number(column));

function toMessage(row: readonly unknown[]): RuleMessageRow {
  const [id, account, conversation, assignee, messageId, subject, text, size, attachments, ...rest] = row;
  const [read, starred, draft, outgoing, labels, mailbox, folder, receivedAt, ...lists] = rest;
  const [from, to, cc, bcc, headers, inReplyTo, references] = lists;
  const ids = parseTextList(references);
  return {
    id: Number(id),
    accountId: Number(account),
    conversationId: toKey(conversation),
    assigneeId: toKey(assignee),
    messageId: messageId as string | null,
    references: ids,
    from: parseAddressList(from),
    to: parseAddressList(to),
    cc: parseAddressList(cc),
    bcc: parseAddressList(bcc),
    subject: (subject ?? '') as string,
    text: (text ?? '') as string,
    headers: (parseJsonColumn(headers) ?? []) as RuleMessageRow['headers'],
    size: Number(size),
    hasAttachments: Boolean(attachments),
    isReply: ids.length > 0 || parseTextList(inReplyTo).length > 0,
    read: Boolean(read),
    starred: Boolean(starred),
    draft: Boolean(draft),
    outgoing: Boolean(outgoing),
    labels: parseTextList(labels),
    mailboxId: toKey(mailbox),
    folder: folder as string | null,
    receivedAt: new Date(receivedAt as string).toISOString(),
  };
}
