/** Settings of an account that signs in by OAuth 2: a known provider or any issuer, and the client of this server there. */
import type { OauthClient } from '../../base/mail-config.ts';
import { findHostProblem, normalizeHost, OutboundAllow } from '../../base/outbound-address.ts';
import { invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { OauthPreset } from './providers.ts';

/** As stored in the field `oauth` of an account. Contains no secret. */
export interface OauthSettings {
  readonly provider: OauthPreset | null;
  /** The address of an authorization server that publishes its endpoints; null for a known provider. */
  readonly issuer: string | null;
  /** Null: the client that the operator has registered. */
  readonly clientId: string | null;
  /** Null: those of the known provider. */
  readonly scopes: readonly string[] | null;
}

/** Where and how to ask for tokens. */
export interface OauthEndpoints {
  readonly authorization: string;
  readonly token: string;
  readonly scopes: readonly string[];
  /** Further parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The endpoints of the known providers. */
export const oauthPresets: Readonly<Record<OauthPreset, OauthEndpoints>> = {
  google: {
    authorization: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    scopes: ['https://mail.google.com/'],
    // Google only gives a refresh token for offline access, and again only after the consent is given again.
    parameters: { access_type: 'offline', prompt: 'consent' },
  },
  microsoft: {
    authorization: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    scopes: [
      'https://outlook.office.com/IMAP.AccessAsUser.All',
      'https://outlook.office.com/SMTP.Send',
      'offline_access',
    ],
    parameters: {},
  },
};

const maxScopes = 20;
const text = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value.length >= 1 && value.length <= length && /^[\x21-\x7e]+$/.test(value);

/**
 * Checks the `oauth` member of an account.
 *
 * @throws ApiError `VALIDATION_FAILED` naming the members and the cure.
 */
export function parseOauthSettings(input: unknown): OauthSettings | null {
  if (input === null) return null;
  if (!isObject(input))
    throw invalidValues({
      oauth: 'Give {"provider": "google"}, {"provider": "microsoft"}, or {"issuer", "clientId", "scopes"}.',
    });
  const { provider = null, issuer = null, clientId = null, scopes = null, ...unknownMembers } = input;
  const details: Record<string, string> = {};
  for (const name of Object.keys(unknownMembers))
    details[`oauth.${name.slice(0, 60)}`] = 'No such property; provider, issuer, clientId and scopes are known.';
  if (provider !== null && provider !== 'google' && provider !== 'microsoft')
    details['oauth.provider'] = 'Give google or microsoft, or name another server by "issuer".';
  if ((provider === null) === (issuer === null)) details['oauth.issuer'] ??= 'Give either "provider" or "issuer".';
  else if (issuer !== null) details['oauth.issuer'] = findIssuerProblem(issuer) ?? '';
  if (clientId !== null && !text(clientId, 400)) details['oauth.clientId'] = 'Give the client id, without spaces.';
  if (issuer !== null && clientId === null)
    details['oauth.clientId'] = 'Give the client id that the issuer has registered for this server.';
  const isScopeList = Array.isArray(scopes) && scopes.length <= maxScopes && scopes.every((each) => text(each, 200));
  if (scopes !== null && !isScopeList)
    details['oauth.scopes'] = `Give a list of at most ${maxScopes} scopes without spaces.`;
  if (issuer !== null && scopes === null)
    details['oauth.scopes'] = 'Give the scopes for IMAP and SMTP of this issuer, and the one for refresh tokens.';
  const wrong = Object.entries(details).filter(([, problem]) => problem !== '');
  if (wrong.length > 0) throw invalidValues(Object.fromEntries(wrong));
  return { provider, issuer, clientId, scopes } as OauthSettings;
}

const noAllowance = new OutboundAllow([]);

/** Tokens and client secrets only travel encrypted, except inside the private network. */
export function mayCarrySecrets(url: URL): boolean {
  const isPrivate = findHostProblem(normalizeHost(url), noAllowance, '') !== null;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isPrivate);
}

function findIssuerProblem(issuer: unknown): string | null {
  const url = typeof issuer === 'string' && issuer.length <= 500 && URL.canParse(issuer) ? new URL(issuer) : null;
  const isPlain = url && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url && isPlain && mayCarrySecrets(url)) return null;
  return 'Give the address of the issuer, such as https://login.example.com, without query.';
}

/** The client of an account: its own, or that of the operator. @param ownSecret the secret stored with the account. */
export function findOauthClient(
  { provider, clientId }: OauthSettings,
  ownSecret: string | null,
  configured: Readonly<Record<OauthPreset, OauthClient | null>>,
): OauthClient | null {
  if (clientId !== null) return { id: clientId, secret: ownSecret };
  return provider === null ? null : configured[provider];
}
