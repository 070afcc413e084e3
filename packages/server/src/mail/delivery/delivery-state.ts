/** What is known of the delivery of a message, for each recipient. Pure: no input or output. */
import { isoTime } from '../../base/clock.ts';
import { computeNextAttempt } from './retry-schedule.ts';

/**
 * The outcome for one recipient.
 *
 * - `queued`: no attempt was made yet.
 * - `deferred`: a server refused it temporarily; it is tried again.
 * - `accepted`: the SMTP server of the account took it.
 * - `delayed`: a server on the way reports that it still tries.
 * - `delivered`: a server reports that it arrived.
 * - `failed`: a server refused it for good, or two days are over.
 * - `unknown`: the connection was lost before the server said whether it took it.
 * - `cancelled`: the user ended the attempts.
 */
export type RecipientStatus =
  | 'queued'
  | 'deferred'
  | 'accepted'
  | 'delayed'
  | 'delivered'
  | 'failed'
  | 'unknown'
  | 'cancelled';

/** The outcome for one recipient, as the API shows it. */
export interface RecipientState {
  readonly address: string;
  readonly status: RecipientStatus;
  /** When the status was set, ISO 8601; null: no attempt was made. */
  readonly at: string | null;
  /** The reply code of the server; null without one. */
  readonly code: number | null;
  /** What the server said, at most 500 characters; null if it said nothing. */
  readonly reply: string | null;
  /** When a report said that the message was displayed, ISO 8601; absent: none did. */
  readonly readAt?: string;
}

/** Why a message cannot be sent, and what helps. */
export interface DeliveryProblem {
  readonly code: string;
  readonly message: string;
  readonly cure: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The problem of a message whose account cannot send yet. */
export const smtpMissing: Omit<DeliveryProblem, 'at'> = {
  code: 'smtpMissing',
  message: 'The account has no SMTP server.',
  cure: 'Set "smtp" of the account: then the message is sent.',
};

/** Why a message of a campaign that waits for an attempt is not sent any more. */
export const campaignRefusals = {
  suppressed: {
    code: 'addressSuppressed',
    message: 'The address gets no campaigns of this account any more.',
    cure: 'Nothing needs to be done.',
  },
  cancelled: {
    code: 'campaignCancelled',
    message: 'The campaign was cancelled.',
    cure: 'Nothing needs to be done.',
  },
} as const satisfies Record<string, Omit<DeliveryProblem, 'at'>>;

/** Whether the server itself ended a message of a campaign; null: it did not. */
export function readCampaignRefusal(problem: DeliveryProblem | null): keyof typeof campaignRefusals | null {
  if (problem?.code === campaignRefusals.suppressed.code) return 'suppressed';
  return problem?.code === campaignRefusals.cancelled.code ? 'cancelled' : null;
}

/** What is known of the delivery of a message, as the API shows it. */
export interface DeliveryState {
  /** ISO 8601. */
  readonly sendAt: string;
  readonly attempts: number;
  readonly firstAttemptAt: string | null;
  readonly lastAttemptAt: string | null;
  /** When the next attempt is due; null: none follows. */
  readonly nextAttemptAt: string | null;
  /** What prevented the last attempt as a whole; null: nothing did. */
  readonly problem: DeliveryProblem | null;
  readonly recipients: readonly RecipientState[];
}

/** The outcome of a message as a whole. */
export type MailDeliveryStatus = 'queued' | 'retrying' | 'sent' | 'partlySent' | 'failed' | 'unknown' | 'cancelled';

/** The outcome of one attempt for one recipient. */
export interface RecipientOutcome {
  readonly address: string;
  readonly outcome: 'accepted' | 'deferred' | 'failed' | 'unknown';
  readonly code: number | null;
  readonly reply: string | null;
}

/** One attempt to send a message. */
export interface Attempt {
  readonly outcomes: readonly RecipientOutcome[];
  readonly problem: Omit<DeliveryProblem, 'at'> | null;
}

/** What follows from an attempt. */
export interface AttemptResult {
  readonly state: DeliveryState;
  /** Recipients that failed in this attempt, for the bounce. */
  readonly failed: readonly RecipientState[];
}

const reached: ReadonlySet<RecipientStatus> = new Set(['accepted', 'delayed', 'delivered']);
const waiting: ReadonlySet<RecipientStatus> = new Set(['queued', 'deferred']);

/** Whether a server has taken the message for a recipient. */
export const isReached = ({ status }: RecipientState): boolean => reached.has(status);
/** Whether the message must still be sent to a recipient. */
export const isWaiting = ({ status }: RecipientState): boolean => waiting.has(status);
export const isUnknown = ({ status }: RecipientState): boolean => status === 'unknown';

/** The state of a message that no attempt was made for. */
export function createDeliveryState(sendAt: string, recipients: readonly string[]): DeliveryState {
  return {
    sendAt,
    attempts: 0,
    firstAttemptAt: null,
    lastAttemptAt: null,
    nextAttemptAt: sendAt,
    problem: null,
    recipients: recipients.map((address) => ({ address, status: 'queued', at: null, code: null, reply: null })),
  };
}

/** The stored state of a message; a new one where an earlier server version has queued it. */
export function readDeliveryState(stored: unknown, sendAt: string, recipients: readonly string[]): DeliveryState {
  return (stored as DeliveryState | null) ?? createDeliveryState(sendAt, recipients);
}

/** The outcome of a message as a whole. */
export function summariseDelivery({ recipients, attempts }: DeliveryState): MailDeliveryStatus {
  const has = (test: (each: RecipientState) => boolean): boolean => recipients.some(test);
  if (has(isUnknown)) return 'unknown';
  if (has(isWaiting)) return attempts === 0 ? 'queued' : 'retrying';
  if (recipients.every(isReached)) return 'sent';
  if (has(isReached)) return 'partlySent';
  return has(({ status }) => status === 'failed') ? 'failed' : 'cancelled';
}

/** The status of a message in the outbox. */
export function toOutboxStatus(state: DeliveryState): 'queued' | 'sent' | 'failed' | 'unknown' {
  if (state.recipients.some(isWaiting)) return 'queued';
  if (state.recipients.some(isUnknown)) return 'unknown';
  return state.recipients.some(isReached) ? 'sent' : 'failed';
}

/**
 * Adds an attempt. Recipients that it does not mention stay as they are. After two days, deferred recipients fail.
 *
 * @param now milliseconds since the Unix epoch.
 */
export function applyAttempt(before: DeliveryState, { outcomes, problem }: Attempt, now: number): AttemptResult {
  const time = isoTime(now);
  const attempts = before.attempts + 1;
  const firstAttemptAt = before.firstAttemptAt ?? time;
  const next = computeNextAttempt(attempts, Date.parse(firstAttemptAt), now);
  const byAddress = new Map(outcomes.map((each) => [each.address, each]));
  const recipients = before.recipients.map((each): RecipientState => {
    const outcome = byAddress.get(each.address);
    if (!outcome) return each;
    const { code, reply } = outcome;
    if (outcome.outcome !== 'deferred' || next !== null)
      return { ...each, status: outcome.outcome, at: time, code, reply };
    const final = `It was not accepted within two days. ${reply ?? ''}`.trim();
    return { ...each, status: 'failed', at: time, code, reply: final };
  });
  const state: DeliveryState = {
    ...before,
    attempts,
    firstAttemptAt,
    lastAttemptAt: time,
    nextAttemptAt: recipients.some(isWaiting) && next !== null ? isoTime(next) : null,
    problem: problem && { ...problem, at: time },
    recipients,
  };
  return { state, failed: recipients.filter((each) => each.status === 'failed' && byAddress.has(each.address)) };
}

/** Marks recipients to whom a worker was transmitting the message when it died. */
export function markInterrupted(before: DeliveryState, interrupted: readonly string[], now: number): DeliveryState {
  const addresses = new Set(interrupted);
  const recipients = before.recipients.map((each): RecipientState => {
    if (!addresses.has(each.address) || !isWaiting(each)) return each;
    return { ...each, status: 'unknown', at: isoTime(now), code: null, reply: null };
  });
  return { ...before, recipients };
}

/** Changes the recipients that match. @returns null where none does. */
export function changeRecipients(
  before: DeliveryState,
  matches: (each: RecipientState) => boolean,
  change: Partial<RecipientState>,
): DeliveryState | null {
  if (!before.recipients.some(matches)) return null;
  const recipients = before.recipients.map((each) => (matches(each) ? { ...each, ...change } : each));
  const nextAttemptAt = recipients.some(isWaiting) ? before.nextAttemptAt : null;
  return { ...before, recipients, nextAttemptAt };
}
