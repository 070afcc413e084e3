/** References of a batch: whole texts such as `"$order.id"` that stand for a member of an earlier result. */
import { ApiError } from '../../protocol/api-error.ts';
import { JsonNumber, orderedObject } from '../../protocol/exact-json.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';

const referencePattern = /^\$([A-Za-z][A-Za-z0-9_]{0,59})((?:\.[^.]+)+)$/;

/** What a text stands for before anything has run: `$$` for a `$`; null for a reference. */
export function parseLiteral(text: string): string | null {
  if (!text.startsWith('$')) return text;
  return text.startsWith('$$') ? text.slice(1) : null;
}

/** What the named operations of one batch have answered, and how much of it later ones may still refer to. */
export class BatchResults {
  readonly #results = new Map<string, unknown>();
  #referred = 0;

  store(name: string, result: unknown): void {
    this.#results.set(name, result);
  }

  /**
   * A value with its references replaced, however deep; member names stay as they are. `$$` stands for a `$`.
   *
   * @throws ApiError 400 for names that no earlier operation has, and for members that its result does not show.
   */
  resolve(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return parseLiteral(value) ?? this.#valueOf(value);
    if (value === null || typeof value !== 'object' || value instanceof JsonNumber) return value;
    if (depth > 2 * limits.jsonDepth)
      throw new ApiError('BODY_INVALID', `Values of a batch are at most ${2 * limits.jsonDepth} deep.`);
    if (Array.isArray(value)) return value.map((each) => this.resolve(each, depth + 1));
    return orderedObject(Object.entries(value).map(([name, each]) => [name, this.resolve(each, depth + 1)]));
  }

  #valueOf(text: string): unknown {
    const [, name, path] = referencePattern.exec(text) ?? [];
    if (name === undefined || !this.#results.has(name))
      throw new ApiError(
        'BODY_INVALID',
        `"${text.slice(0, 80)}" refers to no earlier operation; "$name.path" names one by its "as", and a text that begins with $ is written with $$.`,
      );
    let found: unknown = this.#results.get(name);
    for (const member of path!.slice(1).split('.')) {
      const exists =
        (Array.isArray(found) ? /^\d{1,6}$/.test(member) : isObject(found)) && Object.hasOwn(found!, member);
      if (!exists)
        throw new ApiError(
          'BODY_INVALID',
          `"${text.slice(0, 80)}" names nothing that the result of "${name}" shows: it has no "${member.slice(0, 60)}".`,
        );
      found = (found as Record<string, unknown>)[member];
    }
    this.#count(found);
    return found;
  }

  /** The same long text may be named over and over: what comes of it has a bound. */
  #count(value: unknown): void {
    this.#referred += typeof value === 'number' ? 8 : JSON.stringify(value).length;
    if (this.#referred > limits.referredBytes)
      throw new ApiError('LIMIT_EXCEEDED', 'The references of a batch stand for at most 10 MiB of values.');
  }
}
