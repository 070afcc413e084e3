import fc, { type GeneratorValue } from 'fast-check';

/** The random choices of one run, which fast-check records and replays. */
export class Draw {
  readonly #value: GeneratorValue;

  constructor(value: GeneratorValue) {
    this.#value = value;
  }

  /** From 0 to `count` - 1. */
  below(count: number): number {
    return this.#value(fc.integer, { min: 0, max: count - 1 });
  }

  /** True in `percent` of a hundred cases. */
  chance(percent: number): boolean {
    return this.#value(fc.integer, { min: 1, max: 100 }) <= percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** A random subset of the members, in their order. */
  some<T>(list: readonly T[], percent = 50): T[] {
    return list.filter(() => this.chance(percent));
  }

  times<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, index) => make(index));
  }
}
