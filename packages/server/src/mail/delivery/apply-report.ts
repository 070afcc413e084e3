/** What a report changes about the delivery of a message. Pure: no input or output. */
import type { MailReport, ReportedAction, ReportedRecipient } from '../parse/mail-report.ts';
import { changeRecipients, type DeliveryState, isUnknown, isWaiting, type RecipientState } from './delivery-state.ts';
import { toEnvelopeAddress } from './smtp-abilities.ts';

/** Notes that the server has the message, because a reply to it, a copy of it or a report about it has arrived. */
export function applyEvidence(state: DeliveryState, at: string): DeliveryState | null {
  const reply = 'A reply, a copy or a report shows that the message was sent.';
  const changed = changeRecipients(state, isUnknown, { status: 'accepted', at, code: null, reply });
  return changed && { ...changed, problem: null };
}

/**
 * Adds a report to what is known of a message. A report about other addresses changes nothing, because anybody can send one.
 *
 * @param at the time of its arrival, ISO 8601.
 * @returns null where nothing changes.
 */
export function applyReport(state: DeliveryState, { recipients }: MailReport, at: string): DeliveryState | null {
  let changed: DeliveryState | null = null;
  for (const each of recipients) {
    const before: DeliveryState = changed ?? state;
    const index = findRecipient(before.recipients, each);
    const recipient = before.recipients[index];
    const after = recipient && applyToRecipient(recipient, each, at);
    if (after) changed = { ...before, recipients: before.recipients.with(index, after) };
  }
  return changed;
}

/** @returns the index of the recipient that a report is about; -1: none. */
function findRecipient(recipients: readonly RecipientState[], { original, final }: ReportedRecipient): number {
  for (const wanted of [original, final]) {
    const index = recipients.findIndex(({ address }) => wanted !== null && isSameAddress(address, wanted));
    if (index >= 0) return index;
  }
  // After a redirection, a report may only name an address that the sender does not know.
  return recipients.length === 1 && original === null ? 0 : -1;
}

function isSameAddress(address: string, reported: string): boolean {
  return address.toLowerCase() === reported || toEnvelopeAddress(address).toLowerCase() === reported;
}

function applyToRecipient(recipient: RecipientState, report: ReportedRecipient, at: string): RecipientState | null {
  // While attempts are still made here, they decide the outcome.
  if (isWaiting(recipient) || recipient.status === 'cancelled') return null;
  const { action, diagnostic, status } = report;
  if (action === 'displayed') {
    if (recipient.readAt !== undefined) return null;
    return { ...recipient, ...(recipient.status === 'failed' ? {} : { status: 'delivered' as const }), readAt: at };
  }
  const next = nextStatus[action];
  if (rank[next] <= rank[recipient.status]) return null;
  const reply = [status, diagnostic].filter((each) => each !== null).join(' ') || null;
  return { ...recipient, status: next, at, code: readCode(diagnostic), reply: reply ?? recipient.reply };
}

function readCode(diagnostic: string | null): number | null {
  const code = /^([245]\d\d)\b/.exec(diagnostic ?? '')?.[1];
  return code === undefined ? null : Number(code);
}

const nextStatus: Readonly<Record<ReportedAction, 'accepted' | 'delayed' | 'delivered' | 'failed'>> = {
  failed: 'failed',
  delayed: 'delayed',
  delivered: 'delivered',
  relayed: 'accepted',
  expanded: 'accepted',
};

/** Reports may arrive in any order: a status only gives way to one of a higher rank. */
const rank: Readonly<Record<RecipientState['status'], number>> = {
  queued: 9,
  deferred: 9,
  cancelled: 9,
  unknown: 0,
  accepted: 1,
  delayed: 2,
  delivered: 3,
  failed: 4,
};
