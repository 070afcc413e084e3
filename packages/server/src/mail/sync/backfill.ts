/** The first synchronisation of a mailbox: newest messages first, resumable after every batch. */

import type { MailboxState } from './mailbox-state.ts';
import type { SyncParts } from './mailbox-sync.ts';

/** Messages of one step. Other work of the account runs between two steps. The first step is short, so that the newest messages show early. */
const stepMessages = 150;
const firstStepMessages = 50;

/**
 * Stores the next messages of a mailbox, from the newest to the oldest. The mailbox must have been looked at by `MailboxSync.pull`.
 *
 * @returns false where the mailbox has got another UIDVALIDITY, so that it must be looked at again first.
 */
export async function backfillStep(parts: SyncParts, state: MailboxState): Promise<boolean> {
  const { session, download, since, account, serverMail } = parts;
  if (state.isComplete) return true;
  parts.pace.begin();
  const selected = await session.select(state.mailbox.rawPath ?? state.mailbox.path);
  if (selected.uidvalidity !== state.mailbox.uidvalidity) return false;
  const upTo = (state.mailbox.backfillUid ?? selected.uidnext) - 1;
  if (state.remaining === null) state.remaining = upTo < 1 ? [] : await session.searchUids(`1:${upTo}`, since);
  const isFirst = state.mailbox.backfillUid === state.mailbox.uidnext;
  const { remaining } = state;
  const uids = remaining.slice(-(isFirst ? firstStepMessages : stepMessages));
  if (uids.length > 0) {
    const entries = await session.fetchEntries(uids, state.isRelinking);
    const { stored } = await download.store(state, entries, { quiet: true, order: 'descending', headersFirst: true });
    if (state.count !== null) state.count += stored;
    remaining.length -= uids.length;
  }
  parts.requireLease();
  const isComplete = remaining.length === 0;
  const cursor = { backfillUid: isComplete ? 1 : Math.min(...uids) };
  if (isComplete) await serverMail.finishNewValidity(account, state.mailbox);
  await serverMail.setCursor(account, state.mailbox, cursor);
  state.setCursor(cursor);
  if (!isComplete) {
    await parts.pace.rest();
    return true;
  }
  state.isRelinking = false;
  state.validityChanges = 0;
  return true;
}
