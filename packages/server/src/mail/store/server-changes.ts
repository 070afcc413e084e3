/** Changes of stored e-mails that the mail server reports: their effect on counts, conversations and events. */
import { readAccountServers } from '../../database/mail/account-server-rows.ts';
import { type EmailPlacement, EmailRows } from '../../database/mail/email-rows.ts';
import { FlagRows } from '../../database/mail/flag-rows.ts';
import { PlacementRows } from '../../database/mail/placement-rows.ts';
import { type ServerPlacement, ServerPlacementRows } from '../../database/mail/server-placement-rows.ts';
import { appendMailEvent } from './mail-events.ts';
import type { MailTransaction } from './mail-transaction.ts';
import { MailboxCounts } from './mailbox-counts.ts';
import { OperationQueue } from './operation-queue.ts';
import { applyFlags, diffEmailFlags, readEmailFlags } from './server-flags.ts';

/** What a change altered. */
export interface ChangedEmails {
  /** E-mails whose placements changed. */
  readonly placed: Iterable<number>;
  /** Names of the fields that changed, by e-mail. */
  readonly fields: ReadonlyMap<number, readonly string[]>;
}

/** Fields by which conversations count. */
const countedFields: ReadonlySet<string> = new Set(['read', 'starred', 'folder', 'labels']);

/**
 * Runs a change of the placements and flags of e-mails, then updates their primary mailboxes, the counts of mailboxes and
 * conversations, and appends the events.
 *
 * @param emails all that the change may touch.
 */
export async function changeEmails(
  mail: MailTransaction,
  emails: readonly number[],
  change: () => Promise<ChangedEmails>,
): Promise<void> {
  if (emails.length === 0) return;
  const rows = new EmailRows(mail.database, mail.transaction);
  const before = await rows.readPlacements(emails);
  const { placed, fields: reported } = await change();
  const placedEmails = [...placed];
  const fields = mergeFields(reported, await settleFlags(mail, before));
  if (placedEmails.length === 0 && fields.size === 0) return;
  const moved = await new PlacementRows(mail.database, mail.transaction).updatePrimaryMailboxes(placedEmails);
  const changed = new Map(fields);
  for (const email of moved) changed.set(email, [...(fields.get(email) ?? []), 'mailboxId', 'folder']);
  const counts = new MailboxCounts();
  for (const each of before) for (const mailbox of each.mailboxIds) counts.addEmail(mailbox, each, -1);
  for (const each of await rows.readPlacements(emails))
    for (const mailbox of each.mailboxIds) counts.addEmail(mailbox, each, 1);
  await rows.count(counts.changes);
  await updateConversations(mail, rows, before, changed);
}

/**
 * Sets the flags of e-mails to those that the mail server has confirmed, if nothing else is possible: all their
 * messages are known and have the same flags, and no change of flags is waiting. Without this, an e-mail with two
 * copies whose flags differed would keep the flags of a copy that no longer exists.
 *
 * @returns the fields that changed, by e-mail.
 */
export async function settleFlags(
  mail: MailTransaction,
  emails: readonly Pick<EmailPlacement, 'id' | 'accountId'>[],
): Promise<Map<number, string[]>> {
  const changed = new Map<number, string[]>();
  const rows = new FlagRows(mail.database, mail.transaction);
  const placements = new ServerPlacementRows(mail.database, mail.transaction);
  const servers = await readAccountServers(mail.database, mail.transaction, [
    ...new Set(emails.map(({ accountId }) => accountId)),
  ]);
  for (const [account, list] of Map.groupBy(emails, ({ accountId }) => accountId)) {
    const server = servers.get(account);
    if (!server) continue;
    const keys = list.map(({ id }) => id);
    const queue = await OperationQueue.ofEmails(mail, account, keys);
    const local = await rows.read(keys);
    const changes = new Map<number, ReadonlyMap<string, boolean>>();
    for (const [email, known] of Map.groupBy(await placements.readByEmails(keys), ({ emailId }) => emailId)) {
      const stored = local.get(email);
      const confirmed = readCommonFlags(known);
      if (!stored || !confirmed || queue.ofEmail(email).length > 0) continue;
      changes.set(
        email,
        diffEmailFlags(stored, readEmailFlags(confirmed), server.hasGmailLabels ? 'gmail' : 'keywords'),
      );
    }
    for (const [email, names] of await applyServerFlags(mail, queue, changes)) changed.set(email, names);
  }
  return changed;
}

/** The flags that all messages of an e-mail have; null: they differ, or are not all known. */
function readCommonFlags(placements: readonly ServerPlacement[]): readonly string[] | null {
  const [first] = placements;
  const form = JSON.stringify(first?.flags ?? null);
  return placements.every(({ uid, flags }) => uid !== null && JSON.stringify(flags) === form)
    ? (first?.flags ?? null)
    : null;
}

function mergeFields(
  one: ReadonlyMap<number, readonly string[]>,
  other: ReadonlyMap<number, readonly string[]>,
): Map<number, readonly string[]> {
  const merged = new Map(one);
  for (const [email, names] of other) merged.set(email, [...new Set([...(one.get(email) ?? []), ...names])]);
  return merged;
}

async function updateConversations(
  mail: MailTransaction,
  rows: EmailRows,
  before: readonly EmailPlacement[],
  changed: ReadonlyMap<number, readonly string[]>,
): Promise<void> {
  const { transaction } = mail;
  for (const [names, list] of Map.groupBy(changed, ([, fields]) => fields.join())) {
    const keys = list.map(([email]) => email);
    await appendMailEvent(transaction, mail, { name: 'emails.updated', keys, changed: names.split(',') });
  }
  const isCounted = ({ id }: EmailPlacement): boolean =>
    changed.get(id)?.some((name) => countedFields.has(name)) ?? false;
  const conversations = [...new Set(before.filter(isCounted).flatMap(({ conversationId }) => conversationId ?? []))];
  if (conversations.length === 0) return;
  await rows.recount(conversations);
  await appendMailEvent(transaction, mail, { name: 'conversations.updated', keys: conversations });
}

/**
 * Applies flags that the server changed. A queued local change of a flag wins: the flag keeps its local value.
 *
 * @param changes names of the server with their new values, by e-mail.
 * @returns the fields that changed, by e-mail.
 */
export async function applyServerFlags(
  mail: MailTransaction,
  queue: OperationQueue,
  changes: ReadonlyMap<number, ReadonlyMap<string, boolean>>,
): Promise<Map<number, string[]>> {
  const rows = new FlagRows(mail.database, mail.transaction);
  const stored = await rows.read([...changes].filter(([, names]) => names.size > 0).map(([email]) => email));
  const changed = new Map<number, string[]>();
  const written = new Map<string, { readonly flags: Parameters<FlagRows['write']>[1]; readonly emails: number[] }>();
  for (const [email, before] of stored) {
    const { draft: _, ...flags } = before;
    const queued = new Set(
      queue.ofEmail(email).flatMap((each) => [...(each.flags?.add ?? []), ...(each.flags?.remove ?? [])]),
    );
    const after = applyFlags(flags, new Map([...(changes.get(email) ?? [])].filter(([name]) => !queued.has(name))));
    const fields = (Object.keys(after) as (keyof typeof after)[]).filter(
      (name) => JSON.stringify(after[name]) !== JSON.stringify(flags[name]),
    );
    if (fields.length === 0) continue;
    changed.set(email, fields);
    const form = JSON.stringify(after);
    const same = written.get(form) ?? { flags: after, emails: [] };
    same.emails.push(email);
    written.set(form, same);
  }
  for (const { flags, emails } of written.values()) await rows.write(emails, flags);
  return changed;
}
