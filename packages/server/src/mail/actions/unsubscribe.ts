import { ApiError } from '../../protocol/api-error.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { getRecord } from '../../records/read/read-records.ts';
import { findOneClickUrl } from '../list-unsubscribe.ts';
import { requireEmailKey } from './email-keys.ts';
import { requireEmailGrant } from './mail-access.ts';
import { type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/**
 * `emails:unsubscribe`: leaves the mailing list of an e-mail with one click. Only the address in the header of an e-mail that the caller
 * may read is called, and only when somebody requests it: reading a message calls nothing.
 */
export async function runUnsubscribe(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  const { emails } = requireEmailGrant(context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  const key = requireEmailKey(filterByTk, readBodyObject(request, ['id'])['id']);
  const read = normaliseRequest('get', { filterByTk: key, fields: 'id,content.headers', appends: 'content' }, false);
  const { data } = await getRecord(context, emails, read);
  const { content } = JSON.parse(data) as { content: { headers: [string, string][] | null } | null };
  const url = findOneClickUrl(content?.headers ?? []);
  if (url === null)
    throw new ApiError('UNSUBSCRIBE_FAILED', 'The e-mail offers no unsubscription with one click. Use its own link.');
  await mail.unsubscribe(url);
  return { data: JSON.stringify({ id: key, unsubscribed: true }) };
}
