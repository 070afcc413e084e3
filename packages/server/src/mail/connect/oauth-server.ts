/** Talks to authorization servers: their published endpoints, and tokens for codes and refresh tokens. */
import type { Clock } from '../../base/clock.ts';
import { LruMap } from '../../base/lru-map.ts';
import type { OauthClient } from '../../base/mail-config.ts';
import { CertificateFailure, type OutboundBytes, type OutboundClient } from '../../base/outbound.ts';
import { OutboundFailure } from '../../base/outbound-resolver.ts';
import { isObject } from '../../protocol/json-text.ts';
import { MailServerProblem, type ProblemCode, type ProblemDetails } from './mail-server-problem.ts';
import { mayCarrySecrets, type OauthEndpoints, type OauthSettings, oauthPresets } from './oauth-settings.ts';

/** Tokens as an authorization server gives them. */
export interface OauthTokens {
  readonly accessToken: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  /** Null where the server gives no new one; the former one stays valid then. */
  readonly refreshToken: string | null;
}

export const oauthLimits = {
  /** Bytes of a reply. */
  replyBytes: 64 * 1024,
  /** Milliseconds for which published endpoints are remembered. */
  endpointMilliseconds: 3_600_000,
  tokenLength: 16_384,
} as const;

interface KnownEndpoints {
  readonly until: number;
  readonly endpoints: Omit<OauthEndpoints, 'scopes'>;
}

/** The authorization servers that accounts name. */
export class OauthServers {
  readonly #outbound: Pick<OutboundClient, 'get' | 'exchange'>;
  readonly #clock: Clock;
  readonly #endpoints = new LruMap<KnownEndpoints>({ entries: 200, bytes: 400_000, keyLength: 500, sizeOf: 1000 });

  constructor(outbound: Pick<OutboundClient, 'get' | 'exchange'>, clock: Clock) {
    this.#outbound = outbound;
    this.#clock = clock;
  }

  /** @throws MailServerProblem if the issuer publishes no usable endpoints. */
  async findEndpoints({ provider, issuer, scopes }: OauthSettings): Promise<OauthEndpoints> {
    if (provider !== null) return { ...oauthPresets[provider], ...(scopes && { scopes }) };
    if (issuer === null) throw new Error('an account has neither a provider nor an issuer');
    const known = this.#endpoints.get(issuer);
    const endpoints = known && known.until > this.#clock.now() ? known.endpoints : await this.#discover(issuer);
    return { ...endpoints, scopes: scopes ?? [] };
  }

  async #discover(issuer: string): Promise<Omit<OauthEndpoints, 'scopes'>> {
    const base = issuer.replace(/\/+$/, '');
    for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
      const reply = await this.#call(issuer, () =>
        this.#outbound.get(`${base}${path}`, { accept: 'application/json' }, oauthLimits.replyBytes),
      );
      const document = parseReply(reply);
      if (reply.status !== 200 || !document) continue;
      const { issuer: named, authorization_endpoint: authorization, token_endpoint: token } = document;
      const isSame = typeof named === 'string' && named.replace(/\/+$/, '') === base;
      if (!isSame || !isEndpoint(authorization) || !isEndpoint(token)) break;
      const endpoints = { authorization, token, parameters: {} };
      this.#endpoints.set(issuer, { until: this.#clock.now() + oauthLimits.endpointMilliseconds, endpoints });
      return endpoints;
    }
    throw describe('protocol', issuer, {
      message: `${hostOf(issuer)} does not publish the endpoints of an OAuth 2 server.`,
      cure: 'Check the address of the issuer. Its document .well-known/openid-configuration must name the issuer itself, and endpoints with https.',
      retry: 'never',
    });
  }

  /**
   * Requests tokens.
   *
   * @param form the parameters of the grant, without the client.
   * @throws MailServerProblem `tokenRevoked` if the grant is no longer valid.
   */
  async requestTokens(
    { token: endpoint }: Pick<OauthEndpoints, 'token'>,
    client: OauthClient,
    form: Readonly<Record<string, string>>,
  ): Promise<OauthTokens> {
    const body = new URLSearchParams({
      ...form,
      client_id: client.id,
      ...(client.secret !== null && { client_secret: client.secret }),
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    const reply = await this.#call(endpoint, () =>
      this.#outbound.exchange(endpoint, { headers, body: body.toString() }, oauthLimits.replyBytes),
    );
    const document = parseReply(reply);
    const tokens = reply.status === 200 && document ? this.#parseTokens(document) : null;
    if (tokens) return tokens;
    throw describeRefusal(endpoint, reply.status, document?.['error']);
  }

  #parseTokens(document: Readonly<Record<string, unknown>>): OauthTokens | null {
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = document;
    if (!isToken(accessToken) || (refreshToken !== undefined && refreshToken !== null && !isToken(refreshToken)))
      return null;
    const lifetime = Number(seconds) > 0 ? Math.min(Number(seconds), 86_400) : 3600;
    return {
      accessToken,
      expiresAt: this.#clock.now() + lifetime * 1000,
      refreshToken: isToken(refreshToken) ? refreshToken : null,
    };
  }

  async #call(address: string, call: () => Promise<OutboundBytes>): Promise<OutboundBytes> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      if (error instanceof CertificateFailure)
        throw describe('tlsUntrusted', address, { message: `${hostOf(address)} cannot be trusted. ${error.message}` });
      throw describe(error.refused ? 'blockedAddress' : 'unreachable', address, {
        message: `${hostOf(address)} cannot be reached for the sign-in. ${error.message}`,
        ...(error.refused && {
          cure: 'Use a public issuer, or ask an administrator of the server to add it to OUTBOUND_ALLOW.',
        }),
        ...(!error.refused && { cure: 'Wait. The server tries again by itself.' }),
      });
    }
  }
}

const isToken = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= oauthLimits.tokenLength && /^[\x20-\x7e]+$/.test(value);

const isEndpoint = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 1000 && URL.canParse(value) && mayCarrySecrets(new URL(value));

function parseReply({ bytes }: OutboundBytes): Readonly<Record<string, unknown>> | null {
  try {
    const document: unknown = JSON.parse(bytes.toString('utf8'));
    return isObject(document) ? document : null;
  } catch {
    return null;
  }
}

const hostOf = (address: string): string => new URL(address).host;

function describe(code: ProblemCode, address: string, details: ProblemDetails): MailServerProblem {
  const url = new URL(address);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return new MailServerProblem(
    code,
    { protocol: 'imap', host: url.hostname, port, security: 'tls', user: '' },
    details,
  );
}

/** The refusals of RFC 6749. Their descriptions are not shown: they are written for developers. */
function describeRefusal(endpoint: string, status: number, error: unknown): MailServerProblem {
  const host = hostOf(endpoint);
  if (error === 'invalid_grant' || error === 'interaction_required' || error === 'consent_required')
    return describe('tokenRevoked', endpoint, {
      message: `${host} says that the permission for this server has ended.`,
    });
  if (error === 'invalid_client' || error === 'unauthorized_client')
    return describe('notConfigured', endpoint, {
      message: `${host} does not accept the client id and client secret of this server.`,
      cure: 'Ask the operator to check the client id and the client secret, or enter those of the account again.',
    });
  const known = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : '';
  if (status >= 400 && status < 500 && status !== 429)
    return describe('serverError', endpoint, { message: `${host} refuses the sign-in${known}.`, retry: 'never' });
  return describe('serverError', endpoint, { message: `${host} could not process the sign-in${known}.` });
}
