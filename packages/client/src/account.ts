/** `auth:` – who calls, and how people come by accounts and back into them. */

import type { CallerInfo, SignInResult } from './dto.ts';
import type { Transport } from './transport.ts';

/** A login of the caller's own. */
export interface Session {
  readonly id: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string;
  readonly current: boolean;
}

/** The session that a browser keeps, and what a sign-in page has to know. */
export interface ResumeResult {
  /** `persistent`: whether the session survives a restart of the browser. */
  readonly session: (SignInResult & { readonly persistent: boolean }) | null;
  /** Nobody can sign in yet: the set-up link makes the first admin. */
  readonly needsSetup: boolean;
  /** Whether `lostPassword` can mail a link. */
  readonly sendsMail: boolean;
}

/** Pages of other origins cannot send it. */
const sameOriginHeader = { 'x-requested-with': 'tablinum' };

export class Account {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** @param credentials the account is an e-mail address or a user name. */
  signIn(credentials: { readonly account: string; readonly password: string }): Promise<SignInResult> {
    return this.#post('signIn', credentials);
  }

  /** Ends the session of the token; in pages of the server the browser forgets it too. */
  signOut(): Promise<number> {
    // CORS does not allow the header, so other pages go without it.
    return this.#post('signOut', undefined, {}, this.#transport.options.url === undefined ? sameOriginHeader : {});
  }

  /**
   * Keeps the session in the browser, for pages of the server itself: in a cookie that scripts cannot read.
   *
   * @param persistent whether the session survives a restart of the browser.
   */
  keep(persistent: boolean): Promise<number> {
    return this.#post('keep', { persistent }, {}, sameOriginHeader);
  }

  /** The session that the browser keeps for pages of the server itself. */
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

  /** @returns how many were ended. */
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

  /** Answers the same whether or not the address is known. */
  lostPassword(email: string): Promise<number> {
    return this.#post('lostPassword', { email });
  }

  resetPassword(given: { readonly token: string; readonly password: string }): Promise<number> {
    return this.#post('resetPassword', given);
  }

  /** Makes the first admin by the link that the server printed. */
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
