/** `auth:` – who calls, and how people come by accounts and back into them. */
import type { Transport } from './transport.ts';
import type { Check, SignedIn } from './wire.ts';

/** A login of the caller's own. */
export interface Session {
  readonly id: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string;
  readonly current: boolean;
}

export class Account {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** @param credentials the account is an e-mail address or a user name. */
  signIn(credentials: { readonly account: string; readonly password: string }): Promise<SignedIn> {
    return this.#post('signIn', credentials);
  }

  /** Ends the session of the token. */
  signOut(): Promise<number> {
    return this.#post('signOut');
  }

  async check(signal?: AbortSignal): Promise<Check> {
    return (await this.#transport.call<Check>('auth:check', signal ? { signal } : {})).data;
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
  }): Promise<SignedIn> {
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
  }): Promise<SignedIn> {
    return this.#post('setup', given);
  }

  async #post<T>(action: string, body?: unknown, query: object = {}): Promise<T> {
    const asked = { method: 'POST' as const, query };
    return (await this.#transport.call<T>(`auth:${action}`, body === undefined ? asked : { ...asked, body })).data;
  }
}
