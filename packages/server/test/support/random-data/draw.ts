import fc, { type GeneratorValue } from 'fast-check';

/** Choices of one run, remembered and replayed by fast-check. */
export class Draw {
  readonly #value: GeneratorValue;

  constructor(value: GeneratorValue) {
    this.#value = value;
  }

  /** From 0, `count` excluded. */
  below(count: number): number {
    return this.#value(fc.integer, { min: 0, max: count - 1 });
  }

  /** Holds in `percent` of a hundred cases. */
  chance(percent: number): boolean {
    return this.#value(fc.integer, { min: 1, max: 100 }) <= percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** Any of the members, in their order. */
  some<T>(list: readonly T[], percent = 50): T[] {
    return list.filter(() => this.chance(percent));
  }

  times<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, index) => make(index));
  }
}
