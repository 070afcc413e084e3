/**
 * Answers that name no message they answer, and the messages that they answer as far as anybody can tell (`joinsBySubject`).
 *
 * The index holds a row for each party of a message (`subjectParties`), by subject and party, in the order of time. A message belongs
 * with all that the rule names, but it suffices to find one of each conversation: messages that one answer reaches are in one
 * conversation since that answer, or they, arrived. So a few rows on either side are read, and more only where no such answer stands
 * between: then each further message is of a conversation that is merged now. However many messages a subject has, each is looked at
 * few times.
 */
import type { Joining } from './conversation-groups.ts';
import { haveParty, type SubjectParties, subjectParties } from './subject-parties.ts';
import { answerSeconds, isInWindow } from './thread-key.ts';
import { partyKey, type ThreadSigns } from './thread-signs.ts';

type Links = Pick<Joining, 'conversations' | 'mates'>;

/**
 * What a message is to others of a subject and party: 1 for an answer that names no message (it reaches back), and 2 where the party
 * suffices whatever it is in the other message. 0 to 3.
 */
export type PartyKind = number;

const kinds: readonly PartyKind[] = [0, 1, 2, 3];
export const isAnswer = (kind: PartyKind): boolean => (kind & 1) === 1;
export const suffices = (kind: PartyKind): boolean => (kind & 2) === 2;
const partyKind = (answer: boolean, suffices: boolean): PartyKind => (answer ? 1 : 0) + (suffices ? 2 : 0);

/** The kinds of messages that a message of a kind goes with. */
const matching = (kind: PartyKind): PartyKind[] => kinds.filter((other) => suffices(kind) || suffices(other));

/** A row of the index of subjects. */
export interface PartyEntry {
  readonly key: string;
  readonly kind: PartyKind;
}

/** Rows of one key and kind, from one second to another, both included; the nearest to `nearestTo` first. */
export interface PartyRange {
  readonly kind: PartyKind;
  readonly from: number;
  readonly to: number;
  readonly nearestTo: 'from' | 'to';
}

export interface FoundParty {
  /** The place of the range in the question. */
  readonly range: number;
  /** When the message was received, in seconds since the Unix epoch. */
  readonly second: number;
  readonly conversation: number | null;
}

/** The index of one account. */
export interface SubjectIndex {
  /** Those of some keys that have rows. */
  presentKeys(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** The first rows of ranges, at most `most` of each. */
  rowsIn(key: string, ranges: readonly PartyRange[], most: number): Promise<readonly FoundParty[]>;
  /** The conversations of all rows of a range. */
  conversationsIn(key: string, range: PartyRange): Promise<readonly number[]>;
}

/** Rows of a range that are read at first. */
export const firstRows = 8;

/** A message with its parties. */
export interface PartySigns {
  readonly signs: ThreadSigns;
  readonly parties: SubjectParties;
}

/** @param own addresses of the account, in lower case. */
export function withParties(signs: ThreadSigns, own: ReadonlySet<string>): PartySigns {
  return { signs, parties: signs.subjectKey === null ? new Map() : subjectParties(signs.threaded, own) };
}

/** The rows of a message in the index. */
export function partyEntries({ signs: { subjectKey, orphan }, parties }: PartySigns): PartyEntry[] {
  if (subjectKey === null) return [];
  return [...parties].map(([name, does]) => ({ key: partyKey(subjectKey, name), kind: partyKind(orphan, does) }));
}

/**
 * For each message, the conversations and the other messages that it belongs to by its subject.
 *
 * @param first rows of a range that are read at first.
 */
export async function subjectMatches(
  stored: SubjectIndex,
  messages: readonly PartySigns[],
  first = firstRows,
): Promise<Links[]> {
  const entries = messages.map(partyEntries);
  const present = await stored.presentKeys([...new Set(entries.flat().map(({ key }) => key))]);
  const together = Map.groupBy([...messages.entries()], ([, { signs }]) => signs.subjectKey);
  const links: Links[] = [];
  for (const [index, message] of messages.entries()) {
    const second = secondOf(message);
    const conversations = new Set<number>();
    for (const entry of entries[index]!) {
      if (!present.has(entry.key)) continue;
      for (const each of await new Reach(stored, entry, second, first).conversations()) conversations.add(each);
    }
    const mates = (message.signs.subjectKey === null ? [] : together.get(message.signs.subjectKey)!)
      .filter(([place, each]) => place < index && belong(message, each))
      .map(([place]) => place);
    links.push({ conversations: [...conversations], mates });
  }
  return links;
}

const secondOf = ({ signs }: PartySigns): number => signs.threaded.at / 1000;

/** Whichever of the two came first: the order of arrival decides nothing. */
function belong(one: PartySigns, other: PartySigns): boolean {
  const [at, otherAt] = [one.signs.threaded.at, other.signs.threaded.at];
  const reaches = (one.signs.orphan && isInWindow(at, otherAt)) || (other.signs.orphan && isInWindow(otherAt, at));
  return reaches && haveParty(one.parties, other.parties);
}

/** Where in time, as seen from a message: before it or after it, its own second on both sides. */
type Side = 'before' | 'after';

/** What one message reaches by one of its parties, or is reached by. */
class Reach {
  readonly #stored: SubjectIndex;
  readonly #entry: PartyEntry;
  readonly #second: number;
  readonly #first: number;

  constructor(stored: SubjectIndex, entry: PartyEntry, second: number, first: number) {
    this.#stored = stored;
    this.#entry = entry;
    this.#second = second;
    this.#first = first;
  }

  /** One or more messages of each conversation that the message belongs to. */
  async conversations(): Promise<number[]> {
    const { key, kind } = this.#entry;
    const others = matching(kind);
    const classes: (readonly [side: Side, kind: PartyKind])[] = [
      ...(isAnswer(kind) ? others.map((other) => ['before', other] as const) : []),
      ...others.filter(isAnswer).map((other) => ['after', other] as const),
    ];
    const ranges = classes.map(([side, other]) => this.#range(side, other, 0, answerSeconds));
    const rows = await this.#stored.rowsIn(key, ranges, this.#first);
    const found = rows.flatMap(({ conversation }) => conversation ?? []);
    for (const [index, [side, other]] of classes.entries()) {
      const read = rows.filter(({ range }) => range === index);
      const last = read.at(-1);
      if (last && read.length === this.#first)
        found.push(...(await this.#beyond(side, other, Math.abs(this.#second - last.second))));
    }
    return found;
  }

  /**
   * What lies further away than the rows that were read. Distances are in seconds from the message.
   *
   * Before the message, the hubs are answers: one at the distance `d` reaches all that lies further back in the window, one after the
   * message at the distance `d` all up to `answerSeconds - d` back. After it, the messages are answers themselves, and the hubs are
   * messages that they reach; the distances are the same.
   */
  async #beyond(side: Side, kind: PartyKind, read: number): Promise<number[]> {
    const { key } = this.#entry;
    const hubs = side === 'before' ? matching(kind).filter(isAnswer) : matching(kind);
    const same = await this.#distance(side, hubs);
    if (same <= read) return [];
    const opposite = await this.#distance(side === 'before' ? 'after' : 'before', hubs);
    const from = Math.max(read, answerSeconds - opposite + 1);
    const to = Math.min(same - 1, answerSeconds);
    const between = from <= to ? await this.#stored.conversationsIn(key, this.#range(side, kind, from, to)) : [];
    if (same > answerSeconds) return [...between];
    const behind = await this.#stored.rowsIn(key, [this.#range(side, kind, same, answerSeconds)], 1);
    return [...between, ...behind.flatMap(({ conversation }) => conversation ?? [])];
  }

  /** How far away the nearest message of some kinds is; infinite where there is none in the window. */
  async #distance(side: Side, of: readonly PartyKind[]): Promise<number> {
    const ranges = of.map((kind) => this.#range(side, kind, 0, answerSeconds));
    const rows = await this.#stored.rowsIn(this.#entry.key, ranges, 1);
    return Math.min(...rows.map(({ second }) => Math.abs(this.#second - second)), Infinity);
  }

  #range(side: Side, kind: PartyKind, near: number, far: number): PartyRange {
    const at = this.#second;
    return side === 'before'
      ? { kind, from: at - far, to: at - near, nearestTo: 'to' }
      : { kind, from: at + near, to: at + far, nearestTo: 'from' };
  }
}
