interface LinkToken {
  readonly token: string | null;
  readonly application: string;
}
let taken: LinkToken | null = null;

/**
 * The token that a link carries behind `#`, which no server or log sees. It is taken out of the address, so that it stays
 * in no history; asked again, the same is given.
 */
export function takeLinkToken(): LinkToken {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get('token');
  if (token === null) return taken ?? { token: null, application: 'main' };
  history.replaceState(history.state, '', location.pathname);
  taken = { token, application: given.get('app') ?? 'main' };
  return taken;
}
