import { isoTime } from '../base/clock.ts';
import { makeWebhookSecret } from '../base/webhook-secret.ts';
import { replayDeliveries } from '../database/delivery-rows.ts';
import { findWebhook } from '../database/webhook-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import { missing, requireGrant } from '../records/read-records.ts';
import { requireHeld } from '../records/system/webhook-rules.ts';
import { day } from '../webhooks/retry.ts';
import { idOf } from './auth-actions.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { knownParameters } from './known-parameters.ts';
import { runRecordAction } from './record-actions.ts';

/** `webhooks:`, beside the generated actions: a secret that was made is told once. */
export const webhookActions: Readonly<Record<string, SystemAction>> = {
  'webhooks:create': { reads: false, run: runCreate },
  'webhooks:update': { reads: false, run: runRecordAction },
  'webhooks:test': { reads: false, journaled: true, run: runTest },
  'webhooks:replay': { reads: false, journaled: true, run: runReplay },
};

const mostReplayed = 1000;

async function runCreate(call: Call): Promise<Answer> {
  const made: (string | null)[] = [];
  const withSecret = (each: unknown): unknown => {
    const makes = isObject(each) && (each['secret'] === undefined || each['secret'] === null);
    const secret = makes ? makeWebhookSecret() : null;
    made.push(secret);
    return makes ? { ...each, secret } : each;
  };
  const body = Array.isArray(call.body) ? call.body.map(withSecret) : withSecret(call.body);
  const answer = await runRecordAction({ ...call, body });
  if (!('data' in answer) || answer.meta !== undefined) return answer; // a trial keeps none
  const shown = parseExactJson(answer.data);
  const told = (each: unknown, index: number): unknown =>
    made[index] == null ? each : { ...(each as object), secret: made[index] };
  return { ...answer, data: JSON.stringify(Array.isArray(shown) ? shown.map(told) : told(shown, 0)) };
}

/** Sends a message now, and tells whether it arrived. */
async function runTest(call: Call): Promise<Answer> {
  const id = await reachable(call);
  const result = await call.application.webhooks.test(id);
  return { data: JSON.stringify(result), act: { target: String(id) } };
}

/** Sends again what was given up, or the deliveries that the body names. */
async function runReplay(call: Call): Promise<Answer> {
  const { application, body } = call;
  const { database, clock } = application;
  const id = await reachable(call);
  const ids = deliveriesIn(body);
  const now = clock.now();
  const times = { now: isoTime(now), giveUp: isoTime(now + day) };
  const count = await database.write((transaction) => replayDeliveries(database, transaction, id, ids, times));
  application.webhooks.reload();
  return { data: String(count), act: { target: String(id) } };
}

/** The webhook that the request names, if the caller may change it. */
async function reachable(call: Call): Promise<number> {
  const { application, caller, requestId } = call;
  const context = application.recordContext(caller, requestId);
  const collection = context.registry.get('webhooks');
  const grant = requireGrant(context, collection, 'update');
  const { filterByTk } = knownParameters(call, ['filterByTk'], false);
  const id = idOf(filterByTk);
  const webhook = await findWebhook(application.database, id);
  // A row filter on webhooks is for the generated actions; what acts is left to those who have none.
  if (!webhook || grant.rows) throw missing(collection, grant);
  requireHeld(webhook.role, context);
  return id;
}

function deliveriesIn(body: unknown): readonly (number | string)[] | null {
  if (body === undefined || body === null) return null;
  const { deliveries, ...others } = isObject(body) ? body : { deliveries: body };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new ApiError(
      'BODY_INVALID',
      `webhooks:replay knows no "${unknown.slice(0, 60)}"; give {"deliveries": [ids]}.`,
    );
  if (deliveries === undefined) return null;
  const isId = (each: unknown): boolean =>
    typeof each === 'number' ? Number.isSafeInteger(each) : typeof each === 'string' && /^\d{1,18}$/.test(each);
  if (!Array.isArray(deliveries) || deliveries.length > mostReplayed || !deliveries.every(isId))
    throw new ApiError('BODY_INVALID', `"deliveries" is a list of at most ${mostReplayed} ids of deliveries.`);
  return deliveries as (number | string)[];
}
