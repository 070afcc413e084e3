import type { DueOperation } from '../../database/mail/operation-rows.ts';
import type { SendContext } from './operation-outcome.ts';
import type { StoredMessage } from './stored-messages.ts';

/** Stores messages of this server in mailboxes of the mail server: drafts, sent messages, and imported ones. */
export async function appendMessages(context: SendContext, group: readonly DueOperation[]): Promise<void> {
  for (const each of group) await appendMessage(context, each);
}

async function appendMessage(context: SendContext, operation: DueOperation): Promise<void> {
  const { outcome, rawSource } = context;
  const message = operation.emailId === null ? null : await rawSource.read(operation.emailId);
  if (!message || operation.rawPath === null) return outcome.drop(operation, null);
  const { flags } = message;
  if (operation.attempts > 0) {
    const found = await findAppended(context, operation, message);
    if (found) return outcome.complete(operation, { ...found, flags });
  }
  const date = message.receivedAt === null ? undefined : new Date(message.receivedAt);
  const { uidValidity, uid } = await append(context, operation, message, date);
  const position = uidValidity === undefined || uid === undefined ? {} : { uidvalidity: String(uidValidity), uid };
  await outcome.complete(operation, { ...position, flags });
}

async function append(
  { session }: SendContext,
  { rawPath }: DueOperation,
  { raw, flags }: StoredMessage,
  date: Date | undefined,
): Promise<{ uidValidity?: bigint | undefined; uid?: number | undefined }> {
  // Keywords that the mailbox does not take are left out by the server.
  const appended = await session.client.append(rawPath ?? '', Buffer.from(raw), [...flags], date);
  if (!appended) throw session.refuse('APPEND');
  return appended;
}

/** The message of an append whose end is unknown: the same Message-ID and the same bytes, or the same size without a Message-ID. */
async function findAppended(
  { session }: SendContext,
  { rawPath }: DueOperation,
  { raw, messageId }: StoredMessage,
): Promise<{ uidvalidity: string; uid: number } | null> {
  const { uidvalidity } = await session.select(rawPath ?? '');
  const candidates =
    messageId === null ? await session.searchSize(raw.length) : await session.searchMessageId(messageId);
  for (const { uid, size } of (await session.fetchIdentities(candidates)).reverse()) {
    if (messageId === null && size !== raw.length) continue;
    const [stored] = await session.fetchMessages([uid]);
    // Some servers change line ends or add headers: then the Message-ID decides.
    if (stored && (Buffer.compare(stored.raw, raw) === 0 || messageId !== null)) return { uidvalidity, uid };
  }
  return null;
}
