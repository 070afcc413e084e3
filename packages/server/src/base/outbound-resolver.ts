/** Resolves host names that users have given, and refuses those that lead into the private network. */
import { lookup, Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isAddress, type OutboundAllow } from './outbound-address.ts';

/** Why a host was not reached. The message is for the user who gave the host: it contains no private address. */
export class OutboundFailure extends Error {
  /** True if a retry cannot help, because the address itself is refused. */
  readonly refused: boolean;

  constructor(message: string, refused = false) {
    super(message);
    this.name = 'OutboundFailure';
    this.refused = refused;
  }
}

/** Resolves a host name to its addresses; none for an unknown name. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Resolves a name once and checks every address, so that a name server that answers differently the second time (DNS
 * rebinding) gains nothing if the connection goes to the returned addresses ({@link createFixedLookup}).
 */
export class GuardedResolver {
  readonly #allow: OutboundAllow;
  readonly #setting: string;
  readonly #resolve: Resolve;

  /**
   * @param setting the setting that can allow a private address, for messages.
   * @param resolve replaces the name servers, in tests.
   */
  constructor(allow: OutboundAllow, setting: string, resolve?: Resolve) {
    this.#allow = allow;
    this.#setting = setting;
    this.#resolve = resolve ?? ((host, signal) => this.#resolveHost(host, signal));
  }

  /**
   * The addresses to connect to. All addresses of a name must be allowed.
   *
   * @param host a canonical name or address, without brackets and trailing dot, which the caller has checked.
   * @throws OutboundFailure for an unknown or refused host.
   */
  async resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isAddress(host)) return [host];
    const addresses = await this.#resolve(host, signal);
    if (addresses.length === 0) throw new OutboundFailure('The host name is unknown.');
    if (!this.#allow.allowsHost(host) && !addresses.every((each) => this.#allow.allowsAddress(each)))
      throw new OutboundFailure(
        `The host name resolves to an address that is not public. Ask the operator to add it to ${this.#setting}.`,
        true,
      );
    return addresses;
  }

  /**
   * Names that the operator has allowed are resolved by the system, including /etc/hosts. Other names are resolved by a
   * direct query of the name servers: the system's resolver occupies one of the few threads that disk syncs need too.
   */
  async #resolveHost(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (this.#allow.allowsHost(host)) return (await lookup(host, { all: true })).map(({ address }) => address);
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  }
}

/** A lookup that always returns the given, checked addresses. @throws OutboundFailure if there are none. */
export function createFixedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const [first] = found;
  if (!first) throw new OutboundFailure('The host name is unknown.');
  return (_host, options, callback) => {
    if (options.all) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

/** Waits for work, but at most until the signal is aborted. @throws the reason of the signal. */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', end));
}
