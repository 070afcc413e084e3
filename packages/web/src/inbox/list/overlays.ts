import type { Conversation } from '../mail.ts';

export type RowChange = (row: Conversation) => Conversation;

/** What was done to rows and is on its way to the server: it lies over whatever is read of them until it has arrived. */
export class Overlays {
  readonly #changes = new Map<number, RowChange[]>();
  readonly #hidden = new Set<number>();
  readonly #kept = new Map<number, number>();

  /** @returns what ends it. */
  change(ids: readonly number[], change: RowChange): () => void {
    for (const id of ids) this.#changes.set(id, [...(this.#changes.get(id) ?? []), change]);
    return () => {
      for (const id of ids) {
        const others = (this.#changes.get(id) ?? []).filter((each) => each !== change);
        if (others.length > 0) this.#changes.set(id, others);
        else this.#changes.delete(id);
      }
    };
  }

  hide(ids: readonly number[]): void {
    for (const id of ids) this.#hidden.add(id);
  }

  unhide(ids: readonly number[]): void {
    for (const id of ids) this.#hidden.delete(id);
  }

  hides(id: number): boolean {
    return this.#hidden.has(id);
  }

  /** They are on their way back into the list. @returns what ends it. */
  keep(ids: readonly number[]): () => void {
    for (const id of ids) this.#kept.set(id, (this.#kept.get(id) ?? 0) + 1);
    return () => {
      for (const id of ids) {
        const left = this.#kept.get(id)! - 1;
        if (left > 0) this.#kept.set(id, left);
        else this.#kept.delete(id);
      }
    };
  }

  keeps(id: number): boolean {
    return this.#kept.has(id);
  }

  /** Rows as they are to be shown. */
  over(rows: readonly Conversation[]): Conversation[] {
    return rows
      .filter(({ id }) => !this.#hidden.has(id))
      .map((row) => (this.#changes.get(row.id) ?? []).reduce((changed, change) => change(changed), row));
  }
}
