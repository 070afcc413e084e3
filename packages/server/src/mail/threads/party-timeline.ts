import { isAnswer, type PartyKind, suffices } from './subject-matches.ts';
import { isInWindow } from './thread-key.ts';

interface Entry {
  readonly place: number;
  /** Milliseconds since the Unix epoch, to the second. */
  readonly at: number;
  readonly answers: boolean;
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
  add(kind: PartyKind, place: number, at: number): number[] {
    const found: number[] = [];
    const match = (list: Entry[]): Entry[] => {
      const matched = isAnswer(kind) ? list.filter((each) => isInWindow(at, each.at)) : answersAt(list, at);
      for (const each of matched) found.push(each.place);
      return isAnswer(kind) ? lastOf(matched) : list;
    };
    this.#strong = match(this.#strong);
    if (suffices(kind)) this.#weak = match(this.#weak);
    (suffices(kind) ? this.#strong : this.#weak).push({ place, at, answers: isAnswer(kind) });
    return found;
  }

  /** Forgets what no later message can belong to. @returns whether that was all. */
  prune(now: number): boolean {
    this.#strong = this.#strong.filter((each) => isInWindow(now, each.at));
    this.#weak = this.#weak.filter((each) => isInWindow(now, each.at));
    return this.#strong.length + this.#weak.length === 0;
  }
}

/** Answers of the same second: it is not known which came first, so they reach a message of that second. */
function answersAt(list: readonly Entry[], at: number): Entry[] {
  const found: Entry[] = [];
  for (let index = list.length - 1; list[index]?.at === at; index -= 1)
    if (list[index]!.answers) found.push(list[index]!);
  return found;
}

function lastOf(entries: readonly Entry[]): Entry[] {
  const last = entries.at(-1);
  if (!last) return [];
  return [{ ...last, answers: entries.some(({ at, answers }) => answers && at === last.at) }];
}
