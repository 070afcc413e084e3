import type { Conversation } from '../mail-types.ts';

export type RowChange = (row: Conversation) => Conversation;

/** Changes of rows that the server has not confirmed yet. They are applied to all rows that are read meanwhile. */
export class OptimisticUpdates {
  readonly #changes = new Map<number, RowChange[]>();
  readonly #hidden = new Set<number>();
  readonly #retained = new Map<number, number>();
  /** The number of times that rows were shown again; a read that began at a lower one may be outdated. */
  #version = 0;
  /** By the id of a row: the version at which it was shown again. */
  readonly #shownAt = new Map<number, number>();

  get version(): number {
    return this.#version;
  }

  /** @returns a function that ends it. */
  change(ids: readonly number[], change: RowChange): () => void {
    for (const id of ids) this.#changes.set(id, [...(this.#changes.get(id) ?? []), change]);
    return () => {
      for (const id of ids) {
        const remaining = (this.#changes.get(id) ?? []).filter((each) => each !== change);
        if (remaining.length > 0) this.#changes.set(id, remaining);
        else this.#changes.delete(id);
      }
    };
  }

  hide(ids: readonly number[]): void {
    for (const id of ids) this.#hidden.add(id);
  }

  unhide(ids: readonly number[]): void {
    this.#version += 1;
    for (const id of ids) {
      this.#hidden.delete(id);
      this.#shownAt.set(id, this.#version);
    }
  }

  /** Whether a read that began at a version may return the state of a row from before its pending change. */
  isOutdated(id: number, began: number): boolean {
    return (this.#shownAt.get(id) ?? 0) > began;
  }

  isHidden(id: number): boolean {
    return this.#hidden.has(id);
  }

  /** Keeps rows in the list while they are being moved back to it. @returns a function that ends it. */
  retain(ids: readonly number[]): () => void {
    for (const id of ids) this.#retained.set(id, (this.#retained.get(id) ?? 0) + 1);
    return () => {
      for (const id of ids) {
        const left = (this.#retained.get(id) ?? 0) - 1;
        if (left > 0) this.#retained.set(id, left);
        else this.#retained.delete(id);
      }
    };
  }

  isRetained(id: number): boolean {
    return this.#retained.has(id);
  }

  /** Applies the pending changes to rows. */
  apply(rows: readonly Conversation[]): Conversation[] {
    return rows
      .filter(({ id }) => !this.#hidden.has(id))
      .map((row) => (this.#changes.get(row.id) ?? []).reduce((changed, change) => change(changed), row));
  }
}
