import { isoTime } from '../base/clock.ts';
import { isWellFormedJson } from '../base/well-formed.ts';
import { formatActor } from '../identity/caller.ts';
import { ApiError, invalidValues } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { permissionDenied } from '../query/read-access.ts';
import { getWriteSnapshot, type RecordContext } from '../records/record-context.ts';
import { systemResources } from '../schema/names.ts';

const eventNamePattern = /^([A-Za-z][A-Za-z0-9]{0,59})\.([A-Za-z][A-Za-z0-9]{0,59})$/;

/**
 * Publishes a custom event: `{name, payload?}`. It is durable when this resolves.
 *
 * @throws ApiError 422 for an invalid name, the name of a resource, or a payload over 64 KiB; 403 without the permission
 * `publish` for the first word.
 */
export async function publish(context: RecordContext, body: unknown): Promise<{ name: string; at: string }> {
  if (!isObject(body)) throw new ApiError('BODY_INVALID', 'The body must be {"name": "word.word", "payload": …}.');
  const { name, payload = null, ...unknownMembers } = body;
  const prefix = typeof name === 'string' ? eventNamePattern.exec(name)?.[1] : undefined;
  if (prefix !== undefined && !context.findGrant(prefix, 'publish')) throw permissionDenied(prefix, 'publish');
  const details: Record<string, string> = {};
  for (const member of Object.keys(unknownMembers))
    details[member.slice(0, 60)] = 'A published event has no such property. Remove it.';
  if (prefix === undefined) details['name'] = 'Give two words separated by a dot, such as campaign.sent.';
  else if (context.registry.find(prefix) || systemResources.has(prefix))
    details['name'] = `"${prefix}" is a resource, whose events cannot be published. Use another first word.`;
  if (!isWellFormedJson(payload))
    details['payload'] = 'A text in the payload contains U+0000 or half of a surrogate pair. Remove it.';
  if (Buffer.byteLength(JSON.stringify(payload)) > limits.payloadBytes)
    details['payload'] = `A payload can have at most ${limits.payloadBytes / 1024} KiB as JSON.`;
  else if (!isWellFormedJson(payload))
    details['payload'] = 'A payload must not contain U+0000, half surrogate pairs, or numbers beyond 1.8e308.';
  if (Object.keys(details).length > 0) throw invalidValues(details);
  const time = isoTime(context.clock.now());
  const events = {
    name: name as string,
    resource: prefix!,
    keys: [null],
    actor: formatActor(context.caller),
    requestId: context.requestId,
    changed: { payload },
    by: null,
  };
  await context.database.write((transaction) => context.changes.append(transaction, events, time), {
    snapshot: getWriteSnapshot(context),
  });
  return { name: name as string, at: time };
}
