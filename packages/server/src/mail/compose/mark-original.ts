/** Marks e-mails as answered or forwarded when the reply is sent, and removes the mark when sending is cancelled. */
import { DraftRows } from '../../database/mail/draft-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { FlagRows } from '../../database/mail/flag-rows.ts';
import type { TransactionContext } from '../../records/record-context.ts';
import { readStates, writeHistory } from '../../records/write/history.ts';
import { trackFlags } from '../store/local-changes.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import type { Draft, DraftOriginal } from './draft.ts';

/**
 * Marks the e-mail that a message answers or forwards. Call it in the transaction that puts the message into the outbox.
 *
 * @returns the draft to be stored as its source: it says whether this message has set the mark.
 */
export async function markOriginal(tx: TransactionContext, account: number, draft: Draft): Promise<Draft> {
  const { original } = draft;
  if (!original) return draft;
  const isMarked = await setMark(tx, account, original, true);
  return { ...draft, original: { ...original, isMarked } };
}

/** Removes the mark that a message has set, unless another message answers or forwards the e-mail too. */
export async function unmarkOriginal(tx: TransactionContext, account: number, email: number): Promise<void> {
  const rows = new DraftRows(tx.database, tx.tx);
  const source = (await rows.readSource(email)) as Draft | null;
  const original = source?.original;
  if (!source || !original?.isMarked) return;
  await rows.setSource(email, { ...source, original: { ...original, isMarked: false } }, source.bcc);
  for (const { id, source: other } of await rows.readSentSources(account, [email, original.id])) {
    const sent = other as Draft;
    if (id === email || sent.original?.id !== original.id || sent.original.flag !== original.flag) continue;
    // The other message now owns the mark.
    await rows.setSource(id, { ...sent, original: { ...sent.original, isMarked: true } }, sent.bcc);
    return;
  }
  await setMark(tx, account, original, false);
}

/** @returns whether the flag has changed. */
async function setMark(
  tx: TransactionContext,
  account: number,
  { id, flag }: DraftOriginal,
  isSet: boolean,
): Promise<boolean> {
  const transaction = tx.tx;
  const rows = new FlagRows(tx.database, transaction);
  const [placement] = await new EmailRows(tx.database, transaction).readPlacements([id]);
  const flags = (await rows.read([id])).get(id);
  if (!placement || placement.accountId !== account || !flags || flags[flag] === isSet) return false;
  const emails = tx.registry.get('emails');
  const before = await readStates(tx, emails, transaction, [id]);
  const queueFlags = await trackFlags(tx, transaction, [placement]);
  await rows.write([id], { ...flags, [flag]: isSet });
  await queueFlags();
  await emitMailEvent(tx, transaction, { name: 'emails.updated', keys: [id], changed: [flag] });
  await writeHistory({ context: tx, collection: emails, transaction }, 'updated', [id], before);
  return true;
}
