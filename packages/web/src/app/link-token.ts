import { useSyncExternalStore } from 'react';

interface LinkToken {
  readonly token: string | null;
  readonly application: string;
}
let lastLinkToken: LinkToken = { token: null, application: 'main' };

/**
 * The token that a link carries behind `#`, which no server or log sees. It is taken out of the address, so that it stays
 * in no history; asked again, the same is given.
 */
function consumeLinkToken(): LinkToken {
  const hashParameters = new URLSearchParams(location.hash.slice(1));
  const token = hashParameters.get('token');
  if (token === null) return lastLinkToken;
  history.replaceState(history.state, '', location.pathname);
  lastLinkToken = { token, application: hashParameters.get('app') ?? 'main' };
  return lastLinkToken;
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

/** The token of the link that was opened; a link that is pasted into the open tab counts too. */
export function useLinkToken(): LinkToken {
  return useSyncExternalStore(subscribe, consumeLinkToken);
}
