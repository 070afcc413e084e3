import type { MailAddress } from '../parse/parsed-mail.ts';

/** Participants that a conversation names. */
const most = 50;

/** The people of a conversation, by their address in lower case. */
export type Participants = Map<string, MailAddress>;

/** Those who have an address. Who is named twice is known as the last time. */
export function byAddress(people: readonly MailAddress[]): Participants {
  const written = people.filter(({ address }) => address !== '');
  return new Map(written.map((each) => [each.address.toLowerCase(), each]));
}

/** Whoever takes part in one more message takes part in its conversation, known as the first time, as far as there is room. */
export function addPeople(known: Participants, people: readonly MailAddress[]): void {
  for (const [address, each] of byAddress(people))
    if (!known.has(address) && known.size < most) known.set(address, each);
}
