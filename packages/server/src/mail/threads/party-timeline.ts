import { isReplyKind, isSufficientKind, type PartyKind } from './subject-matches.ts';
import { isInWindow } from './thread-key.ts';

interface Entry {
  readonly index: number;
  /** Milliseconds since the Unix epoch, to the second. */
  readonly time: number;
  readonly isReply: boolean;
}

/**
 * The messages of one subject and correspondent in the order of time, as far as later messages can belong to them. Of messages
 * that one reply has reached, only the last is stored: whatever reaches any of them also reaches the last one, and all of them are
 * in one group.
 */
export class PartyTimeline {
  /** Messages to which the correspondent alone suffices, and the others. */
  #strong: Entry[] = [];
  #weak: Entry[] = [];

  /** Adds a message that is not older than the previous ones. @returns messages that it belongs to, at least one of each group. */
  add(kind: PartyKind, index: number, time: number): number[] {
    const found: number[] = [];
    const match = (list: Entry[]): Entry[] => {
      const matched = isReplyKind(kind)
        ? list.filter((each) => isInWindow(time, each.time))
        : findRepliesAt(list, time);
      for (const each of matched) found.push(each.index);
      return isReplyKind(kind) ? keepLast(matched) : list;
    };
    this.#strong = match(this.#strong);
    if (isSufficientKind(kind)) this.#weak = match(this.#weak);
    (isSufficientKind(kind) ? this.#strong : this.#weak).push({ index, time, isReply: isReplyKind(kind) });
    return found;
  }

  /** Removes messages to which no later message can belong. @returns whether none is left. */
  prune(now: number): boolean {
    this.#strong = this.#strong.filter((each) => isInWindow(now, each.time));
    this.#weak = this.#weak.filter((each) => isInWindow(now, each.time));
    return this.#strong.length + this.#weak.length === 0;
  }
}

/** Replies of the same second: it is unknown which message came first, so they reach a message of that second. */
function findRepliesAt(list: readonly Entry[], time: number): Entry[] {
  const found: Entry[] = [];
  for (let index = list.length - 1, entry = list[index]; entry?.time === time; index -= 1, entry = list[index])
    if (entry.isReply) found.push(entry);
  return found;
}

function keepLast(entries: readonly Entry[]): Entry[] {
  const last = entries.at(-1);
  if (!last) return [];
  return [{ ...last, isReply: entries.some(({ time, isReply }) => isReply && time === last.time) }];
}
