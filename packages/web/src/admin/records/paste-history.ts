import type { Key } from '@tablinum/client';
import type { PastedRecord, PasteReceipt } from './paste-write.ts';

/** Pastes that can be undone. */
const maxSteps = 20;

/**
 * The pastes of a list that can be undone and repeated, in their order. Pastes that write the same record share its
 * {@link PastedRecord}, because undoing one of them changes the version that the others need.
 */
export class PasteHistory {
  #done: PasteReceipt[] = [];
  #undone: PasteReceipt[] = [];
  readonly #onTaken = new WeakMap<PasteReceipt, () => void>();

  /** The paste that would be undone next. */
  get last(): PasteReceipt | null {
    return this.#done.at(-1) ?? null;
  }

  /** Adds a new paste, after which no other one can be repeated. @returns the paste as it can be undone. */
  add({ changed, created }: PasteReceipt): PasteReceipt {
    this.#undone = [];
    const known = this.#listRecords();
    const share = (record: PastedRecord): PastedRecord => {
      const shared = known.get(record.key);
      if (!shared) return record;
      shared.version = record.version;
      return shared;
    };
    const receipt = { changed: changed.map((each) => ({ ...each, record: share(each.record) })), created };
    this.putBack(receipt);
    return receipt;
  }

  /** Some paste has been undone and can be repeated. */
  get hasUndone(): boolean {
    return this.#undone.length > 0;
  }

  takeLast(): void {
    const taken = this.#done.pop();
    if (taken) this.#onTaken.get(taken)?.();
  }

  /** Registers a function that is called when a paste is taken to be undone, for example to remove its button. */
  onTaken(receipt: PasteReceipt, call: () => void): void {
    this.#onTaken.set(receipt, call);
  }

  takeUndone(): PasteReceipt | null {
    return this.#undone.pop() ?? null;
  }

  /** Records that a paste has been written again. */
  putBack(receipt: PasteReceipt): void {
    this.#done = [...this.#done, receipt].slice(-maxSteps);
  }

  /** Records that a paste has been undone. */
  putUndone(receipt: PasteReceipt): void {
    this.#undone = [...this.#undone, receipt].slice(-maxSteps);
  }

  clear(): void {
    this.#done = [];
    this.#undone = [];
  }

  /** The records of all pastes, by their keys. */
  #listRecords(): Map<Key, PastedRecord> {
    const pastes = [...this.#done, ...this.#undone].flatMap(({ changed, created }) => [...changed, ...created]);
    return new Map(pastes.map(({ record }) => [record.key, record]));
  }
}
