/** Signing in with a mail provider: the browser leaves for the provider and comes back to `/mail-sign-in`. */
import type { Client } from '@tablinum/client';

const storageKey = 'mail-sign-in';

/** The application in which the sign-in was begun; it is kept in this tab while the browser is at the provider. */
export function getSignInApplication(): string | null {
  return sessionStorage.getItem(storageKey);
}

/** Sends the browser to the mail provider of an account. */
export async function leaveForProvider(client: Client, application: string, account: number): Promise<void> {
  const { url } = await client.post<{ readonly url: string }>('accounts:authorize', {}, { filterByTk: account });
  sessionStorage.setItem(storageKey, application);
  location.assign(url);
}

/** The state of the reply that was handed to the server: it accepts a reply once. */
let handedOver: string | null = null;

/** @returns whether the caller should hand the reply over; false if that has been done since the page was loaded. */
export function claimReply(state: string): boolean {
  if (handedOver === state) return false;
  handedOver = state;
  return true;
}

/**
 * Finishes the sign-in with the parameters that the provider has added to the URL of the page.
 *
 * @returns the id of the account.
 */
export async function finishSignIn(client: Client, reply: { state: string; code: string }): Promise<number> {
  const { id } = await client.post<{ readonly id: number }>('accounts:finishAuthorization', reply);
  sessionStorage.removeItem(storageKey);
  return id;
}
