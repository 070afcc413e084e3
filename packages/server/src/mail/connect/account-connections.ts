/** What requests do with the mail servers of accounts: finding them, testing them, and signing in with providers. */
import { ApiError } from '../../protocol/api-error.ts';
import type { LoginParts } from './access-token.ts';
import type { ConnectServices } from './connect-services.ts';
import type { AddressParts } from './discovery/candidates.ts';
import type { Discovery } from './discovery/discover-settings.ts';
import type { OpenParts } from './open-imap.ts';
import type { AccountTest, AccountTestResult } from './test-account.ts';

/** Requests of one application that connect to mail servers at the same time. */
const maxConcurrent = 8;

export interface AccountConnectionParts extends LoginParts, Pick<OpenParts, 'logger'> {
  readonly services: ConnectServices & LoginParts['services'];
}

export class AccountConnections {
  readonly #parts: AccountConnectionParts;
  readonly #closing = new AbortController();
  #running = 0;

  constructor(parts: AccountConnectionParts) {
    this.#parts = parts;
  }

  /** What the sign-in of accounts works with. */
  get parts(): AccountConnectionParts {
    return this.#parts;
  }

  /** Finds the servers of an address. @throws ApiError `BUSY` if too many requests connect to mail servers now. */
  discover(address: AddressParts): Promise<Discovery> {
    return this.#run(async (signal) => {
      const { discoverSettings } = await import('./discovery/discover-settings.ts');
      return discoverSettings(address, this.#parts.services, signal);
    });
  }

  /** Signs in to the servers of an account. @throws ApiError `BUSY` if too many requests connect to mail servers now. */
  test(test: AccountTest): Promise<AccountTestResult> {
    return this.#run(async (signal) => {
      const { testAccount } = await import('./test-account.ts');
      return testAccount(test, { ...this.#parts, signal });
    });
  }

  async #run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#running >= maxConcurrent)
      throw new ApiError('BUSY', 'Too many requests connect to mail servers now. Try again later.', { retryAfter: 5 });
    this.#running += 1;
    try {
      return await work(this.#closing.signal);
    } catch (error) {
      if (this.#closing.signal.aborted) throw new ApiError('STOPPING', 'The server is stopping.');
      throw error;
    } finally {
      this.#running -= 1;
    }
  }

  /** Ends what connects now. */
  close(): void {
    this.#closing.abort();
  }
}
