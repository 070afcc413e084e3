import { readMailboxRows } from '../../database/mail/mailbox-rows.ts';
import { loadLogin } from '../connect/load-login.ts';
import { MailServerProblem } from '../connect/mail-server-problem.ts';
import { openImap } from '../connect/open-imap.ts';
import { SyncSession } from '../sync/sync-session.ts';
import type { ConnectorParts } from './smtp-connector.ts';

/** How long the server may take to answer. */
const lookupMilliseconds = 30_000;

/**
 * Looks for a message in the mailbox for sent messages on the account's IMAP server.
 *
 * @param messageId without angle brackets.
 * @returns null if the account has no IMAP server, or if it cannot be queried now.
 */
export async function findSentCopy(
  parts: ConnectorParts,
  account: number,
  messageId: string,
  signal: AbortSignal,
): Promise<boolean | null> {
  const mailboxes = await readMailboxRows(parts.database, null, account);
  const rawPath = mailboxes.find(({ role }) => role === 'sent')?.rawPath ?? null;
  if (rawPath === null) return null;
  try {
    const login = await loadLogin(parts, account, 'imap');
    const client = await openImap(login, { services: parts.services, logger: parts.logger, signal });
    try {
      const session = new SyncSession(client, {
        commandMilliseconds: lookupMilliseconds,
        fetchMilliseconds: lookupMilliseconds,
      });
      await session.select(rawPath);
      return (await session.searchMessageId(messageId)).length > 0;
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof MailServerProblem || signal.aborted) return null;
    parts.logger.info({ err: error, account }, 'A message could not be looked for among the sent messages.');
    return null;
  }
}
