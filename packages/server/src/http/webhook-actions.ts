import { isoTime } from '../base/clock.ts';
import { makeWebhookSecret } from '../base/webhook-secret.ts';
import { replayDeliveries } from '../database/delivery-rows.ts';
import { findWebhook } from '../database/webhook-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import { recordNotFound, requireGrant } from '../records/read/read-records.ts';
import { requireHeldRole } from '../records/system/webhook-rules.ts';
import { dayMilliseconds } from '../webhooks/retry.ts';
import { parseRecordId } from './auth-actions.ts';
import { readKnownParameters } from './known-parameters.ts';
import { runRecordAction } from './record-actions.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

/** `webhooks:`, beside the generated actions: a secret that was made is told once. */
export const webhookActions: Readonly<Record<string, SystemAction>> = {
  'webhooks:create': { reads: false, run: runCreate },
  'webhooks:update': { reads: false, run: runRecordAction },
  'webhooks:test': { reads: false, journaled: true, run: runTest },
  'webhooks:replay': { reads: false, journaled: true, run: runReplay },
};

const maxReplayed = 1000;

async function runCreate(request: RequestContext): Promise<ActionResult> {
  const secrets: (string | null)[] = [];
  const withSecret = (each: unknown): unknown => {
    const isGenerated = isObject(each) && (each['secret'] === undefined || each['secret'] === null);
    const secret = isGenerated ? makeWebhookSecret() : null;
    secrets.push(secret);
    return isGenerated ? { ...each, secret } : each;
  };
  const body = Array.isArray(request.body) ? request.body.map(withSecret) : withSecret(request.body);
  const result = await runRecordAction({ ...request, body });
  if (!('data' in result) || result.meta !== undefined) return result; // a trial keeps none
  const created = parseExactJson(result.data);
  const revealSecret = (each: unknown, index: number): unknown =>
    secrets[index] == null ? each : { ...(each as object), secret: secrets[index] };
  return {
    ...result,
    data: JSON.stringify(Array.isArray(created) ? created.map(revealSecret) : revealSecret(created, 0)),
  };
}

/** Sends a message now, and tells whether it arrived. */
async function runTest(request: RequestContext): Promise<ActionResult> {
  const id = await requireWebhook(request);
  const result = await request.application.webhooks.test(id);
  return { data: JSON.stringify(result), adminAction: { target: String(id) } };
}

/** Sends again what was given up, or the deliveries that the body names. */
async function runReplay(request: RequestContext): Promise<ActionResult> {
  const { application, body } = request;
  const { database, clock } = application;
  const id = await requireWebhook(request);
  const ids = parseDeliveries(body);
  const now = clock.now();
  const times = { now: isoTime(now), giveUp: isoTime(now + dayMilliseconds) };
  const count = await database.write((transaction) =>
    replayDeliveries(database, transaction, { webhookId: id, ids }, times),
  );
  application.webhooks.reload();
  return { data: String(count), adminAction: { target: String(id) } };
}

/** The webhook that the request names, if the caller may change it. */
async function requireWebhook(request: RequestContext): Promise<number> {
  const { application, caller, requestId } = request;
  const context = application.recordContext(caller, requestId);
  const collection = context.registry.get('webhooks');
  const grant = requireGrant(context, collection, 'update');
  const { filterByTk } = readKnownParameters(request, ['filterByTk'], false);
  const id = parseRecordId(filterByTk);
  const webhook = await findWebhook(application.database, id);
  // A row filter on webhooks is for the generated actions; what acts is left to those who have none.
  if (!webhook || grant.rows) throw recordNotFound(collection, grant);
  requireHeldRole(webhook.role, context);
  return id;
}

function parseDeliveries(body: unknown): readonly (number | string)[] | null {
  if (body === undefined || body === null) return null;
  const { deliveries, ...unknownMembers } = isObject(body) ? body : { deliveries: body };
  const [unknown] = Object.keys(unknownMembers);
  if (unknown !== undefined)
    throw new ApiError(
      'BODY_INVALID',
      `webhooks:replay knows no "${unknown.slice(0, 60)}"; give {"deliveries": [ids]}.`,
    );
  if (deliveries === undefined) return null;
  const isId = (each: unknown): boolean =>
    typeof each === 'number' ? Number.isSafeInteger(each) : typeof each === 'string' && /^\d{1,18}$/.test(each);
  if (!Array.isArray(deliveries) || deliveries.length > maxReplayed || !deliveries.every(isId))
    throw new ApiError('BODY_INVALID', `"deliveries" is a list of at most ${maxReplayed} ids of deliveries.`);
  return deliveries as (number | string)[];
}
