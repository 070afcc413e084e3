/**
 * Disjoint sets of the numbers 0, 1, 2, … (union-find). The smallest number represents a set. If the numbers are in the
 * order of time, that is its oldest member.
 */
export class DisjointSets {
  readonly #parents: number[] = [];

  /** How many numbers there are. */
  get size(): number {
    return this.#parents.length;
  }

  /** Adds the next number, in a set of its own. @returns the number. */
  add(): number {
    return this.#parents.push(this.#parents.length) - 1;
  }

  /** Merges the sets of two numbers. */
  join(one: number, other: number): void {
    const [root, otherRoot] = [this.findRoot(one), this.findRoot(other)];
    this.#parents[Math.max(root, otherRoot)] = Math.min(root, otherRoot);
  }

  /** The smallest number of the set that a number is in. Halves the path on the way. */
  findRoot(number: number): number {
    let root = number;
    for (let parent = this.#parents[root]; parent !== undefined && parent !== root; parent = this.#parents[root]) {
      const grandparent = this.#parents[parent] ?? parent;
      this.#parents[root] = grandparent;
      root = grandparent;
    }
    return root;
  }
}
