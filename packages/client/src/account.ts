/** The `auth` actions: sign-in, sign-up, sessions, passwords and the current caller. */

import type { CallerInfo, SignInResult } from './dto.ts';
import type { Transport } from './transport.ts';

/** A session of the caller. */
export interface Session {
  readonly id: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string;
  readonly current: boolean;
}

/** The session in the browser's cookie, and what a sign-in page needs to know. */
export interface ResumeResult {
  /** `persistent`: whether the session survives a restart of the browser. */
  readonly session: (SignInResult & { readonly persistent: boolean }) | null;
  /** There are no users yet: the set-up link creates the first admin. */
  readonly needsSetup: boolean;
  /** Whether `lostPassword` can send a link by e-mail. */
  readonly sendsMail: boolean;
  /** The title of the web interface; null: Tablinum. */
  readonly productTitle: string | null;
  /** The accent colour of the web interface, such as `#7a3cc2`; null: the accent colour of Tablinum. */
  readonly accentColor: string | null;
}

/** Pages of other origins cannot send this header. */
const sameOriginHeader = { 'x-requested-with': 'tablinum' };

export class Account {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** @param credentials `account` is an e-mail address or a user name. */
  signIn(credentials: { readonly account: string; readonly password: string }): Promise<SignInResult> {
    return this.#post('signIn', credentials);
  }

  /** Ends the session of the token. On pages of the server this also removes the browser's cookie. */
  signOut(): Promise<number> {
    // CORS does not allow this header, so pages of other origins omit it.
    return this.#post('signOut', undefined, {}, this.#transport.options.url === undefined ? sameOriginHeader : {});
  }

  /**
   * Stores the session in a cookie that scripts cannot read. For pages of the server itself.
   *
   * @param persistent whether the session survives a restart of the browser.
   */
  keep(persistent: boolean): Promise<number> {
    return this.#post('keep', { persistent }, {}, sameOriginHeader);
  }

  /** The session in the browser's cookie. For pages of the server itself. */
  resume(): Promise<ResumeResult> {
    return this.#post('resume', undefined, {}, sameOriginHeader);
  }

  async check(signal?: AbortSignal): Promise<CallerInfo> {
    return (await this.#transport.call<CallerInfo>('auth:check', signal ? { signal } : {})).data;
  }

  async sessions(): Promise<readonly Session[]> {
    return (await this.#transport.call<Session[]>('auth:sessions')).data;
  }

  endSession(id: number): Promise<number> {
    return this.#post('endSession', undefined, { filterByTk: id });
  }

  /** @returns the number of ended sessions. */
  endOtherSessions(): Promise<number> {
    return this.#post('endOtherSessions');
  }

  /** Ends the user's other sessions. */
  changePassword(passwords: { readonly oldPassword: string; readonly newPassword: string }): Promise<number> {
    return this.#post('changePassword', passwords);
  }

  signUp(account: {
    readonly email: string;
    readonly password: string;
    readonly nickname?: string;
  }): Promise<SignInResult> {
    return this.#post('signUp', account);
  }

  /** The reply is the same whether or not an account has the address. */
  lostPassword(email: string): Promise<number> {
    return this.#post('lostPassword', { email });
  }

  resetPassword(given: { readonly token: string; readonly password: string }): Promise<number> {
    return this.#post('resetPassword', given);
  }

  /** Creates the first admin with the token of the link that the server printed. */
  setup(given: {
    readonly token: string;
    readonly email: string;
    readonly password: string;
    readonly nickname?: string;
  }): Promise<SignInResult> {
    return this.#post('setup', given);
  }

  async #post<T>(
    action: string,
    body?: unknown,
    query: object = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const options = { method: 'POST' as const, query, headers };
    return (await this.#transport.call<T>(`auth:${action}`, body === undefined ? options : { ...options, body })).data;
  }
}
