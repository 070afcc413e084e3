/**
 * Stores the body of an e-mail that was stored with its headers only, in a transaction that holds the lock of its
 * account.
 */
import type { Transaction } from '../../database/database.ts';
import { findOwnAddresses } from '../../database/mail/account-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { removeMissingBodies } from '../../database/mail/missing-body-rows.ts';
import { type PartialEmail, writeBody } from '../../database/mail/partial-rows.ts';
import { type ArrivalParts, noteArrivals } from '../authenticity/correspondents.ts';
import { appendMailEvent } from './mail-events.ts';
import { buildEmail, buildIndexEntry, type ParsedIncomingMail } from './new-email.ts';

/** What storing a body works with. */
export interface BodyParts extends ArrivalParts {
  readonly transaction: Transaction;
}

const changedFields = ['content', 'snippet', 'size', 'hasAttachments', 'attachments', 'warnings', 'bodyState'];

/**
 * Stores the body of an e-mail. Its conversation, flags and mailboxes stay. Its sender can be verified from now on; rules for arriving
 * mail do not apply to it.
 */
export async function storeBody(
  parts: BodyParts,
  { id, accountId, folder, conversationId }: PartialEmail,
  parsed: ParsedIncomingMail,
): Promise<void> {
  const { database, transaction, isQuiet } = parts;
  const addresses = (await findOwnAddresses(database, transaction, accountId)) ?? new Set<string>();
  const email = { ...buildEmail(parsed, 0, addresses), folder };
  await writeBody(database, transaction, id, { email, entry: buildIndexEntry(id, accountId, parsed.mail) });
  await removeMissingBodies(database, transaction, [id]);
  await noteArrivals(parts, transaction, accountId, { emails: [email], ids: [id] });
  const conversations = conversationId === null ? [] : [conversationId];
  // Conversations show the snippet of their newest e-mail, and count those with attachments.
  await new EmailRows(database, transaction).recount(conversations);
  if (isQuiet) return;
  await appendMailEvent(transaction, parts, { name: 'emails.updated', keys: [id], changed: changedFields });
  await appendMailEvent(transaction, parts, { name: 'conversations.updated', keys: conversations });
}
