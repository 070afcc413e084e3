/** Headers of e-mails for roles that may read only some of them. */
import { parseExactJson } from '../protocol/exact-json.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { getRecord } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { withAllFields, withGrants } from '../records/with-grants.ts';
import { getField } from '../schema/registry.ts';
import { selectReadableHeaders } from './collections/header-fields.ts';

type JsonRecord = Record<string, unknown>;

const resource = 'mailContents';

/** The same context, which may also read headers that repeat a denied field. Its requests must not come from the caller. */
export function withAllHeaders<T extends RecordContext>(context: T): T {
  const grant = context.findGrant(resource, 'get');
  return grant ? withGrants(context, { resource, action: 'get', grant: withAllFields(grant) }) : context;
}

/** Whether the role lacks only some headers, so that {@link addReadableHeaders} adds the others. */
export function lacksSomeHeaders(context: RecordContext): boolean {
  const grant = context.findGrant(resource, 'get');
  return grant !== null && !grant.may(getField(context.registry.get(resource), 'headers'));
}

/**
 * Adds the headers that the role may read to e-mails whose content was read without headers.
 *
 * @param record an e-mail, or a conversation with `emails`; it is changed.
 * @returns whether it was changed.
 */
export async function addReadableHeaders(context: RecordContext, name: string, record: JsonRecord): Promise<boolean> {
  const shown = listEmails(name, record).filter(({ content }) => isRecord(content));
  if (shown.length === 0) return false;
  const path = name === 'emails' ? '' : 'emails.';
  const request = normaliseRequest(
    'get',
    {
      filterByTk: record['id'],
      fields: ['id', `${path}id`, `${path}content.headers`],
      appends: [`${path}content`],
    },
    false,
  );
  const { data } = await getRecord(withAllHeaders(context), context.registry.get(name), request);
  const emailGrant = context.findGrant('emails', 'get');
  const mayRead = (field: string): boolean => emailGrant?.may(getField(context.registry.get('emails'), field)) ?? false;
  const read = listEmails(name, parseExactJson(data) as JsonRecord);
  const contents = new Map(read.map(({ id, content }) => [String(id), content]));
  for (const { id, content } of shown) {
    const other = contents.get(String(id));
    if (isRecord(content) && isRecord(other)) content['headers'] = selectReadableHeaders(other['headers'], mayRead);
  }
  return true;
}

function listEmails(name: string, record: JsonRecord): readonly JsonRecord[] {
  if (name === 'emails') return [record];
  return Array.isArray(record['emails']) ? record['emails'].filter(isRecord) : [];
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
