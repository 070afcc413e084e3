/** Builds webhook messages: the record as the webhook's role may read it now, if it matches the webhook's filter. */
import { hasOwnRowFilter } from '../access/grants.ts';
import { type PublishedPayload, type StoredDelivery, wasNotified } from '../database/delivery-rows.ts';
import type { StoredWebhook } from '../database/webhook-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { getRecord } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection } from '../schema/registry.ts';

/** A message, or why none is sent. */
export type WebhookMessage = { readonly body: string } | { readonly skipped: string };

/**
 * Builds the message of a delivery in the format of Standard Webhooks: `{"type", "timestamp", "data"}`; `data` is
 * `{"application", "resource", "tk", "actor", "changed", "record"}`. Events of destroyed records and of definitions have
 * no record; published events have `payload` instead.
 *
 * @param context of a caller with the webhook's role and without a user.
 */
export async function buildWebhookMessage(
  context: RecordContext,
  application: string,
  webhook: StoredWebhook,
  delivery: StoredDelivery,
): Promise<WebhookMessage> {
  const { event, resource, tk, at, actor } = delivery;
  const grant = context.findGrant(resource, 'get');
  if (!grant) return { skipped: `The role "${webhook.role}" has no permission to read ${resource}.` };
  const collection = context.registry.find(resource);
  const isNotice = collection?.traits.notices?.includes(event.slice(resource.length + 1)) === true;
  // A notice is about a record, but its payload says nothing of it, so the visibility of the record does not matter.
  const { caller, access: table, registry } = context;
  const hasGrantFilter = isNotice
    ? hasOwnRowFilter(caller.role, resource, 'get', { table, registry })
    : grant.rows !== null;
  const hasRowFilter = hasGrantFilter || webhook.filter !== null;
  if ('payload' in delivery.changed) {
    // If a collection with the name of the event's first word exists by now, the role must see all of its records.
    if (!collection || !hasRowFilter) return buildPublishedMessage(application, delivery);
    return { skipped: 'The event is not about a record, but the role or the webhook has a row filter.' };
  }
  // The filters of a destroyed record can no longer be checked.
  const isDestroyed = event.endsWith('.destroyed');
  if (collection && isDestroyed && hasRowFilter && !(await wasNotified(context.database, webhook.id, resource, tk)))
    return { skipped: 'The webhook was never notified of this record.' };
  const recordMember = collection && !isDestroyed && (await readRecordMember(context, collection, webhook, tk));
  if (recordMember && 'skipped' in recordMember) return recordMember;
  const changed = delivery.changed.filter((name) => canReadField(collection, grant, name));
  const data = JSON.stringify({ application, resource, tk, actor, changed });
  const record = recordMember ? `,${recordMember.text}` : '';
  return {
    body: `{"type":${JSON.stringify(event)},"timestamp":${JSON.stringify(at)},"data":${data.slice(0, -1)}${record}}}`,
  };
}

/** The message of a published event. */
function buildPublishedMessage(application: string, delivery: StoredDelivery): WebhookMessage {
  const { event, resource, tk, at, actor, changed } = delivery;
  const { payload } = changed as PublishedPayload;
  const data = { application, resource, tk, actor, changed: [], payload };
  return { body: JSON.stringify({ type: event, timestamp: at, data }) };
}

/** The message of a test. */
export function buildTestMessage(application: string, time: string): string {
  return JSON.stringify({ type: 'webhooks.test', timestamp: time, data: { application } });
}

function canReadField(collection: Collection | null, grant: Grant, name: string): boolean {
  if (!collection) return true;
  const field = collection.byName.get(name);
  return field !== undefined && !field.type.secret && grant.may(field);
}

/** The property `record` of a message; or why no message is sent. */
async function readRecordMember(
  context: RecordContext,
  collection: Collection,
  webhook: StoredWebhook,
  tk: StoredDelivery['tk'],
): Promise<{ readonly text: string } | { readonly skipped: string }> {
  try {
    const filter = webhook.filter === null ? {} : { filter: webhook.filter };
    const request = normaliseRequest('get', { filterByTk: tk, ...filter }, false);
    const { data } = await getRecord(context, collection, request);
    return { text: data.length > limits.recordInEvent ? '"recordTooLarge":true' : `"record":${data}` };
  } catch (error) {
    if (!(error instanceof ApiError) || error.retryAfter !== undefined) throw error;
    return { skipped: `The record is not visible to the role, or the filter does not match: ${error.message}` };
  }
}
