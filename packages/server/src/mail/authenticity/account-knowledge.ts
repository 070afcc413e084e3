/** What checks need to know of accounts and senders, read once for each account of a run. */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../database/database.ts';
import { type CheckedAccount, type DueCheck, readCheckedAccount } from '../../database/mail/check-rows.ts';
import { CorrespondentRows } from '../../database/mail/correspondent-rows.ts';
import { baseDomain } from '../html/link-url.ts';
import { isBulkMail } from '../parse/envelope.ts';
import { type KnownDomain, skeleton } from './confusable-domains.ts';
import type { AuthservNames } from './learn-authserv-ids.ts';
import type { SenderFacts } from './sender-warnings.ts';
import type { ReceivingServer } from './verify-authenticity.ts';

/** A message and the address of its sender. */
export interface CheckedSender extends Pick<DueCheck, 'emailId' | 'receivedAt' | 'headers'> {
  readonly sender: string | null;
}

/**
 * Maximum number of domains that the account has written to. More would not make it more likely to find a look-alike.
 */
const maxKnownDomains = 2000;
/** Accounts of one run whose facts are remembered. */
const maxAccounts = 100;

/** The facts of one run of the checks. */
export class AccountKnowledge {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #names: AuthservNames;
  #accounts = new Map<number, Promise<CheckedAccount | null>>();

  /** @param names outlives the run. */
  constructor(database: Database, clock: Clock, names: AuthservNames) {
    this.#database = database;
    this.#clock = clock;
    this.#names = names;
  }

  /** What is known of an account's mail server. */
  async readServer(account: number): Promise<ReceivingServer> {
    const found = await this.#readAccount(account);
    if (!found) return { authservIds: new Set(), domains: new Set() };
    const authservIds = await this.#names.resolve(this.#database, found, this.#clock.now());
    const ownDomains = found.addresses.map((address) => address.slice(address.lastIndexOf('@') + 1));
    const hosts = [found.host ?? '', ...authservIds, ...ownDomains].filter((each) => each.includes('.'));
    return { authservIds, domains: new Set(hosts.map(baseDomain)) };
  }

  /** What an account knows of senders. @returns one entry for each message, in order. */
  async readSenders(account: number, messages: readonly CheckedSender[]): Promise<SenderFacts[]> {
    const found = await this.#readAccount(account);
    const rows = new CorrespondentRows(this.#database, null, account);
    const addresses = messages.flatMap(({ sender }) => (sender === null ? [] : [sender.toLowerCase()]));
    const domains = [...new Set(addresses.map(readBaseDomain))];
    const [people, written, verified] = await Promise.all([
      rows.find(addresses),
      rows.readWrittenDomains(maxKnownDomains),
      rows.findVerifiedDomains(domains),
    ]);
    const own = found?.addresses.map(readBaseDomain) ?? [];
    const known = [...new Set([...own, ...written])].map(
      (domain): KnownDomain => ({ domain, skeleton: skeleton(domain) }),
    );
    return messages.map(({ sender, emailId, receivedAt, headers }) => {
      const address = sender?.toLowerCase() ?? null;
      const person = address === null ? undefined : people.get(address);
      const isFirst = person !== undefined && !person.written && person.firstEmailId === emailId;
      return {
        address,
        isFirst: isFirst && found !== null && knowsItsSenders(found, receivedAt),
        isDomainVerified: address !== null && verified.has(readBaseDomain(address)),
        known,
        isBulk: isBulkMail(headers.map(([name, value]) => ({ name, raw: value }))),
      };
    });
  }

  #readAccount(id: number): Promise<CheckedAccount | null> {
    if (this.#accounts.size >= maxAccounts) this.#accounts = new Map();
    const found = this.#accounts.get(id) ?? readCheckedAccount(this.#database, id);
    this.#accounts.set(id, found);
    return found;
  }
}

const readBaseDomain = (address: string): string => baseDomain(address.slice(address.lastIndexOf('@') + 1));

/** Whether a sender is new if the account has no earlier message: messages that arrived before the account was created may be missing. */
function knowsItsSenders({ createdAt, isBackfilling }: CheckedAccount, receivedAt: string): boolean {
  return !isBackfilling && createdAt !== null && receivedAt > createdAt;
}
