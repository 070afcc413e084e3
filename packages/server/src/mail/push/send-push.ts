/** Sends the Web Push messages that are due (RFC 8030), encrypted for the browser (RFC 8291). */
import webPush from 'web-push';
import { pairUp } from '../../base/aligned-lists.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { OutboundClient, OutboundReply } from '../../base/outbound.ts';
import { OutboundFailure } from '../../base/outbound-resolver.ts';
import type { Transaction } from '../../database/database.ts';
import {
  beginPushAttempts,
  type DuePushMessage,
  deletePushMessages,
  deletePushSubscription,
  postponePushMessage,
  readDuePushMessages,
} from '../../database/mail/push-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { ApplyRulesParts } from '../automation/apply-rules.ts';
import { loadPushKeys, type PushKeyParts, type PushKeys } from './push-keys.ts';
import { buildPushPayload } from './push-payload.ts';

/** The parts of the server that sending needs. */
export interface SendPushParts extends PushKeyParts, Pick<ApplyRulesParts, 'withRuleContexts'> {
  readonly application: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly outbound: Pick<OutboundClient, 'post'>;
  /** The address of the server, which push services may use to reach its operator; null: it is not known. */
  readonly publicUrl: string | null;
}

/** A subscription as the browser gives it. */
export interface PushTarget {
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
}

export const subscriptionField = 'pushSubscription';

/** Messages that are sent at the same time. */
const batchSize = 16;
/** Waits after failed attempts. After the last one the message is dropped. */
const retryMilliseconds = [30_000, 2 * 60_000, 10 * 60_000, 60 * 60_000] as const;
const maxRetryAfterMilliseconds = 60 * 60_000;
/** Longer than any attempt. After this time, the message of a process that has died is sent again. */
const attemptMilliseconds = 60_000;
/** Older messages are dropped. Push services store undelivered messages for the same time. */
const maxAgeMilliseconds = 12 * 3_600_000;

/** The result of an attempt. */
type Outcome = 'done' | 'unsubscribed' | { readonly retryAt: number };

/** @param signal aborts running requests. */
export async function sendDueMessages(parts: SendPushParts, signal: AbortSignal): Promise<void> {
  const { database, clock } = parts;
  while (!signal.aborted) {
    const now = clock.now();
    const due = await readDuePushMessages(database, isoTime(now), batchSize);
    if (due.length === 0) return;
    const keys = await loadPushKeys(parts);
    const ids = due.map(({ id }) => id);
    await database.write((transaction) =>
      beginPushAttempts(database, transaction, ids, isoTime(now + attemptMilliseconds)),
    );
    const outcomes = await Promise.all(due.map((message) => attempt(parts, keys, message, signal)));
    if (signal.aborted) return;
    await database.write(async (transaction) => {
      for (const [message, outcome] of pairUp(due, outcomes)) await store(parts, transaction, message, outcome);
    });
  }
}

async function attempt(
  parts: SendPushParts,
  keys: PushKeys,
  message: DuePushMessage,
  signal: AbortSignal,
): Promise<Outcome> {
  const { clock, logger, outbound, decryptSecret } = parts;
  const age = clock.now() - Date.parse(message.at);
  if (!message.isSignedIn) return 'unsubscribed';
  if (age > maxAgeMilliseconds || message.attempts > retryMilliseconds.length) return 'done';
  const secret = decryptSecret(message.secret, message.userId, subscriptionField);
  if (secret === null) return 'unsubscribed';
  try {
    const payload = await readPayload(parts, message);
    if (payload === null) return 'done';
    const { endpoint, headers, body } = encrypt(parts, keys, JSON.parse(secret) as PushTarget, {
      payload,
      seconds: Math.ceil((maxAgeMilliseconds - age) / 1000),
    });
    const reply = await outbound.post(endpoint, headers, body, signal);
    return judge(reply, message, clock.now());
  } catch (error) {
    if (!(error instanceof OutboundFailure)) logger.warn({ err: error }, 'A push message could not be sent.');
    return retry(message, clock.now(), null);
  }
}

/** Reads what the message reports as its user, in the role of the subscription; null: there is nothing to report. */
function readPayload(parts: SendPushParts, message: DuePushMessage): Promise<string | null> {
  return parts.withRuleContexts(async ({ getUserContext }) => {
    const context = await getUserContext(message.userId, message.role);
    if (!context) return null;
    try {
      return await buildPushPayload(context, parts.application, message);
    } catch (error) {
      if (error instanceof ApiError && error.retryAfter === undefined) return null;
      throw error;
    }
  });
}

function encrypt(
  { publicUrl }: SendPushParts,
  { publicKey, privateKey }: PushKeys,
  { endpoint, p256dh, auth }: PushTarget,
  { payload, seconds }: { readonly payload: string; readonly seconds: number },
): { readonly endpoint: string; readonly headers: Record<string, string>; readonly body: Uint8Array } {
  const subject = publicUrl?.startsWith('https://') ? publicUrl : 'mailto:operator@tablinum.invalid';
  const details = webPush.generateRequestDetails({ endpoint, keys: { p256dh, auth } }, payload, {
    vapidDetails: { subject, publicKey, privateKey },
    TTL: seconds,
    contentEncoding: 'aes128gcm',
  });
  const headers = Object.fromEntries(Object.entries(details.headers).map(([name, text]) => [name, String(text)]));
  return { endpoint, headers, body: details.body ?? new Uint8Array() };
}

function judge({ status, retryAfter }: OutboundReply, message: DuePushMessage, now: number): Outcome {
  if (status >= 200 && status < 300) return 'done';
  if (status === 404 || status === 410) return 'unsubscribed';
  return status === 429 || status >= 500 ? retry(message, now, retryAfter) : 'done';
}

function retry({ attempts }: DuePushMessage, now: number, retryAfter: string | null): Outcome {
  const wait = retryMilliseconds[attempts];
  if (wait === undefined) return 'done';
  const given = retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : 0;
  return { retryAt: now + Math.max(wait, Math.min(given, maxRetryAfterMilliseconds)) };
}

async function store(
  { database }: SendPushParts,
  transaction: Transaction,
  { id, subscriptionId }: DuePushMessage,
  outcome: Outcome,
): Promise<void> {
  if (outcome === 'done') await deletePushMessages(database, transaction, [id]);
  else if (outcome === 'unsubscribed') await deletePushSubscription(database, transaction, subscriptionId);
  else await postponePushMessage(database, transaction, id, isoTime(outcome.retryAt));
}
