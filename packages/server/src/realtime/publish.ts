import { isoTime } from '../base/clock.ts';
import { isWellFormedJson } from '../base/well-formed.ts';
import { actorOf } from '../identity/caller.ts';
import { ApiError, invalidValues } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { denied } from '../query/read-access.ts';
import { type RecordContext, snapshotOf } from '../records/record-context.ts';
import { systemResources } from '../schema/names.ts';

const form = /^([A-Za-z][A-Za-z0-9]{0,59})\.([A-Za-z][A-Za-z0-9]{0,59})$/;

/**
 * Writes an event that somebody made: `{name, payload?}`. It is durable when this resolves.
 *
 * @throws ApiError 422 for another form of name, one of a resource, or a payload over 64 KiB; 403 without the permission
 * `publish` on the first word.
 */
export async function publish(context: RecordContext, body: unknown): Promise<{ name: string; at: string }> {
  if (!isObject(body)) throw new ApiError('BODY_INVALID', 'Send {"name": "word.word", "payload": …}.');
  const { name, payload = null, ...others } = body;
  const word = typeof name === 'string' ? form.exec(name)?.[1] : undefined;
  if (word !== undefined && !context.grantOf(word, 'publish')) throw denied(word, 'publish');
  const details: Record<string, string> = {};
  for (const other of Object.keys(others)) details[other.slice(0, 60)] = 'There is no such member.';
  if (word === undefined) details['name'] = 'Give two words with a point between them, such as campaign.sent.';
  else if (context.registry.find(word) || systemResources.has(word))
    details['name'] = `"${word}" is a resource; only its own changes make events of it.`;
  if (!isWellFormedJson(payload))
    details['payload'] = 'A text of the payload holds U+0000 or half of a surrogate pair, which no text holds.';
  if (Buffer.byteLength(JSON.stringify(payload)) > limits.payloadBytes)
    details['payload'] = `A payload has at most ${limits.payloadBytes / 1024} KiB as JSON.`;
  else if (!isWellFormedJson(payload))
    details['payload'] = 'A payload holds no U+0000, no half surrogate pairs, and no numbers beyond 1.8e308 in size.';
  if (Object.keys(details).length > 0) throw invalidValues(details);
  const at = isoTime(context.clock.now());
  const events = {
    name: name as string,
    resource: word!,
    tks: [null],
    actor: actorOf(context.caller),
    requestId: context.requestId,
    changed: { payload },
    by: null,
  };
  await context.database.write((transaction) => context.changes.append(transaction, events, at), {
    snapshot: snapshotOf(context),
  });
  return { name: name as string, at };
}
