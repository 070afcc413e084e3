/** Signing in with a mail provider: OAuth 2 with an authorization code and PKCE (RFC 6749, RFC 7636, RFC 9700). */
import { createHash, hash, randomBytes } from 'node:crypto';
import { isoTime } from '../../base/clock.ts';
import { type AccountLoginRow, readAccountLogin } from '../../database/mail/account-login-rows.ts';
import {
  consumeOneTimeToken,
  countOneTimeTokens,
  deleteExpiredTokens,
  insertOneTimeToken,
} from '../../database/one-time-tokens.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { type LoginParts, readSecret, storeTokens } from './access-token.ts';
import { MailServerProblem } from './mail-server-problem.ts';
import { findOauthClient, type OauthSettings } from './oauth-settings.ts';

/** How long a sign-in with a provider may take, in milliseconds. */
export const authorizationLifetime = 600_000;
/** Sign-ins that a user may have begun and not finished. */
const maxAuthorizations = 20;
/** The page of the web interface to which providers send the browser back. */
const callbackPath = '/mail-sign-in';

export interface AuthorizationParts extends LoginParts {
  readonly hashToken: (token: string) => string;
}

/** Who signs in to which account. */
export interface AuthorizationTarget {
  readonly user: number;
  readonly account: number;
}

/** An address for the browser. */
export interface Authorization {
  readonly url: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** The content of the state, which travels encrypted: only this server can read it, and only for the same user. */
interface AuthorizationState {
  readonly account: number;
  readonly verifier: string;
  /** Of the OAuth settings and the address of the account when the sign-in began. */
  readonly settingsHash: string;
  readonly nonce: string;
}

/**
 * Begins a sign-in with the provider of an account.
 *
 * @throws ApiError `VALUE_INVALID` naming the setting that is missing; `RATE_LIMITED` after too many unfinished sign-ins.
 * @throws MailServerProblem if the provider does not publish where to sign in.
 */
export async function beginAuthorization(
  target: AuthorizationTarget,
  parts: AuthorizationParts,
): Promise<Authorization> {
  const { oauth } = parts.services;
  const { row, settings, client } = await readRegistration(target.account, parts);
  const endpoints = await oauth.servers.findEndpoints(settings);
  const verifier = randomBytes(48).toString('base64url');
  const state = encryptState(target, parts, {
    account: target.account,
    verifier,
    settingsHash: hashSettings(row),
    nonce: randomBytes(16).toString('base64url'),
  });
  const expiresAt = await storeState(target.user, state, parts);
  const url = new URL(endpoints.authorization);
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: getCallbackUrl(parts),
    scope: endpoints.scopes.join(' '),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    login_hint: row.address,
    ...endpoints.parameters,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, expiresAt };
}

/**
 * Finishes a sign-in with the state and the code that the provider has given to the browser.
 *
 * @param requireAccess refuses an account that the user may not change any more.
 * @returns the account.
 * @throws ApiError `LINK_INVALID` for a state that is unknown, used, expired, or of another user; `VALUE_INVALID` naming
 *   `code` if the provider refuses it.
 */
export async function finishAuthorization(
  { user, state, code }: { readonly user: number; readonly state: string; readonly code: string },
  parts: AuthorizationParts,
  requireAccess: (account: number) => Promise<void>,
): Promise<number> {
  const { account, verifier, settingsHash } = decryptState(user, state, parts);
  await requireAccess(account);
  const { row, settings, client } = await readRegistration(account, parts);
  await consumeState(state, parts);
  if (hashSettings(row) !== settingsHash) throw stateInvalidError();
  const { servers } = parts.services.oauth;
  try {
    const endpoints = await servers.findEndpoints(settings);
    const tokens = await servers.requestTokens(endpoints, client, {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: getCallbackUrl(parts),
    });
    if (tokens.refreshToken === null)
      throw invalidValues({
        code: 'The provider gave no refresh token, so the account would stop after an hour. Add the scope for offline access, and sign in again.',
      });
    await storeTokens(parts, account, tokens, row);
  } catch (error) {
    throw toApiError(error);
  }
  return account;
}

/** A problem with a provider as a refusal of the request. */
export function toApiError(error: unknown, member = 'code'): unknown {
  if (!(error instanceof MailServerProblem)) return error;
  const text = `${error.message} ${error.cure}`;
  return error.retry === 'never'
    ? invalidValues({ [member]: text })
    : new ApiError('BUSY', `${text} Nothing was changed.`, { retryAfter: 30 });
}

interface Registration {
  readonly row: AccountLoginRow;
  readonly settings: OauthSettings;
  readonly client: { readonly id: string; readonly secret: string | null };
}

async function readRegistration(account: number, parts: LoginParts): Promise<Registration> {
  const row = await readAccountLogin(parts.database, account);
  if (!row) throw new ApiError('RECORD_UNKNOWN', 'The account does not exist any more.');
  const settings = row.oauth as OauthSettings | null;
  if (row.auth !== 'oauth2' || settings === null)
    throw invalidValues({
      oauth:
        'Set "auth" of the account to "oauth2", and "oauth" to {"provider": "google"}, {"provider": "microsoft"}, or {"issuer", "clientId", "scopes"}.',
    });
  const secret = readSecret(parts, account, row, 'clientSecret');
  const client = findOauthClient(settings, secret, parts.services.oauth.clients);
  if (client === null)
    throw invalidValues({
      'oauth.clientId': `This server is not registered at ${settings.provider}. Ask the operator to set MAIL_${settings.provider?.toUpperCase()}_CLIENT_ID, or give a client id of your own.`,
    });
  return { row, settings, client };
}

function getCallbackUrl({ services }: LoginParts): string {
  const { publicUrl } = services.oauth;
  if (publicUrl !== null) return `${publicUrl}${callbackPath}`;
  throw invalidValues({
    oauth:
      'Providers must send the browser back to this server, whose address is unknown. Ask the operator to set PUBLIC_URL.',
  });
}

const stateContext = (
  { application }: LoginParts,
  user: number,
): { application: string; record: number; field: string } => ({
  application,
  record: user,
  field: 'mail sign-in state',
});

function encryptState({ user }: AuthorizationTarget, parts: LoginParts, state: AuthorizationState): string {
  return parts.services.secrets.encrypt(JSON.stringify(state), stateContext(parts, user));
}

function decryptState(user: number, state: string, parts: LoginParts): AuthorizationState {
  const text = parts.services.secrets.decrypt(state, stateContext(parts, user));
  if (text === null) throw stateInvalidError();
  return JSON.parse(text) as AuthorizationState;
}

async function storeState(user: number, state: string, parts: AuthorizationParts): Promise<string> {
  const { database, clock } = parts;
  const now = isoTime(clock.now());
  const expiresAt = isoTime(clock.now() + authorizationLifetime);
  await deleteExpiredTokens(database, now);
  await database.write(async (transaction) => {
    const count = await countOneTimeTokens(database, transaction, { userId: user, purpose: 'mailSignIn', now });
    if (count >= maxAuthorizations)
      throw new ApiError('RATE_LIMITED', 'Too many sign-ins with mail providers are unfinished. Finish one, or wait.', {
        retryAfter: authorizationLifetime / 1000,
      });
    const tokenHash = parts.hashToken(state);
    await insertOneTimeToken(database, transaction, { purpose: 'mailSignIn', userId: user, tokenHash, expiresAt });
  });
  return expiresAt;
}

/** Of two requests with the same state, only one continues. */
async function consumeState(state: string, { database, clock, hashToken }: AuthorizationParts): Promise<void> {
  const presented = { purpose: 'mailSignIn', tokenHashes: [hashToken(state)], now: isoTime(clock.now()) } as const;
  const isValid = await database.write((transaction) => consumeOneTimeToken(database, transaction, presented));
  if (!isValid) throw stateInvalidError();
}

/** Whether the account still is the one that the sign-in began for. */
function hashSettings({ address, oauth, imap, smtp }: AccountLoginRow): string {
  return hash('sha256', JSON.stringify([address, oauth, imap, smtp]), 'base64url');
}

function stateInvalidError(): ApiError {
  return new ApiError(
    'LINK_INVALID',
    'This sign-in with the mail provider is unknown, finished or expired, or was begun by another user. Begin a new one with accounts:authorize.',
  );
}
