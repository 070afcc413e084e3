import { isReplyKind, isSufficientKind, type PartyKind } from './subject-matches.ts';
import { isInWindow } from './thread-key.ts';

interface Entry {
  readonly index: number;
  /** Milliseconds since the Unix epoch, to the second. */
  readonly time: number;
  readonly isReply: boolean;
}

/**
 * The messages of one subject and party in the order of time, as far as later ones may belong to them. Of messages that one answer
 * has reached, only the last is kept: whatever reaches any of them reaches it too, and they are in one group.
 */
export class PartyTimeline {
  /** Those to whom the party suffices, and the others. */
  #strong: Entry[] = [];
  #weak: Entry[] = [];

  /** Adds a message that is not older than those before. @returns messages that it belongs to, at least one of each group. */
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

  /** Forgets what no later message can belong to. @returns whether that was all. */
  prune(now: number): boolean {
    this.#strong = this.#strong.filter((each) => isInWindow(now, each.time));
    this.#weak = this.#weak.filter((each) => isInWindow(now, each.time));
    return this.#strong.length + this.#weak.length === 0;
  }
}

/** Answers of the same second: it is not known which came first, so they reach a message of that second. */
function findRepliesAt(list: readonly Entry[], time: number): Entry[] {
  const found: Entry[] = [];
  for (let index = list.length - 1; list[index]?.time === time; index -= 1)
    if (list[index]!.isReply) found.push(list[index]!);
  return found;
}

function keepLast(entries: readonly Entry[]): Entry[] {
  const last = entries.at(-1);
  if (!last) return [];
  return [{ ...last, isReply: entries.some(({ time, isReply }) => isReply && time === last.time) }];
}
