import { isReplyKind, isSufficientKind, type PartyKind } from './subject-matches.ts';
import { isInWindow } from './thread-key.ts';

interface Entry {
  readonly index: number;
  /** Milliseconds since the Unix epoch, to the second. */
  readonly time: number;
  readonly isReply: boolean;
}

/**
 * The messages of one subject and correspondent in the order of time to which later messages can belong. Of the
 * messages that one reply belongs to, only the last one is stored: they are all in one group, and a later message that
 * belongs to any of them also belongs to the last one.
 */
export class PartyTimeline {
  /** Messages for which the correspondent alone is sufficient, and the others. */
  #strong: Entry[] = [];
  #weak: Entry[] = [];

  /**
   * Adds a message that is not older than the previous ones. @returns messages to which it belongs, at least one of
   * each group.
   */
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

  /** Removes messages to which no later message can belong. @returns whether no message is left. */
  prune(now: number): boolean {
    this.#strong = this.#strong.filter((each) => isInWindow(now, each.time));
    this.#weak = this.#weak.filter((each) => isInWindow(now, each.time));
    return this.#strong.length + this.#weak.length === 0;
  }
}

/** A reply also belongs to a message of the same second, because it is unknown which of them came first. */
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
