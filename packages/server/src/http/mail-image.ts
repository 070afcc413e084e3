import { hash } from 'node:crypto';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { getRecord, requireGrant } from '../records/read/read-records.ts';
import { type ActionResult, getRecordContext, type RequestContext } from './request-context.ts';

/**
 * An image of another place that an e-mail shows. The message itself says which addresses may be asked for: nobody gets
 * others through the server than those that are in a message they may read.
 */
export async function runGetImage(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  const emails = context.registry.get('emails');
  requireGrant(context, emails, 'get');
  const { url, ...rest } = request.parameters();
  if (typeof url !== 'string' || url === '')
    throw new ApiError('PARAMETER_INVALID', 'url: give the address of an image as the message names it in data-src.');
  const recordRequest = normaliseRequest('get', { ...rest, fields: 'id,content.html', appends: 'content' }, true);
  const { data } = await getRecord(context, emails, recordRequest);
  const { content } = JSON.parse(data) as { content: { html: string | null } | null };
  if (!findImageUrls(content?.html ?? '').has(url))
    throw new ApiError('IMAGE_UNAVAILABLE', 'The e-mail shows no image of this address.');
  const { type, bytes } = await request.application.mail.images.fetch(url);
  return {
    file: {
      size: bytes.length,
      async *read(from, to): AsyncGenerator<Uint8Array> {
        yield bytes.subarray(from, to + 1);
      },
    },
    filename: null,
    inlineType: type,
    hash: hash('sha256', bytes),
    done: () => {},
  };
}

const htmlEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Addresses of images that lie elsewhere, in HTML that was made safe. */
function findImageUrls(html: string): Set<string> {
  const found = html.matchAll(/\sdata-src="([^"]*)"/g);
  return new Set(
    [...found].map(([, address]) =>
      address!.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => htmlEntities[name]!),
    ),
  );
}
