/**
 * Sessions of browsers (decisions/018). A cookie that scripts cannot read stores the token of a session. Only `auth:resume`
 * reads it; every other action only accepts the Authorization header.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Application } from '../applications/application.ts';
import { loginLifetime } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';

/** Headers that browsers set, and whether the request came over https according to a trusted proxy. */
export type BrowserHeaders = Pick<IncomingHttpHeaders, 'cookie' | 'origin'> & {
  readonly isHttps?: boolean;
  readonly 'x-requested-with'?: string | string[] | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
};

export interface SessionCookie {
  readonly token: string;
  /** Whether the session survives a restart of the browser. */
  readonly persistent: boolean;
}

/** The only path that the cookie is sent to. */
const cookiePath = '/api/auth:resume';
const requestedWith = 'tablinum';

/**
 * Refuses requests of pages of other origins: CORS does not allow them to set the header.
 *
 * @throws ApiError `HEADER_INVALID` if the request does not come from a page of this server.
 */
export function requireSameOrigin(headers: BrowserHeaders, action: string): void {
  if (isSameOrigin(headers)) return;
  throw new ApiError(
    'HEADER_INVALID',
    `${action} is only for pages of this server, which send the header "X-Requested-With: ${requestedWith}".`,
  );
}

/** Whether a request comes from a page of this server. */
export function isSameOrigin(headers: BrowserHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return headers['x-requested-with'] === requestedWith && (site === undefined || site === 'same-origin');
}

/**
 * The token in the cookie, named by the current or the previous APP_KEY. Two different values under one name mean that another
 * host of the same domain set one of them. The browser does not say which, so both are ignored.
 */
export function readSessionCookie(application: Application, { cookie = '' }: BrowserHeaders): SessionCookie | null {
  const given = cookie.split(';').map((each) => splitOnce(each.trim()));
  for (const name of listCookieNames(application)) {
    const values = new Set(given.filter(([key]) => key === name).map(([, value]) => value));
    if (values.size > 1) return null;
    const [kind, token] = splitOnce([...values][0] ?? '', '.');
    if (token !== '' && (kind === 'keep' || kind === 'session')) return { token, persistent: kind === 'keep' };
  }
  return null;
}

/** A Set-Cookie header that stores the token, or deletes it. It is `Secure` if the page came over https. */
export function buildSessionCookie(
  application: Application,
  session: SessionCookie | null,
  { origin, isHttps = false }: BrowserHeaders,
): string {
  const value = session === null ? '' : `${session.persistent ? 'keep' : 'session'}.${session.token}`;
  const seconds = session === null ? 0 : loginLifetime / 1000;
  return [
    `${listCookieNames(application)[0]}=${value}`,
    `Path=${cookiePath}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(session === null || session.persistent ? [`Max-Age=${seconds}`] : []),
    ...(isHttps || origin?.startsWith('https:') ? ['Secure'] : []),
  ].join('; ');
}

/** Browsers share cookies between the ports of a host: the name differs by application and by APP_KEY. */
function listCookieNames(application: Application): string[] {
  const hashes = application.hashTokenWithAllKeys(`browser session of ${application.name}`);
  return hashes.map((hash) => `tablinum_${application.name}_${hash.slice(0, 12)}`);
}

function splitOnce(text: string, separator = '='): [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}
