import { ApiError } from '../../protocol/api-error.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { getRecord } from '../../records/read/read-records.ts';
import { findOneClickUrl, type ListMessage, unsubscribeFields } from '../list-unsubscribe.ts';
import { withAllHeaders } from '../readable-content.ts';
import { requireEmailKey } from './email-keys.ts';
import { requireEmailGrant } from './mail-access.ts';
import { type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/**
 * `emails:unsubscribe`: leaves the mailing list of an e-mail with one click. The server only calls the address in an
 * e-mail that the caller may read, and only when somebody requests it: reading a message calls nothing.
 */
export async function runUnsubscribe(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  const { emails } = requireEmailGrant(context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  const key = requireEmailKey(filterByTk, readBodyObject(request, ['id'])['id']);
  const read = normaliseRequest('get', { filterByTk: key, ...unsubscribeFields }, false);
  const { data } = await getRecord(withAllHeaders(context), emails, read);
  const url = findOneClickUrl(JSON.parse(data) as ListMessage);
  if (url === null)
    throw new ApiError('UNSUBSCRIBE_FAILED', 'The e-mail offers no unsubscription with one click. Use its own link.');
  await mail.unsubscribe(url);
  return { data: JSON.stringify({ id: key, unsubscribed: true }) };
}
