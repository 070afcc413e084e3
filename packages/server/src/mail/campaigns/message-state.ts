/** What becomes of the message of a recipient, and how the campaign counts it. Pure: no input or output. */

import type { CampaignMessage } from '../../database/mail/campaign-message-rows.ts';
import type { CampaignCounts } from '../../database/mail/campaign-rows.ts';

/**
 * The status of a recipient:
 *
 * - `queued`: nothing was sent yet.
 * - `sending`: its message is in the outbox.
 * - `sent`: the SMTP server of the account took it. `bounced`, `replied` and `unsubscribed` are what followed.
 * - `failed`: a server refused it. `unknown`: the connection was lost before the server answered.
 * - `skipped`: the address is suppressed, or the record left the audience. `cancelled`: the campaign or the message was.
 */
export type CampaignMessageStatus =
  | 'queued'
  | 'sending'
  | 'sent'
  | 'failed'
  | 'unknown'
  | 'bounced'
  | 'replied'
  | 'unsubscribed'
  | 'skipped'
  | 'cancelled';

/** Something that happens to a message. `at` is ISO 8601. */
export type MessageOutcome =
  | { readonly type: 'sending' | 'sent' | 'unknown' | SeenType; readonly at: string }
  | { readonly type: 'failed' | 'skipped' | 'cancelled'; readonly at: string; readonly reason: string | null };

/** What only a recipient does who has received the message. */
type SeenType = (typeof seenTypes)[number];
const seenTypes = ['replied', 'unsubscribed', 'opened', 'clicked'] as const;

/** The part of a message that changes. */
export type CampaignMessageState = Pick<
  CampaignMessage,
  'status' | 'reason' | 'sentAt' | 'bouncedAt' | 'repliedAt' | 'unsubscribedAt' | 'openedAt' | 'clickedAt'
>;

/** The message after an outcome; null where nothing changes. A refusal after the message was sent is a bounce. */
export function applyOutcome(before: CampaignMessageState, outcome: MessageOutcome): CampaignMessageState | null {
  const next = { ...before };
  const { type, at } = outcome;
  if (isSeenType(type)) {
    next.sentAt ??= at;
    next[`${type}At`] ??= at;
  } else if (type === 'sent') next.sentAt ??= at;
  else if (type === 'failed' && before.sentAt !== null) next.bouncedAt ??= at;
  else if (before.sentAt === null) next.status = type;
  if ('reason' in outcome && (next.status !== before.status || next.bouncedAt !== before.bouncedAt))
    next.reason = outcome.reason;
  if (next.sentAt !== null) {
    next.status = describeSent(next);
    if (next.status !== 'bounced') next.reason = null;
  }
  return (Object.keys(next) as (keyof CampaignMessageState)[]).some((name) => next[name] !== before[name])
    ? next
    : null;
}

function isSeenType(type: MessageOutcome['type']): type is SeenType {
  return (seenTypes as readonly string[]).includes(type);
}

function describeSent({ bouncedAt, repliedAt, unsubscribedAt }: CampaignMessageState): CampaignMessageStatus {
  if (unsubscribedAt !== null) return 'unsubscribed';
  if (bouncedAt !== null) return 'bounced';
  return repliedAt === null ? 'sent' : 'replied';
}

/** What a change of a message adds to the counters of its campaign. */
export function countChange(before: CampaignMessageState, after: CampaignMessageState): CampaignCounts {
  const [from, to] = [countMessage(before), countMessage(after)];
  const names = Object.keys(to) as (keyof typeof to)[];
  return Object.fromEntries(names.map((name) => [name, to[name] - from[name]]));
}

function countMessage(message: CampaignMessageState) {
  const { status, sentAt, bouncedAt, repliedAt, unsubscribedAt, openedAt, clickedAt } = message;
  return {
    sent: Number(sentAt !== null),
    failed: Number(status === 'failed'),
    unknown: Number(status === 'unknown'),
    skipped: Number(status === 'skipped'),
    bounced: Number(bouncedAt !== null),
    replied: Number(repliedAt !== null),
    unsubscribed: Number(unsubscribedAt !== null),
    opened: Number(openedAt !== null),
    clicked: Number(clickedAt !== null),
  };
}

/** The activity that a change is shown as; null for one that is not shown. */
export function describeActivity(before: CampaignMessageState, after: CampaignMessageState): string | null {
  for (const name of ['unsubscribed', 'bounced', 'replied', 'clicked', 'opened'] as const)
    if (before[`${name}At`] === null && after[`${name}At`] !== null) return name;
  if (before.sentAt === null && after.sentAt !== null) return 'sent';
  return before.status !== after.status && ['failed', 'unknown', 'skipped'].includes(after.status)
    ? after.status
    : null;
}
