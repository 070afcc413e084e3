import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { MailCertificate } from './mail-certificate.ts';

/** The purpose of a grant of the issuer. */
interface Grant {
  readonly user: string;
  readonly challenge: string;
  readonly redirect: string;
}

/** An OAuth 2 server on loopback with one client, `client-1` with the secret `client-secret-1`. */
export class OauthIssuer {
  /** The user who signs in with the browser. */
  user = 'alice@example.test';
  /** True: the user has revoked the permission. */
  isRevoked = false;
  /** Seconds for which access tokens are valid. */
  lifetime = 3600;
  /** False: no refresh token is given. */
  givesRefreshToken = true;
  /** Replaces the reply of the token endpoint. */
  tokenReply: { readonly status: number; readonly body: string } | null = null;
  /** Parameters of the requests for tokens, in order. */
  readonly requests: Readonly<Record<string, string>>[] = [];
  /** The delay of replies of the token endpoint, in milliseconds. */
  delay = 0;
  readonly #codes = new Map<string, Grant>();
  readonly #accessTokens = new Map<string, string>();
  #refreshToken: string | null = null;
  #count = 0;
  readonly #server: Server;
  readonly #scheme: 'http' | 'https';

  private constructor(certificate: MailCertificate | null) {
    this.#scheme = certificate ? 'https' : 'http';
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        text += chunk;
      });
      request.on(
        'end',
        () => void this.#reply(request.url ?? '', Object.fromEntries(new URLSearchParams(text)), response),
      );
    };
    this.#server = certificate
      ? createTlsServer({ key: certificate.key, cert: certificate.cert }, onRequest)
      : createServer(onRequest);
  }

  /** @param certificate null: without TLS. */
  static async start(certificate: MailCertificate | null = null): Promise<OauthIssuer> {
    const issuer = new OauthIssuer(certificate);
    await new Promise<void>((resolve) => issuer.#server.listen(0, '127.0.0.1', resolve));
    return issuer;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The endpoint at which Dovecot looks up the user of a token. */
  get introspectionUrl(): string {
    return `${this.url}/introspect`;
  }

  /** Settings of an account that signs in with this issuer. */
  get settings(): { issuer: string; clientId: string; scopes: string[] } {
    return { issuer: this.url, clientId: 'client-1', scopes: ['mail', 'offline_access'] };
  }

  /** Does what the browser of the user does. @returns the parameters with which the issuer redirects the browser. */
  signIn(authorizationUrl: string): { readonly state: string; readonly code: string; readonly redirect: string } {
    const url = new URL(authorizationUrl);
    const read = (name: string): string => url.searchParams.get(name) ?? '';
    const isValid = read('response_type') === 'code' && read('code_challenge_method') === 'S256';
    if (url.origin !== this.url || !isValid || read('client_id') !== 'client-1')
      throw new Error(`The authorization request is wrong: ${authorizationUrl}`);
    this.#count += 1;
    const code = `code-${this.#count}`;
    this.#codes.set(code, { user: this.user, challenge: read('code_challenge'), redirect: read('redirect_uri') });
    return { state: read('state'), code, redirect: read('redirect_uri') };
  }

  /** Makes all access tokens expire. */
  expireAccessTokens(): void {
    this.#accessTokens.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #reply(path: string, form: Readonly<Record<string, string>>, response: ServerResponse): Promise<void> {
    const send = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    // The document below /other names this issuer, and not the one that it was requested from.
    if (/^(?:\/other)?\/\.well-known\/openid-configuration$/.test(path))
      return send(200, {
        issuer: this.url,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
      });
    if (path.startsWith('/introspect')) {
      const user = this.#accessTokens.get(form['token'] ?? '');
      return send(200, user === undefined ? { active: false } : { active: true, email: user });
    }
    if (path !== '/token') return send(404, {});
    this.requests.push(form);
    if (this.delay > 0) await new Promise((resolve) => setTimeout(resolve, this.delay));
    if (this.tokenReply) return void response.writeHead(this.tokenReply.status).end(this.tokenReply.body);
    const refusal = this.#findRefusal(form);
    if (refusal) return send(400, { error: refusal, error_description: 'Said to developers.' });
    send(200, this.#giveTokens(form));
  }

  #findRefusal(form: Readonly<Record<string, string>>): string | null {
    if (form['client_id'] !== 'client-1' || form['client_secret'] !== 'client-secret-1') return 'invalid_client';
    if (this.isRevoked) return 'invalid_grant';
    if (form['grant_type'] === 'refresh_token')
      return form['refresh_token'] === this.#refreshToken ? null : 'invalid_grant';
    const grant = this.#codes.get(form['code'] ?? '');
    const challenge = createHash('sha256')
      .update(form['code_verifier'] ?? '')
      .digest('base64url');
    const isRight = grant?.challenge === challenge && grant.redirect === form['redirect_uri'];
    return form['grant_type'] === 'authorization_code' && isRight ? null : 'invalid_grant';
  }

  /** Refresh tokens can be used once, as with many providers. */
  #giveTokens(form: Readonly<Record<string, string>>): object {
    const user = this.#codes.get(form['code'] ?? '')?.user ?? this.user;
    this.#codes.delete(form['code'] ?? '');
    this.#count += 1;
    const number = this.#count;
    const accessToken = `access-${number}`;
    this.#accessTokens.set(accessToken, user);
    this.#refreshToken = `refresh-${number}`;
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: this.lifetime,
      ...(this.givesRefreshToken && { refresh_token: this.#refreshToken }),
    };
  }
}
