import { DnsFailure, type DnsResolver } from '../../src/base/dns-resolver.ts';

/** A resolver for tests: names that it does not contain do not exist. */
export class MapResolver implements DnsResolver {
  /** Records by type and name, such as `TXT example.org`. A text is the code of a failure. */
  readonly records = new Map<string, readonly unknown[] | string>();
  /** All lookups, in order. */
  readonly lookups: string[] = [];
  /** The delay of a reply, in milliseconds. */
  delay = 0;
  #held: Promise<void> | null = null;

  /** Holds all replies until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return () => {
      this.#held = null;
      resolve();
    };
  }

  /** Adds TXT records. */
  addTexts(name: string, ...texts: readonly string[]): void {
    this.records.set(
      `TXT ${name}`,
      texts.map((text) => [text]),
    );
  }

  async resolve(name: string, type: string): Promise<readonly unknown[]> {
    const key = `${type} ${name.toLowerCase()}`;
    this.lookups.push(key);
    await this.#held;
    if (this.delay > 0) await new Promise((resolve) => setTimeout(resolve, this.delay));
    const found = this.records.get(key) ?? 'ENOTFOUND';
    if (typeof found === 'string') throw new DnsFailure(found, name, type);
    return found;
  }
}
