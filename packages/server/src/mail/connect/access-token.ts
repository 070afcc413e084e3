/** Access tokens of accounts: stored encrypted, refreshed by one server at a time. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { MailSecrets } from '../../base/mail-secrets.ts';
import type { Database } from '../../database/database.ts';
import { type AccountLoginRow, readAccountLogin } from '../../database/mail/account-login-rows.ts';
import { setAccountSecrets } from '../../database/mail/account-rows.ts';
import type { OauthConfiguration } from './connect-services.ts';
import { MailServerProblem, type ProblemContext } from './mail-server-problem.ts';
import type { OauthServers, OauthTokens } from './oauth-server.ts';
import { findOauthClient, type OauthSettings } from './oauth-settings.ts';

/** What the sign-in of accounts of an application works with. */
export interface LoginParts {
  readonly database: Database;
  readonly application: string;
  readonly clock: Clock;
  readonly services: {
    readonly secrets: MailSecrets;
    readonly oauth: OauthConfiguration & { readonly servers: OauthServers };
  };
}

/** A token with less time left is refreshed before it is used. */
const minLifetime = 60_000;
const lockAttempts = 150;
const lockPause = 100;

/** The name of the secret that contains the access token with its end. Clients cannot set it. */
const accessTokenName = 'accessToken';

/** Decrypts a secret of an account; null where there is none, or where its key does not exist any more. */
export function readSecret(
  { application, services }: Pick<LoginParts, 'application' | 'services'>,
  account: number,
  { secrets }: Pick<AccountLoginRow, 'secrets'>,
  field: string,
): string | null {
  const encrypted = secrets[field];
  return encrypted === undefined ? null : services.secrets.decrypt(encrypted, { application, record: account, field });
}

/**
 * A valid access token of an account. If the stored one is about to expire, or is `refused`, it is refreshed. Only one
 * server does that at a time, because many providers invalidate a refresh token when it is used.
 *
 * @param refused a token that a mail server has just refused.
 * @throws MailServerProblem
 */
export async function getAccessToken(
  parts: LoginParts,
  account: number,
  context: ProblemContext,
  refused: string | null = null,
): Promise<string> {
  for (let attempt = 0; attempt < lockAttempts; attempt += 1) {
    const row = await readRow(parts, account, context);
    const stored = readStoredToken(parts, account, row, refused);
    if (stored !== null) return stored;
    const token = await parts.database.tryWithLock(`mail token ${parts.application} ${account}`, () =>
      refresh(parts, account, context, refused),
    );
    if (token !== null) return token;
    await pause(lockPause);
  }
  throw new MailServerProblem('timedOut', context, {
    message: 'Another server has been renewing the sign-in of the account for too long.',
    cure: 'Wait. The server tries again by itself.',
  });
}

async function refresh(
  parts: LoginParts,
  account: number,
  context: ProblemContext,
  refused: string | null,
): Promise<string> {
  const row = await readRow(parts, account, context);
  const stored = readStoredToken(parts, account, row, refused); // another server may have refreshed it meanwhile
  if (stored !== null) return stored;
  const refreshToken = readSecret(parts, account, row, 'refreshToken');
  const settings = row.oauth as OauthSettings | null;
  if (settings === null || refreshToken === null)
    throw new MailServerProblem('tokenRevoked', context, {
      message: 'The account is not signed in with its mail provider.',
      cure: 'Sign in with the mail provider.',
    });
  const { oauth } = parts.services;
  const client = findOauthClient(settings, readSecret(parts, account, row, 'clientSecret'), oauth.clients);
  if (client === null) throw noClientProblem(context);
  const endpoints = await oauth.servers.findEndpoints(settings);
  const tokens = await oauth.servers.requestTokens(endpoints, client, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });
  await storeTokens(parts, account, tokens, row);
  return tokens.accessToken;
}

/** The account names no client of its own, and the operator has not registered one. */
export function noClientProblem(context: ProblemContext): MailServerProblem {
  return new MailServerProblem('notConfigured', context, {
    message: 'This server is not registered at the mail provider.',
    cure: 'Ask the operator to set MAIL_GOOGLE_CLIENT_ID or MAIL_MICROSOFT_CLIENT_ID, or enter a client id of your own.',
  });
}

async function readRow({ database }: LoginParts, account: number, context: ProblemContext): Promise<AccountLoginRow> {
  const row = await readAccountLogin(database, account);
  if (row) return row;
  throw new MailServerProblem('notConfigured', context, { message: 'The account does not exist any more.' });
}

function readStoredToken(
  parts: LoginParts,
  account: number,
  row: AccountLoginRow,
  refused: string | null,
): string | null {
  const text = readSecret(parts, account, row, accessTokenName);
  if (text === null) return null;
  const { token, expiresAt } = JSON.parse(text) as { readonly token: string; readonly expiresAt: number };
  return token !== refused && expiresAt - parts.clock.now() > minLifetime ? token : null;
}

/**
 * Stores tokens encrypted.
 *
 * @param before the settings and the refresh token that the tokens were requested with. If the account has others now,
 * the tokens are not stored. Null: they are always stored.
 */
export async function storeTokens(
  parts: LoginParts,
  account: number,
  { accessToken, expiresAt, refreshToken }: OauthTokens,
  before: AccountLoginRow | null,
): Promise<void> {
  const encrypt = (text: string, field: string): string =>
    parts.services.secrets.encrypt(text, { application: parts.application, record: account, field });
  const secrets = {
    [accessTokenName]: encrypt(JSON.stringify({ token: accessToken, expiresAt }), accessTokenName),
    ...(refreshToken !== null && { refreshToken: encrypt(refreshToken, 'refreshToken') }),
  };
  const { database } = parts;
  await database.write(async (transaction) => {
    const now = await readAccountLogin(database, account, transaction);
    const isSame =
      before === null ||
      (now?.secrets['refreshToken'] === before.secrets['refreshToken'] &&
        JSON.stringify(now?.oauth) === JSON.stringify(before.oauth));
    if (now && isSame) await setAccountSecrets(database, transaction, account, secrets);
  });
}
