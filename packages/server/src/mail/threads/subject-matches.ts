/**
 * Finds what replies without references answer (the rule is `joinsBySubject`).
 *
 * The index holds a row for each party (correspondent) of a message (`collectSubjectParties`), by subject and party, in the order
 * of time. A message belongs to all messages that the rule names, but it is enough to find one message of each conversation:
 * messages that one reply reaches have been in one conversation since the reply or they arrived. So only a few rows before and
 * after the message are read. More rows are read where no such reply lies in between; then each further message belongs to a
 * conversation that is merged now. However many messages a subject has, each of them is read few times.
 */
import { pairUp } from '../../base/aligned-lists.ts';
import type { JoinCandidate } from './conversation-groups.ts';
import { collectSubjectParties, type SubjectParties, shareParty } from './subject-parties.ts';
import { computePartyKey, type ThreadIndexKeys } from './thread-index-keys.ts';
import { isInWindow, replyWindowSeconds } from './thread-key.ts';

type SubjectMatches = Pick<JoinCandidate, 'conversations' | 'mates'>;

/**
 * What a message is to others of a subject and party: 1 for an answer that names no message (it reaches back), and 2 where the party
 * suffices whatever it is in the other message. 0 to 3.
 */
export type PartyKind = number;

const kinds: readonly PartyKind[] = [0, 1, 2, 3];
/** Whether a kind stands for a reply that names no message. */
export const isReplyKind = (kind: PartyKind): boolean => (kind & 1) === 1;
/** Whether a kind stands for a message to which the correspondent alone suffices. */
export const isSufficientKind = (kind: PartyKind): boolean => (kind & 2) === 2;
const toPartyKind = (isReply: boolean, isSufficient: boolean): PartyKind => (isReply ? 1 : 0) + (isSufficient ? 2 : 0);

/** The kinds of messages that a message of a kind goes with. */
const findMatchingKinds = (kind: PartyKind): PartyKind[] =>
  kinds.filter((other) => isSufficientKind(kind) || isSufficientKind(other));

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
  /** The index of the range in the query. */
  readonly range: number;
  /** When the message was received, in seconds since the Unix epoch. */
  readonly second: number;
  readonly conversation: number | null;
}

/** The index of one account. */
export interface SubjectIndex {
  /** Those of some keys that have rows. */
  presentKeys(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** The first rows of ranges, at most `maxRows` of each. */
  rowsIn(key: string, ranges: readonly PartyRange[], maxRows: number): Promise<readonly FoundParty[]>;
  /** The conversations of all rows of a range. */
  conversationsIn(key: string, range: PartyRange): Promise<readonly number[]>;
}

/** Rows of a range that are read at first. */
export const initialRowLimit = 8;

/** A message with its parties. */
export interface MessageParties {
  readonly threadKeys: ThreadIndexKeys;
  readonly parties: SubjectParties;
}

/** @param accountAddresses addresses of the account, in lower case. */
export function addParties(threadKeys: ThreadIndexKeys, accountAddresses: ReadonlySet<string>): MessageParties {
  return {
    threadKeys,
    parties: threadKeys.subjectKey === null ? new Map() : collectSubjectParties(threadKeys.threaded, accountAddresses),
  };
}

/** The rows of a message in the index. */
export function buildPartyEntries({ threadKeys: { subjectKey, orphan }, parties }: MessageParties): PartyEntry[] {
  if (subjectKey === null) return [];
  return [...parties].map(([name, isSufficient]) => ({
    key: computePartyKey(subjectKey, name),
    kind: toPartyKind(orphan, isSufficient),
  }));
}

/**
 * For each message, the conversations and the other messages that it belongs to by its subject.
 *
 * @param first rows of a range that are read at first.
 */
export async function findSubjectMatches(
  stored: SubjectIndex,
  messages: readonly MessageParties[],
  first = initialRowLimit,
): Promise<SubjectMatches[]> {
  const entries = messages.map(buildPartyEntries);
  const present = await stored.presentKeys([...new Set(entries.flat().map(({ key }) => key))]);
  const messagesBySubject = Map.groupBy([...messages.entries()], ([, { threadKeys }]) => threadKeys.subjectKey);
  const matches: SubjectMatches[] = [];
  for (const [index, [message, ownEntries]] of pairUp(messages, entries).entries()) {
    const second = getSecond(message);
    const conversations = new Set<number>();
    for (const entry of ownEntries) {
      if (!present.has(entry.key)) continue;
      for (const each of await new MatchSearch(stored, entry, second, first).conversations()) conversations.add(each);
    }
    const { subjectKey } = message.threadKeys;
    const sameSubject = subjectKey === null ? [] : (messagesBySubject.get(subjectKey) ?? []);
    const matchedIndexes = sameSubject
      .filter(([otherIndex, each]) => otherIndex < index && belongTogether(message, each))
      .map(([otherIndex]) => otherIndex);
    matches.push({ conversations: [...conversations], mates: matchedIndexes });
  }
  return matches;
}

const getSecond = ({ threadKeys }: MessageParties): number => threadKeys.threaded.at / 1000;

/** Whichever of the two came first: the order of arrival decides nothing. */
function belongTogether(one: MessageParties, other: MessageParties): boolean {
  const [time, otherTime] = [one.threadKeys.threaded.at, other.threadKeys.threaded.at];
  const isReached =
    (one.threadKeys.orphan && isInWindow(time, otherTime)) || (other.threadKeys.orphan && isInWindow(otherTime, time));
  return isReached && shareParty(one.parties, other.parties);
}

/** Where in time, as seen from a message: before it or after it, its own second on both sides. */
type Side = 'before' | 'after';

/** What one message reaches by one of its parties, or is reached by. */
class MatchSearch {
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
    const others = findMatchingKinds(kind);
    const classes: (readonly [side: Side, kind: PartyKind])[] = [
      ...(isReplyKind(kind) ? others.map((other) => ['before', other] as const) : []),
      ...others.filter(isReplyKind).map((other) => ['after', other] as const),
    ];
    const ranges = classes.map(([side, other]) => this.#range(side, other, 0, replyWindowSeconds));
    const rows = await this.#stored.rowsIn(key, ranges, this.#first);
    const found = rows.flatMap(({ conversation }) => conversation ?? []);
    for (const [index, [side, other]] of classes.entries()) {
      const nearest = rows.filter(({ range }) => range === index);
      const last = nearest.at(-1);
      if (last && nearest.length === this.#first)
        found.push(...(await this.#readBeyond(side, other, Math.abs(this.#second - last.second))));
    }
    return found;
  }

  /**
   * What lies further away than the rows that were read. Distances are in seconds from the message.
   *
   * Before the message, the hubs are answers: one at the distance `d` reaches all that lies further back in the window, one after the
   * message at the distance `d` all up to `replyWindowSeconds - d` back. After it, the messages are answers themselves, and the hubs are
   * messages that they reach; the distances are the same.
   */
  async #readBeyond(side: Side, kind: PartyKind, readDistance: number): Promise<number[]> {
    const { key } = this.#entry;
    const hubs = side === 'before' ? findMatchingKinds(kind).filter(isReplyKind) : findMatchingKinds(kind);
    const same = await this.#readDistance(side, hubs);
    if (same <= readDistance) return [];
    const opposite = await this.#readDistance(side === 'before' ? 'after' : 'before', hubs);
    const from = Math.max(readDistance, replyWindowSeconds - opposite + 1);
    const to = Math.min(same - 1, replyWindowSeconds);
    const between = from <= to ? await this.#stored.conversationsIn(key, this.#range(side, kind, from, to)) : [];
    if (same > replyWindowSeconds) return [...between];
    const behind = await this.#stored.rowsIn(key, [this.#range(side, kind, same, replyWindowSeconds)], 1);
    return [...between, ...behind.flatMap(({ conversation }) => conversation ?? [])];
  }

  /** How far away the nearest message of some kinds is; infinite where there is none in the window. */
  async #readDistance(side: Side, ofKinds: readonly PartyKind[]): Promise<number> {
    const ranges = ofKinds.map((kind) => this.#range(side, kind, 0, replyWindowSeconds));
    const rows = await this.#stored.rowsIn(this.#entry.key, ranges, 1);
    return Math.min(...rows.map(({ second }) => Math.abs(this.#second - second)), Infinity);
  }

  #range(side: Side, kind: PartyKind, near: number, far: number): PartyRange {
    const second = this.#second;
    return side === 'before'
      ? { kind, from: second - far, to: second - near, nearestTo: 'to' }
      : { kind, from: second + near, to: second + far, nearestTo: 'from' };
  }
}
