/** Hashes by password. Each hash is used once in an attempt, so that no two records share one. */
export class HashedSecrets {
  readonly #hashes: ReadonlyMap<string, readonly string[]>;
  readonly #given = new Map<string, number>();

  constructor(hashes: ReadonlyMap<string, readonly string[]>) {
    this.#hashes = hashes;
  }

  take(text: string): string | undefined {
    const index = this.#given.get(text) ?? 0;
    this.#given.set(text, index + 1);
    return this.#hashes.get(text)?.[index];
  }

  /** The same hashes, unused, for another attempt of the same write. */
  forRetry(): HashedSecrets {
    return new HashedSecrets(this.#hashes);
  }
}
