/**
 * Determines which correspondents can join a message with others of the same subject if it has no references. A shared
 * recipient is not sufficient, because strangers who write to one address of a shop share it. The shared party must
 * have written one of the two messages, or the account must have written both messages to it. The account's own
 * addresses do not count.
 */
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ThreadedMail } from './thread-key.ts';

/** Names of parties, each with whether it is sufficient that the other message has the same party in any role. */
export type SubjectParties = ReadonlyMap<string, boolean>;

type Addressed = Pick<ThreadedMail, 'from' | 'to' | 'cc' | 'ownAddresses'>;

/**
 * The parties of a message, from its first 100 addresses: `{"ada@example.net" => true, "bob@example.net" => false}` if
 * Ada wrote it and Bob also received it. `">bob@example.net" => true` stands for Bob as a recipient of a message that
 * the account wrote.
 *
 * Own addresses are those of the account and those that the message itself shows to be own. The latter only count for
 * this message. Otherwise an address learned from one message would change the conversations of stored messages, and a
 * forged header would affect other messages.
 *
 * @param account the addresses of the account and its aliases, in lower case.
 */
export function collectSubjectParties(
  { from, to, cc, ownAddresses }: Addressed,
  account: ReadonlySet<string>,
): SubjectParties {
  const writers = toLowerCaseAddresses(from);
  const ownAddressSet = new Set([...account, ...ownAddresses]);
  const isOwnMessage = writers.some((address) => ownAddressSet.has(address));
  const parties = new Map<string, boolean>();
  const add = (addresses: readonly string[], isSufficient: boolean): void => {
    for (const address of addresses)
      if (!ownAddressSet.has(address) && !parties.has(address) && parties.size < mailLimits.subjectParties)
        parties.set(address, isSufficient);
  };
  add(writers, true);
  add([...toLowerCaseAddresses(to), ...toLowerCaseAddresses(cc)], false);
  if (isOwnMessage)
    for (const address of toLowerCaseAddresses(to)) if (parties.has(address)) parties.set(`>${address}`, true);
  return parties;
}

/** Whether two messages have a common party that is sufficient for one of them. */
export function shareParty(one: SubjectParties, other: SubjectParties): boolean {
  for (const [name, isSufficient] of one) {
    const isOtherSufficient = other.get(name);
    if (isOtherSufficient !== undefined && (isSufficient || isOtherSufficient)) return true;
  }
  return false;
}

function toLowerCaseAddresses(list: ThreadedMail['from']): string[] {
  return list.map(({ address }) => address.toLowerCase()).filter((address) => address !== '');
}
