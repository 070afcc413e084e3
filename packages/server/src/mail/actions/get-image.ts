import { hash } from 'node:crypto';
import { ApiError } from '../../protocol/api-error.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { getRecord } from '../../records/read/read-records.ts';
import { requireEmailGrant } from './mail-access.ts';
import type { MailFile, MailRequest } from './mail-request.ts';

/**
 * `emails:image`: a remote image of an e-mail, fetched by the server. Only URLs that occur in an e-mail that the caller
 * may read are fetched, so this is not an open proxy.
 */
export async function runGetImage({ context, mail, parameters }: MailRequest): Promise<MailFile> {
  const { emails } = requireEmailGrant(context, 'get');
  const { url, ...rest } = parameters();
  if (typeof url !== 'string' || url === '')
    throw new ApiError(
      'PARAMETER_INVALID',
      '"url" must be the address of an image, as the e-mail gives it in data-src.',
    );
  const request = normaliseRequest('get', { ...rest, fields: 'id,content.html', appends: 'content' }, true);
  const { data } = await getRecord(context, emails, request);
  const { content } = JSON.parse(data) as { content: { html: string | null } | null };
  if (!findImageUrls(content?.html ?? '').has(url))
    throw new ApiError('IMAGE_UNAVAILABLE', 'The e-mail shows no image with this address.');
  const { type, bytes } = await mail.images.fetch(url);
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
  };
}

const htmlEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The addresses of remote images in sanitised HTML. */
function findImageUrls(html: string): Set<string> {
  const found = html.matchAll(/\sdata-src="([^"]*)"/g);
  return new Set(
    [...found].map(([, address = '']) =>
      address.replace(/&(amp|lt|gt|quot|#39);/g, (entity, name: string) => htmlEntities[name] ?? entity),
    ),
  );
}
