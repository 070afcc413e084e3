/**
 * Who of a message may join it to others of the same subject, where references are missing. A shared recipient proves nothing: strangers
 * who write to one address of a shop share it. So the shared party must have written one of the two messages, or the account must have
 * written both to it; and the account's own addresses do not count.
 */
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ThreadedMail } from './thread-key.ts';

/** Names of parties, each with whether it suffices that another message has it too, in whatever role. */
export type SubjectParties = ReadonlyMap<string, boolean>;

type Addressed = Pick<ThreadedMail, 'from' | 'to' | 'cc' | 'ownAddresses'>;

/**
 * The parties of a message, its first 100 addresses at most: `{"ada@example.net" => true, "bob@example.net" => false}` where Ada
 * wrote it and Bob received it too. `">bob@example.net" => true` stands for Bob as somebody to whom the account wrote it.
 *
 * Own addresses are those of the account and those that the message itself shows to be own. What a message shows decides about this
 * message only: what is learned from others would change the conversations of messages that are stored already, and a forged header
 * would reach further than its own message.
 *
 * @param account the addresses of the account, in lower case: its own one and its aliases.
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

/** Whether two messages have a party in common that suffices for one of them. */
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
