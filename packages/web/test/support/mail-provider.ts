import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A mail provider on loopback whose authorization server immediately accepts every sign-in. */
export class MailProvider {
  /** The access token that is valid now. */
  token = '';
  /** The parameters of all requests for tokens. */
  readonly forms: Readonly<Record<string, string>>[] = [];
  readonly #server: Server;
  #refreshToken = '';
  #issued = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#reply(request, response));
  }

  static async open(): Promise<MailProvider> {
    const provider = new MailProvider();
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Revokes all tokens that were issued. */
  revoke(): void {
    this.token = 'revoked';
    this.#refreshToken = 'revoked';
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.issuer);
    if (url.pathname === '/authorize') {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      back.search = new URLSearchParams({ state: url.searchParams.get('state') ?? '', code: '4711' }).toString();
      response.writeHead(302, { location: back.href }).end();
      return;
    }
    const body =
      url.pathname === '/token'
        ? this.#giveTokens(Object.fromEntries(new URLSearchParams(await readText(request))))
        : {
            issuer: this.issuer,
            authorization_endpoint: `${this.issuer}/authorize`,
            token_endpoint: `${this.issuer}/token`,
          };
    response.writeHead('error' in body ? 400 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #giveTokens(form: Readonly<Record<string, string>>): object {
    this.forms.push(form);
    if (form['grant_type'] === 'refresh_token' && form['refresh_token'] !== this.#refreshToken)
      return { error: 'invalid_grant' };
    this.#issued += 1;
    this.token = `token-${this.#issued}`;
    this.#refreshToken = `refresh-${this.#issued}`;
    return { access_token: this.token, refresh_token: this.#refreshToken, expires_in: 3600 };
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
