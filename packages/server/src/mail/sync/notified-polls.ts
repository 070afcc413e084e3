/** The pause after a notification, because one change often causes several. */
const settleMilliseconds = 100;
/** The pause after a poll that has found something: as long as the poll, within these limits. */
const minPause = 250;
const maxUsualPause = 2000;

/**
 * When a poll of all mailboxes is due because the server has reported changes. A server that reports changes where nothing has changed
 * is looked at after growing pauses, and in the end only as often as without notifications.
 *
 * All times are those of `performance.now()`.
 */
export class NotifiedPolls {
  readonly #maxPause: number;
  #pause = minPause;
  #begunAt = 0;
  #endedAt = Number.NEGATIVE_INFINITY;
  #isReported = false;
  /** Whether a report has caused the present poll. */
  #isCaused = false;
  /** When the first change was reported that no poll has found yet; null: none. */
  #notedAt: number | null = null;

  /** @param maxPause between two polls, in milliseconds. */
  constructor(maxPause: number) {
    this.#maxPause = maxPause;
  }

  /** When the next poll is due; `Infinity`: nothing was reported. */
  get dueAt(): number {
    if (this.#notedAt === null) return Number.POSITIVE_INFINITY;
    return Math.max(this.#notedAt + settleMilliseconds, this.#endedAt + this.#pause);
  }

  /** The server reports a change. @param isReported false: it cannot be known whether there was one. */
  note(now: number, isReported = true): void {
    this.#notedAt ??= now;
    this.#isReported ||= isReported;
  }

  /** A poll begins: what was reported until now is found by it. */
  begin(now: number): void {
    this.#isCaused = this.#isReported;
    this.#isReported = false;
    this.#notedAt = null;
    this.#begunAt = now;
  }

  /** A poll has ended. @param hasFound whether something had changed. */
  end(now: number, hasFound: boolean): void {
    this.#endedAt = now;
    if (hasFound) this.#pause = Math.min(maxUsualPause, Math.max(minPause, now - this.#begunAt));
    else if (this.#isCaused) this.#pause = Math.min(2 * this.#pause, Math.max(minPause, this.#maxPause));
  }
}
