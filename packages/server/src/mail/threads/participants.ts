import type { MailAddress } from '../parse/parsed-mail.ts';

/** Participants that a conversation names. */
const maxParticipants = 50;

/** A participant of a conversation: `{"name": "Ada", "address": "ada@example.net", "wrote": true}`. */
export interface Participant extends MailAddress {
  /** Whether the participant wrote one of its messages; others only received some. */
  readonly wrote: boolean;
}

/** The sender and the receivers of a message. */
export interface MessagePeople {
  readonly from: readonly MailAddress[];
  readonly others: readonly MailAddress[];
}

/**
 * The participants of a conversation by their address in lower case, with the name from their first message. Senders
 * come first, in the order of their first messages, then those who only received messages. At most 50 are kept.
 */
export class Participants {
  readonly #writers = new Map<string, MailAddress>();
  readonly #others = new Map<string, MailAddress>();

  /** @param known the stored list of a conversation. Lists of earlier server versions do not contain who wrote. */
  constructor(known: readonly (MailAddress & { readonly wrote?: boolean })[] = []) {
    this.addAll(known);
  }

  /** Adds the participants of another conversation. */
  addAll(known: readonly (MailAddress & { readonly wrote?: boolean })[]): void {
    for (const each of known)
      this.add(each.wrote === true ? { from: [each], others: [] } : { from: [], others: [each] });
  }

  /** Adds the participants of one more message. */
  add({ from, others }: MessagePeople): void {
    for (const [address, person] of indexByAddress(from)) {
      const known = this.#writers.get(address) ?? this.#others.get(address) ?? person;
      this.#others.delete(address);
      if (this.#writers.size < maxParticipants) this.#writers.set(address, known);
    }
    for (const [address, person] of indexByAddress(others))
      if (!this.#writers.has(address) && !this.#others.has(address) && this.#others.size < maxParticipants)
        this.#others.set(address, person);
  }

  list(): Participant[] {
    const participants = (people: Iterable<MailAddress>, wrote: boolean): Participant[] =>
      [...people].map(({ name, address }) => ({ name, address, wrote }));
    return [...participants(this.#writers.values(), true), ...participants(this.#others.values(), false)].slice(
      0,
      maxParticipants,
    );
  }
}

/** Participants with an address, each with the last name. */
function indexByAddress(people: readonly MailAddress[]): Map<string, MailAddress> {
  const named = people.filter(({ address }) => address !== '');
  return new Map(named.map((each) => [each.address.toLowerCase(), each]));
}
