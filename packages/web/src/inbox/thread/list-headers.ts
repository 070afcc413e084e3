/** What a message says about leaving its mailing list (RFC 2369, RFC 8058). */
export interface ListUnsubscribe {
  /** One click suffices: the server sends it. */
  readonly isOneClick: boolean;
  /** A page on which the reader unsubscribes; null for none. */
  readonly page: string | null;
}

type Headers = readonly (readonly [name: string, value: string])[];

/** @returns null if the message offers neither a page nor one click. */
export function readListUnsubscribe(headers: Headers): ListUnsubscribe | null {
  const find = (name: string): readonly string[] =>
    headers.flatMap(([each, value]) => (each.toLowerCase() === name ? [value] : []));
  const lists = find('list-unsubscribe');
  const addresses = lists.flatMap((value) =>
    [...value.matchAll(/<([^<>]*)>/g)].map(([, url = '']) => url.replace(/\s+/g, '')),
  );
  const page = addresses.find((url) => /^https:\/\//i.test(url) && URL.canParse(url)) ?? null;
  if (page === null) return null;
  const [post, another] = find('list-unsubscribe-post');
  const isOneClick =
    lists.length === 1 && another === undefined && post?.trim().toLowerCase() === 'list-unsubscribe=one-click';
  return { isOneClick, page };
}
