import { dayMilliseconds, isoTime } from '../base/clock.ts';
import { makeWebhookSecret } from '../base/webhook-secret.ts';
import { replayDeliveries } from '../database/delivery-rows.ts';
import { findWebhook } from '../database/webhook-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import { recordNotFound } from '../records/read/read-records.ts';
import { requireHeldRole } from '../records/system/webhook-rules.ts';
import { readNamedRecord } from './named-record.ts';
import { runRecordAction } from './record-actions.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

/** The `webhooks` actions, in addition to the record actions. A generated secret is returned once. */
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
  if (!('data' in result) || result.meta !== undefined) return result; // a dry run stores none
  const created = parseExactJson(result.data);
  const revealSecret = (each: unknown, index: number): unknown =>
    secrets[index] == null ? each : { ...(each as object), secret: secrets[index] };
  return {
    ...result,
    data: JSON.stringify(Array.isArray(created) ? created.map(revealSecret) : revealSecret(created, 0)),
  };
}

/** Sends a test message now, and returns whether it arrived. */
async function runTest(request: RequestContext): Promise<ActionResult> {
  const id = await requireWebhook(request);
  const result = await request.application.webhooks.test(id);
  return { data: JSON.stringify(result), adminAction: { target: String(id) } };
}

/** Sends failed deliveries again, or the deliveries in the body. */
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

/** The webhook of the request, if the caller may change it. */
async function requireWebhook(request: RequestContext): Promise<number> {
  const { context, collection, grant, id } = readNamedRecord(request, 'webhooks', 'update');
  const webhook = await findWebhook(request.application.database, id);
  // Row filters only apply to record actions, so a role with a row filter may not use these actions.
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
      `webhooks:replay has no property "${unknown.slice(0, 60)}". The body must be {"deliveries": [ids]}.`,
    );
  if (deliveries === undefined) return null;
  const isId = (each: unknown): boolean =>
    typeof each === 'number' ? Number.isSafeInteger(each) : typeof each === 'string' && /^\d{1,18}$/.test(each);
  if (!Array.isArray(deliveries) || deliveries.length > maxReplayed || !deliveries.every(isId))
    throw new ApiError('BODY_INVALID', `"deliveries" must be a list of at most ${maxReplayed} ids of deliveries.`);
  return deliveries as (number | string)[];
}
