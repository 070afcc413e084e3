/**
 * Finds the messages to which a reply without references belongs (the rule is `joinsBySubject`).
 *
 * The index contains a row for each party (correspondent) of a message (`collectSubjectParties`), by subject, party and
 * time. By the rule, a message belongs to many messages, but it is enough to find one message of each conversation:
 * messages to which the same reply belongs are already in one conversation. So only a few rows before and after the
 * message are read. More rows are read only if there is no such reply between them; each further message then belongs
 * to a conversation that is merged now. So each message of a subject is read only a few times, however many there are.
 */
import { pairUp } from '../../base/aligned-lists.ts';
import type { JoinCandidate } from './conversation-groups.ts';
import { collectSubjectParties, type SubjectParties, shareParty } from './subject-parties.ts';
import { computePartyKey, type ThreadIndexKeys } from './thread-index-keys.ts';
import { isInWindow, replyWindowSeconds } from './thread-key.ts';

type SubjectMatches = Pick<JoinCandidate, 'conversations' | 'matchedIndexes'>;

/**
 * The kind of a message for others with the same subject and party, as a sum: 1 for a reply that names no message (it
 * belongs to earlier ones), and 2 if the party is sufficient whatever its role in the other message.
 */
export type PartyKind = number;

const kinds: readonly PartyKind[] = [0, 1, 2, 3];
/** Whether a message of this kind is a reply that names no message. */
export const isReplyKind = (kind: PartyKind): boolean => (kind & 1) === 1;
/** Whether the correspondent alone is sufficient for a message of this kind. */
export const isSufficientKind = (kind: PartyKind): boolean => (kind & 2) === 2;
const toPartyKind = (isReply: boolean, isSufficient: boolean): PartyKind => (isReply ? 1 : 0) + (isSufficient ? 2 : 0);

/** The kinds of messages with which a message of a kind can be grouped. */
const findMatchingKinds = (kind: PartyKind): PartyKind[] =>
  kinds.filter((other) => isSufficientKind(kind) || isSufficientKind(other));

/** A row of the index of subjects. */
export interface PartyEntry {
  readonly key: string;
  readonly kind: PartyKind;
}

/** Rows of one key and kind, in an inclusive range of seconds; those nearest to `nearestTo` first. */
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
  /** Those of the keys that have rows. */
  presentKeys(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** The first rows of ranges, at most `maxRows` of each. */
  rowsIn(key: string, ranges: readonly PartyRange[], maxRows: number): Promise<readonly FoundParty[]>;
  /** The conversations of all rows of a range. */
  conversationsIn(key: string, range: PartyRange): Promise<readonly number[]>;
}

/** Number of rows of a range that are read at first. */
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
 * For each message, the conversations and the other messages to which it belongs by its subject.
 *
 * @param first number of rows of a range that are read at first.
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
    matches.push({ conversations: [...conversations], matchedIndexes });
  }
  return matches;
}

const getSecond = ({ threadKeys }: MessageParties): number => threadKeys.threaded.at / 1000;

/** Checked in both directions, so that the order of arrival does not matter. */
function belongTogether(one: MessageParties, other: MessageParties): boolean {
  const [time, otherTime] = [one.threadKeys.threaded.at, other.threadKeys.threaded.at];
  const isReached =
    (one.threadKeys.orphan && isInWindow(time, otherTime)) || (other.threadKeys.orphan && isInWindow(otherTime, time));
  return isReached && shareParty(one.parties, other.parties);
}

/** The direction in time from a message: before it or after it. Both include its own second. */
type Side = 'before' | 'after';

/** The search for the messages that belong together with one message by one of its parties. */
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
   * Which ranges must be read beyond the rows that were read. Distances are in seconds from the message.
   *
   * A hub is a message that joins the messages beyond it into one conversation. Before the message, hubs are replies. A
   * reply at the distance `d` belongs to all messages before it in the window; a reply after the message at the
   * distance `d` belongs to all messages up to `replyWindowSeconds - d` before it. After the message, the messages are
   * replies themselves, and hubs are messages to which they belong; the distances are the same.
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

  /** The distance to the nearest message of some kinds; infinite if there is none in the window. */
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
