/** Web Push: the public key of the application, and the subscription of a browser. */
import { ECDH } from 'node:crypto';
import { isoTime } from '../../base/clock.ts';
import {
  countOtherSubscriptions,
  putPushSubscription,
  removePushSubscription,
  renewPushSubscription,
} from '../../database/mail/push-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { type PushTarget, subscriptionField } from '../push/send-push.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import { type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

const resource = 'mailPushSubscriptions';

/** `mailPushSubscriptions:key`: the public key with which browsers subscribe. The first request creates the key pair. */
export async function runPushKey(request: MailRequest): Promise<MailData> {
  requireGrant(request.context, request.context.registry.get(resource), 'create');
  request.knownParameters([], false);
  const { publicKey } = await request.mail.loadPushKeys();
  return { data: JSON.stringify({ publicKey }) };
}

/**
 * `mailPushSubscriptions:subscribe`: stores the subscription of a browser until its user signs out. The member `replaces` names
 * the endpoint that the browser had before; its subscription and the messages that wait for it get the new endpoint.
 */
export async function runSubscribe(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireGrant(context, context.registry.get(resource), 'create');
  const { userId, loginId } = requireLogin(context);
  request.knownParameters([]);
  const body = readBodyObject(request, ['endpoint', 'keys', 'name', 'newMail', 'replaces']);
  const target = parseTarget(body, (url) => mail.findPushProblem(url));
  const { name = '', newMail = false, replaces = null } = body;
  if (typeof name !== 'string' || name.length > 120 || /\p{Cc}/u.test(name))
    throw invalidValues({ name: 'Give a name of at most 120 characters on one line.' });
  if (typeof newMail !== 'boolean') throw invalidValues({ newMail: 'Give true or false.' });
  if (replaces !== null && typeof replaces !== 'string')
    throw invalidValues({ replaces: 'Give the former endpoint of the browser as text, or omit "replaces".' });
  return request.write({ lockKey: `push ${userId}` }, async (tx) => {
    const { database } = tx;
    const now = isoTime(tx.clock.now());
    const { endpoint } = target;
    const removed =
      replaces === null ? null : await renewPushSubscription(database, tx.tx, { userId, from: replaces, to: endpoint });
    if (removed !== null) await emitMailEvent(tx, tx.tx, { name: `${resource}.destroyed`, keys: [removed] });
    if ((await countOtherSubscriptions(database, tx.tx, { userId, endpoint, now })) >= mailLimits.pushSubscriptions)
      throw invalidValues({
        endpoint: `A user has at most ${mailLimits.pushSubscriptions} subscriptions. Unsubscribe a browser first, or destroy a subscription.`,
      });
    const secret = mail.encryptSecret(JSON.stringify(target), userId, subscriptionField);
    const entry = { userId, name, newMail, endpoint, secret, loginId, role: tx.caller.role, now };
    const { id, isNew } = await putPushSubscription(database, tx.tx, entry);
    await emitMailEvent(
      tx,
      tx.tx,
      isNew
        ? { name: `${resource}.created`, keys: [id] }
        : { name: `${resource}.updated`, keys: [id], changed: ['name', 'newMail'] },
    );
    return { data: JSON.stringify({ id, name, newMail }) };
  });
}

/** `mailPushSubscriptions:unsubscribe`: deletes the subscription of a browser. */
export async function runUnsubscribePush(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireGrant(context, context.registry.get(resource), 'destroy');
  const { userId } = requireLogin(context);
  request.knownParameters([]);
  const { endpoint } = readBodyObject(request, ['endpoint']);
  if (typeof endpoint !== 'string') throw invalidValues({ endpoint: 'Give the endpoint of the subscription as text.' });
  return request.write({ lockKey: `push ${userId}` }, async (tx) => {
    const id = await removePushSubscription(tx.database, tx.tx, userId, endpoint);
    if (id !== null) await emitMailEvent(tx, tx.tx, { name: `${resource}.destroyed`, keys: [id] });
    return { data: JSON.stringify({ removed: id !== null }) };
  });
}

/** A subscription ends with the session of its browser. @throws ApiError `SESSION_NEEDED` for API keys. */
function requireLogin({ caller }: RecordContext): { readonly userId: number; readonly loginId: number } {
  const userId = caller.user?.['id'];
  if (caller.type === 'session' && typeof userId === 'number' && caller.credentialId !== null)
    return { userId, loginId: caller.credentialId };
  throw new ApiError(
    'SESSION_NEEDED',
    'API keys cannot subscribe a browser. Sign in as a user, and use the session token.',
  );
}

/** @throws ApiError 422 naming the wrong members. */
function parseTarget(
  { endpoint, keys }: Readonly<Record<string, unknown>>,
  findProblem: (url: unknown) => string | null,
): PushTarget {
  const details: Record<string, string> = {};
  const problem = findProblem(endpoint);
  if (problem !== null) details['endpoint'] = problem;
  const { p256dh, auth } = isObject(keys) ? keys : {};
  if (!isPublicKey(p256dh)) details['keys.p256dh'] = 'Give the public key of the subscription: 65 bytes in base64url.';
  if (decode(auth)?.length !== 16)
    details['keys.auth'] = 'Give the authentication secret of the subscription: 16 bytes in base64url.';
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return { endpoint: endpoint as string, p256dh: p256dh as string, auth: auth as string };
}

function isPublicKey(text: unknown): boolean {
  const bytes = decode(text);
  if (bytes?.length !== 65) return false;
  try {
    ECDH.convertKey(bytes, 'prime256v1');
    return true;
  } catch {
    return false;
  }
}

function decode(text: unknown): Buffer | null {
  return typeof text === 'string' && /^[\w-]{1,200}=*$/.test(text) ? Buffer.from(text, 'base64url') : null;
}
