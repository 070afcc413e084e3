/** Learns under which name an account's mail server writes Authentication-Results. */
import { LruMap } from '../../base/lru-map.ts';
import type { Database } from '../../database/database.ts';
import { type CheckedAccount, type DeliveredMessage, readDeliveredMessages } from '../../database/mail/check-rows.ts';
import { baseDomain } from '../html/link-url.ts';
import { parseAuthenticationResults } from '../parse/authentication.ts';

const lifetimeMilliseconds = 3_600_000;
const examinedMessages = 100;
const minMessages = 20;
const minSenderDomains = 5;
/** A name counts where it is the topmost in at least this part of the messages. */
const minShare = 0.8;

/** The names of the mail servers of accounts. They are learned again each hour. */
export class AuthservNames {
  readonly #learned = new LruMap<{ readonly names: readonly string[]; readonly expires: number }>({
    entries: 2000,
    bytes: 1024 * 1024,
    keyLength: 20,
    sizeOf: 300,
  });

  /** The names that count for an account: those that its owner gave, else the learned ones. @param now milliseconds. */
  async resolve(database: Database, { id, authservIds }: CheckedAccount, now: number): Promise<ReadonlySet<string>> {
    if (authservIds) return new Set(authservIds);
    const before = this.#learned.get(String(id));
    if (before && before.expires > now) return new Set(before.names);
    const messages = await readDeliveredMessages(database, id, examinedMessages);
    const names = learnAuthservIds(messages);
    // An account with few messages may have enough of them soon.
    if (messages.length >= minMessages) this.#learned.set(String(id), { names, expires: now + lifetimeMilliseconds });
    return new Set(names);
  }
}

/**
 * The name of the topmost header in nearly all of the newest messages, of several senders. A sender can write any name into his own
 * messages, but not into those of others. An empty name stands for servers that write none.
 */
export function learnAuthservIds(messages: readonly DeliveredMessage[]): string[] {
  if (messages.length < minMessages) return [];
  const byName = Map.groupBy(messages, ({ headers }) => readTopmostName(headers));
  for (const [name, group] of byName) {
    const domains = new Set(group.map(({ from }) => baseDomain(from[0]?.address.split('@').at(-1) ?? '')));
    if (name !== null && group.length >= minShare * messages.length && domains.size >= minSenderDomains) return [name];
  }
  return [];
}

function readTopmostName(headers: DeliveredMessage['headers']): string | null {
  const value = headers.find(([name]) => name.toLowerCase() === 'authentication-results')?.[1];
  if (value === undefined) return null;
  const { authservId, results } = parseAuthenticationResults(value);
  return authservId !== '' || results.length > 0 ? authservId : null;
}
