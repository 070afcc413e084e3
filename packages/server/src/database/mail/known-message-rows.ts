/** Statements that match messages of a mail server with stored e-mails, without reading the bytes of the messages. */
import type { Database, Transaction } from '../database.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';

/** The properties of a message that the server reports without its bytes. */
export interface MessageSigns {
  readonly uid: number;
  readonly providerId: string | null;
  readonly messageId?: string | null;
  readonly size?: number | null;
  readonly internalDate: string | null;
}

/**
 * The stored e-mails for messages of a mailbox, by UID. Message-ID, size and second of receipt together are only
 * sufficient for e-mails that the server has lost elsewhere or that are expected in the mailbox, and only if exactly
 * one e-mail matches. For a message that was written here, the Message-ID is sufficient.
 */
export async function findKnownMessages(
  { database, transaction }: { readonly database: Database; readonly transaction: Transaction },
  account: number,
  mailbox: number,
  messages: readonly MessageSigns[],
): Promise<Map<number, number>> {
  const run = createTxRunner(database, transaction);
  const isOfAccount = sql`e."accountId"=${value('integer', account)}`;
  const isOne = (column: string, values: readonly string[]): ReturnType<typeof sql> =>
    database.dialect.isIn(sql`${column}`, listValue('text', values));
  const found = new Map<number, number>();
  const providerIds = messages.flatMap(({ providerId }) => providerId ?? []);
  if (providerIds.length > 0) {
    const rows = await run(
      sql`SELECT e."providerId",e.id FROM emails e WHERE ${isOfAccount} AND ${isOne('e."providerId"', providerIds)}`,
    );
    const emails = new Map(rows.map(([providerId, id]) => [providerId as string, Number(id)]));
    for (const { uid, providerId } of messages) {
      const email = providerId === null ? undefined : emails.get(providerId);
      if (email !== undefined) found.set(uid, email);
    }
  }
  const rest = messages.filter(({ uid, messageId }) => !found.has(uid) && messageId);
  if (rest.length === 0) return found;
  const ids = rest.map(({ messageId }) => readMessageId(messageId ?? ''));
  const isExpected = sql`EXISTS (SELECT 1 FROM "mailPlacements" p WHERE p."emailId"=e.id AND p.uid IS NULL AND (p."mailboxId"=${value('integer', mailbox)} OR EXISTS (SELECT 1 FROM "mailLostPlacements" l WHERE l."placementId"=p.id)))`;
  const isWritten = sql`EXISTS (SELECT 1 FROM "mailContents" c WHERE c.id=e."contentId" AND c.source IS NOT NULL)`;
  const rows = await run(
    sql`SELECT e."messageId",e.size,e."receivedAt",e.id,CASE WHEN ${isWritten} THEN 1 ELSE 0 END FROM emails e WHERE ${isOfAccount} AND ${isOne('e."messageId"', ids)} AND ${isExpected}`,
  );
  const form = (id: string, size: unknown, date: unknown): string =>
    `${size} ${Math.floor(new Date(date as string).getTime() / 1000)} ${id}`;
  const emails = Map.groupBy(rows, ([id, size, date]) => form(id as string, size, date));
  const written = Map.groupBy(
    rows.filter((row) => Number(row[4]) === 1),
    ([id]) => id as string,
  );
  for (const { uid, messageId, size, internalDate } of rest) {
    const id = readMessageId(messageId ?? '');
    const same = internalDate === null ? [] : (emails.get(form(id, size, internalDate)) ?? []);
    // Servers may change a message that was written here when they send or store it. Its Message-ID was made here.
    const [match, another] = same.length > 0 ? same : (written.get(id) ?? []);
    if (match && !another) found.set(uid, Number(match[3]));
  }
  return found;
}

/** The server's ids of an e-mail. */
export interface ProviderIds {
  readonly emailId: number;
  readonly providerId: string | null;
  readonly providerThreadId?: string | null;
}

/** Stores the server's ids of e-mails that have none: they were imported or written here. */
export async function setProviderIds(
  { database, transaction }: { readonly database: Database; readonly transaction: Transaction },
  emails: readonly ProviderIds[],
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const known = emails.filter(({ providerId }) => providerId !== null);
  if (known.length === 0) return;
  const keys = listValue(
    'bigint',
    known.map(({ emailId }) => emailId),
  );
  const rows = await run(
    sql`SELECT id FROM emails WHERE ${database.dialect.isIn(sql`id`, keys)} AND "providerId" IS NULL`,
  );
  const missing = new Set(rows.map(([id]) => Number(id)));
  for (const { emailId, providerId, providerThreadId = null } of known)
    if (missing.has(emailId))
      await run(
        sql`UPDATE emails SET "providerId"=${value('text', providerId)},"providerThreadId"=coalesce(${value('text', providerThreadId)},"providerThreadId") WHERE id=${value('bigint', emailId)}`,
      );
}

/** A Message-ID without its angle brackets, the stored form. */
const readMessageId = (text: string): string => text.trim().replace(/^<([^<>]*)>$/, '$1');
