import { useSyncExternalStore } from 'react';

interface LinkToken {
  readonly token: string | null;
  readonly application: string;
}
let lastLinkToken: LinkToken = { token: null, application: 'main' };

/**
 * The token in the fragment of a link, which is never sent to a server. It is removed from the URL, so that it does not
 * stay in the browser history; later calls return the same token.
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

/** The token of the link that was opened, also if it was pasted into this tab. */
export function useLinkToken(): LinkToken {
  return useSyncExternalStore(subscribe, consumeLinkToken);
}
