/** Leaving mailing lists: what a message offers (RFC 2369), and the request of one click (RFC 8058). */
import type { OutboundClient } from '../base/outbound.ts';
import { OutboundFailure } from '../base/outbound-resolver.ts';
import { ApiError } from '../protocol/api-error.ts';

type Headers = readonly (readonly [name: string, value: string])[];

/** The fields of an e-mail that {@link findOneClickUrl} needs, and the relation that leads to them. */
export const unsubscribeFields = { fields: 'id,content.headers', appends: 'content' } as const;

/** An e-mail with {@link unsubscribeFields}. */
export interface ListMessage {
  readonly content: { readonly headers: Headers | null } | null;
}

const oneClickBody = 'List-Unsubscribe=One-Click';
const maxReplyBytes = 1024;

/**
 * The address for an unsubscription with one click; null if the message has none. RFC 8058 requires https and the header
 * List-Unsubscribe-Post; a message with several such headers could have been changed on its way, so it counts as one without.
 */
export function findOneClickUrl({ content }: ListMessage): string | null {
  const headers = content?.headers ?? [];
  const find = (name: string): string[] =>
    headers.flatMap(([each, value]) => (each.toLowerCase() === name ? [value] : []));
  const [list, another] = find('list-unsubscribe');
  const [post, secondPost] = find('list-unsubscribe-post');
  if (list === undefined || another !== undefined || secondPost !== undefined) return null;
  if (post?.trim().toLowerCase() !== oneClickBody.toLowerCase()) return null;
  const urls = [...list.matchAll(/<([^<>]*)>/g)].map(([, url = '']) => url.replace(/\s+/g, ''));
  return urls.find((url) => /^https:\/\//i.test(url) && URL.canParse(url)) ?? null;
}

/**
 * Sends the request of one click. The host only sees this server, without cookies and without a referrer. Redirects are not followed.
 *
 * @throws ApiError `UNSUBSCRIBE_FAILED`
 */
export async function sendOneClick(client: Pick<OutboundClient, 'exchange'>, url: string): Promise<void> {
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': 'Mozilla/5.0 (compatible; Tablinum)',
  };
  try {
    const { status } = await client.exchange(url, { headers, body: oneClickBody }, maxReplyBytes);
    if (status >= 200 && status < 300) return;
    throw new ApiError(
      'UNSUBSCRIBE_FAILED',
      `The list replied with the status ${status}. Use the link in the message.`,
    );
  } catch (error) {
    // The reason is not reported: it would reveal what exists inside the private network.
    if (!(error instanceof OutboundFailure)) throw error;
    throw new ApiError(
      'UNSUBSCRIBE_FAILED',
      'The list cannot be reached. Try again later, or use the link in the message.',
    );
  }
}
