import { invalidValues } from '../../protocol/api-error.ts';

/** Collects what is wrong with an input, by path (`conditions.0.value`). */
export class InputProblems {
  readonly #details: Record<string, string> = {};

  /** Adds what is wrong at a path, with the cure. The first problem of a path stays. */
  add(path: string, problem: string): void {
    this.#details[path] ??= problem;
  }

  /** Adds a problem for each member of an object that is not known. */
  addUnknown(path: string, given: object, known: readonly string[]): void {
    for (const name of Object.keys(given))
      if (!known.includes(name))
        this.add(
          `${path === '' ? '' : `${path}.`}${name.slice(0, 60)}`,
          `There is no such property. Remove it. The properties are ${known.join(', ')}.`,
        );
  }

  /** @throws ApiError 422 naming each path, if there is a problem. */
  throwIfAny(): void {
    if (Object.keys(this.#details).length > 0) throw invalidValues(this.#details);
  }
}
