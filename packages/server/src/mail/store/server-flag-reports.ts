/** Flags that a mail server reports for messages that are stored. */
import { OperationRows } from '../../database/mail/operation-rows.ts';
import { type ServerPlacement, ServerPlacementRows } from '../../database/mail/server-placement-rows.ts';
import type { MailAccount } from './incoming-mail.ts';
import type { MailTransaction } from './mail-transaction.ts';
import { OperationQueue } from './operation-queue.ts';
import { applyServerFlags, changeEmails } from './server-changes.ts';
import { diffServerFlags, normaliseFlags } from './server-flags.ts';

/** The flags of a message as the server reports them. */
export interface FlagReport {
  readonly uid: number;
  readonly flags: readonly string[];
  /** Labels of Gmail; null on other servers. */
  readonly labels: readonly string[] | null;
  readonly modseq: string | null;
}

/** Stores the reports for messages of a mailbox; those of unknown messages are ignored. */
export async function storeFlagReports(
  mail: MailTransaction,
  account: MailAccount,
  mailbox: { readonly id: number; readonly uidvalidity: string },
  reports: readonly FlagReport[],
): Promise<void> {
  const rows = new ServerPlacementRows(mail.database, mail.transaction);
  const placements = await findReported(mail, account, mailbox, reports);
  const emails = [...new Set([...placements.values()].map(({ emailId }) => emailId))];
  await changeEmails(mail, emails, async () => {
    const queue = await OperationQueue.ofEmails(mail, account.id, emails);
    const changes = new Map<number, Map<string, boolean>>();
    const confirmed = new Map<string, { flags: string[]; modseq: string | null; ids: number[] }>();
    // A server may report a message twice in one answer, when it changes meanwhile: the last report counts.
    for (const { uid, flags, labels, modseq } of new Map(reports.map((each) => [each.uid, each])).values()) {
      const placement = placements.get(uid);
      if (!placement) continue;
      const after = normaliseFlags(flags, labels);
      const form = JSON.stringify([after, modseq]);
      const same = confirmed.get(form) ?? { flags: after, modseq, ids: [] };
      same.ids.push(placement.id);
      confirmed.set(form, same);
      const changed = changes.get(placement.emailId) ?? new Map<string, boolean>();
      for (const [name, isSet] of diffServerFlags(placement.flags ?? [], after)) changed.set(name, isSet);
      changes.set(placement.emailId, changed);
    }
    for (const { flags, modseq, ids } of confirmed.values()) await rows.setFlags(ids, flags, modseq);
    return { placed: [], fields: await applyServerFlags(mail, queue, changes) };
  });
}

/** The placements by UID. A message that was moved here is at its former place on the server until the move has been sent. */
async function findReported(
  { database, transaction }: MailTransaction,
  account: MailAccount,
  { id, uidvalidity }: { readonly id: number; readonly uidvalidity: string },
  reports: readonly FlagReport[],
): Promise<Map<number, ServerPlacement>> {
  const rows = new ServerPlacementRows(database, transaction);
  const uids = reports.map(({ uid }) => uid);
  const found = new Map<number, ServerPlacement>();
  for (const each of await rows.readByUids(id, uidvalidity, uids)) if (each.uid !== null) found.set(each.uid, each);
  const operations = await new OperationRows(database, transaction, account.id).readByUids(id, uidvalidity, uids);
  const moves = operations.flatMap(({ kind, emailId, targetId, uid }) =>
    kind === 'move' && emailId !== null && uid !== null && !found.has(uid) ? [{ emailId, targetId, uid }] : [],
  );
  if (moves.length === 0) return found;
  const waiting = await rows.readByEmails(moves.map(({ emailId }) => emailId));
  for (const { emailId, targetId, uid } of moves) {
    const placement = waiting.find((each) => each.emailId === emailId && each.mailboxId === targetId && !each.uid);
    if (placement) found.set(uid, placement);
  }
  return found;
}
