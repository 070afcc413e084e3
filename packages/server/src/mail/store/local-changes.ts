/** Local changes of e-mails whose accounts have a mail server. Accounts without one are left alone. */
import type { Transaction } from '../../database/database.ts';
import { type AccountServer, readAccountServers } from '../../database/mail/account-server-rows.ts';
import type { EmailPlacement } from '../../database/mail/email-rows.ts';
import { FlagRows } from '../../database/mail/flag-rows.ts';
import { readMailboxRow } from '../../database/mail/mailbox-rows.ts';
import { type ServerPlacement, ServerPlacementRows } from '../../database/mail/server-placement-rows.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { LocalOperations } from './local-operations.ts';
import { type MailTransaction, toMailTransaction } from './mail-transaction.ts';
import { OperationQueue } from './operation-queue.ts';
import { diffEmailFlags } from './server-flags.ts';

/** What identifies an e-mail, and whether its account has a mail server. */
type ServerEmail = Pick<EmailPlacement, 'id' | 'accountId' | 'hasServer'>;

/** Calls `work` for the e-mails of each account that has a mail server. */
async function forEachServer(
  mail: MailTransaction,
  emails: readonly ServerEmail[],
  work: (server: AccountServer, keys: readonly number[]) => Promise<void>,
): Promise<void> {
  const byAccount = Map.groupBy(
    emails.filter(({ hasServer }) => hasServer),
    ({ accountId }) => accountId,
  );
  if (byAccount.size === 0) return;
  const servers = await readAccountServers(mail.database, mail.transaction, [...byAccount.keys()]);
  for (const [account, list] of byAccount) {
    const server = servers.get(account);
    const keys = list.map(({ id }) => id);
    if (server) await work(server, keys);
  }
}

const doNothing = async (): Promise<void> => {};

/**
 * Prepares a change of flags. Call it before the flags are written.
 *
 * @returns what is to be done after they are written: queues the changes for the mail servers.
 */
export async function trackFlags(
  context: RecordContext,
  transaction: Transaction,
  emails: readonly ServerEmail[],
): Promise<() => Promise<void>> {
  const keys = emails.filter(({ hasServer }) => hasServer).map(({ id }) => id);
  if (keys.length === 0) return doNothing;
  const mail = toMailTransaction(context, transaction);
  const rows = new FlagRows(mail.database, transaction);
  const before = await rows.read(keys);
  return async () => {
    const after = await rows.read(keys);
    await forEachServer(mail, emails, async (server, ids) => {
      const mode = server.hasGmailLabels ? 'gmail' : 'keywords';
      const changes = ids.flatMap((id) => {
        const [old, now] = [before.get(id), after.get(id)];
        return old && now ? [[id, diffEmailFlags(old, now, mode)] as const] : [];
      });
      await new LocalOperations(mail, server).queueFlags(new Map(changes));
    });
  };
}

/** A move of e-mails, as the caller makes it. */
export interface TrackedMove {
  readonly emails: readonly EmailPlacement[];
  /** The mailbox that they leave; null: all their mailboxes. */
  readonly from: number | null;
  readonly to: number;
  /** Other mailboxes that they are put into, too. */
  readonly copies: readonly number[];
}

/** Prepares a move. Call it before the placements change. @returns what is to be done after that. */
export async function trackMove(
  context: RecordContext,
  transaction: Transaction,
  { emails, from, to, copies }: TrackedMove,
): Promise<() => Promise<void>> {
  const keys = emails.filter(({ hasServer }) => hasServer).map(({ id }) => id);
  if (keys.length === 0) return doNothing;
  const mail = toMailTransaction(context, transaction);
  const before: readonly ServerPlacement[] = await new ServerPlacementRows(mail.database, transaction).readByEmails(
    keys,
  );
  const left = new Set(emails.filter(({ folder }) => folder === 'outbox').map(({ id }) => id));
  return () =>
    forEachServer(mail, emails, async (server, ids) => {
      // Gmail stores what it sends itself.
      const isFiled = server.hasGmailLabels && (await readMailboxRow(mail.database, transaction, to))?.role === 'sent';
      const sent = isFiled ? new Set<number>() : left;
      await new LocalOperations(mail, server).queueMoves({ emails: ids, before, from, to, copies, sent });
    });
}

/**
 * The provider of an account stores sent messages itself. So a sent message is not stored again, but linked when it is
 * read.
 */
export async function dropAppend(
  context: RecordContext,
  transaction: Transaction,
  { id, accountId }: Pick<EmailPlacement, 'id' | 'accountId'>,
): Promise<void> {
  const queue = await OperationQueue.ofEmails(toMailTransaction(context, transaction), accountId, [id]);
  for (const each of queue.all) if (each.kind === 'append' && each.status === 'queued') queue.remove(each);
  await queue.flush();
}

/** Queues the permanent deletion of e-mails. Call it before they are deleted. */
export async function queueRemoval(
  context: RecordContext,
  transaction: Transaction,
  emails: readonly ServerEmail[],
): Promise<void> {
  const mail = toMailTransaction(context, transaction);
  await forEachServer(mail, emails, (server, keys) => new LocalOperations(mail, server).queueDeletes(keys));
}

/** Queues that a new message is stored on the mail server of its account, in its mailbox. */
export async function queueNewMessage(
  context: RecordContext,
  transaction: Transaction,
  { id, accountId, mailboxId, hasServer }: EmailPlacement,
): Promise<void> {
  if (mailboxId === null) return;
  const mail = toMailTransaction(context, transaction);
  await forEachServer(mail, [{ id, accountId, hasServer }], (server) =>
    new LocalOperations(mail, server).queueAppend(id, mailboxId),
  );
}

/** Queues a new version of a draft. @param notBefore ISO 8601: later versions until then replace this one. */
export async function queueDraftVersion(
  context: RecordContext,
  transaction: Transaction,
  draft: ServerEmail,
  notBefore: string,
): Promise<void> {
  const mail = toMailTransaction(context, transaction);
  await forEachServer(mail, [draft], (server) => new LocalOperations(mail, server).queueDraft(draft.id, notBefore));
}
