/** References of a batch: string values such as `"$order.id"`, which stand for a member of an earlier result. */
import { ApiError } from '../../protocol/api-error.ts';
import { JsonNumber, orderedObject } from '../../protocol/exact-json.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import { parseVariable } from '../../query/variables.ts';

const referencePattern = /^\$([A-Za-z][A-Za-z0-9_]{0,59})((?:\.[^.]+)+)$/;

/** The value of a string that is not a reference: `$$` at its start stands for `$`. Null for a reference. */
export function parseLiteral(text: string): string | null {
  if (!text.startsWith('$')) return text;
  return text.startsWith('$$') ? text.slice(1) : null;
}

/** The results of the named operations of one batch, and how much of them later operations have referred to. */
export class BatchResults {
  readonly #results = new Map<string, unknown>();
  #referred = 0;

  store(name: string, result: unknown): void {
    this.#results.set(name, result);
  }

  /**
   * Returns a value with its references replaced at any depth. Member names are not replaced.
   *
   * @throws ApiError 400 for a name that no earlier operation has, and for a member that its result does not have.
   */
  resolve(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return parseLiteral(value) ?? this.#valueOf(value);
    if (value === null || typeof value !== 'object' || value instanceof JsonNumber) return value;
    if (depth > 2 * limits.jsonDepth)
      throw new ApiError('BODY_INVALID', `Values of a batch are at most ${2 * limits.jsonDepth} levels deep.`);
    if (Array.isArray(value)) return value.map((each) => this.resolve(each, depth + 1));
    return orderedObject(Object.entries(value).map(([name, each]) => [name, this.resolve(each, depth + 1)]));
  }

  /**
   * Returns a filter with its references replaced. They stand for values: stored texts and objects add no conditions and no variables.
   *
   * @throws ApiError as {@link resolve}, and 400 for a reference to an object, and for one that would be read as a variable.
   */
  resolveFilter(filter: unknown, isInList = false): unknown {
    if (typeof filter === 'string') {
      const literal = parseLiteral(filter);
      return literal ?? requireComparable(filter, this.#valueOf(filter), isInList);
    }
    if (Array.isArray(filter)) return filter.map((each) => this.resolveFilter(each, true));
    if (!isObject(filter)) return filter;
    return orderedObject(Object.entries(filter).map(([name, each]) => [name, this.resolveFilter(each)]));
  }

  #valueOf(text: string): unknown {
    const [, name, path] = referencePattern.exec(text) ?? [];
    if (name === undefined || path === undefined || !this.#results.has(name))
      throw new ApiError(
        'BODY_INVALID',
        `"${text.slice(0, 80)}" does not refer to an earlier operation. "$name.path" refers to one by its "as"; write $$ for a text that begins with $.`,
      );
    let found: unknown = this.#results.get(name);
    for (const member of path.slice(1).split('.')) {
      const isMember = Array.isArray(found) ? /^\d{1,6}$/.test(member) : isObject(found);
      if (!isMember || !Object.hasOwn(found as object, member))
        throw new ApiError(
          'BODY_INVALID',
          `"${text.slice(0, 80)}" does not exist: the result of "${name}" has no "${member.slice(0, 60)}".`,
        );
      found = (found as Record<string, unknown>)[member];
    }
    this.#count(found);
    return found;
  }

  /** Repeated references to a long text could make a request of any size, so their total is limited. */
  #count(value: unknown): void {
    this.#referred += typeof value === 'number' ? 8 : JSON.stringify(value).length;
    if (this.#referred > limits.referredBytes)
      throw new ApiError('LIMIT_EXCEEDED', 'The references of a batch may insert at most 10 MiB of values.');
  }
}

/** A value of a reference in a filter. Texts in double braces are variables, unless they are in a list. */
function requireComparable(reference: string, value: unknown, isInList: boolean): unknown {
  const parts = Array.isArray(value) && !isInList ? (value as unknown[]) : [value];
  const shown = `"${reference.slice(0, 80)}" in "filter"`;
  if (parts.some((part) => Array.isArray(part) || isObject(part)))
    throw new ApiError('BODY_INVALID', `${shown} stands for an object. Refer to a value, or to a list of values.`);
  if (!isInList && parseVariable(value) !== null)
    throw new ApiError(
      'BODY_INVALID',
      `${shown} stands for a text in double braces, which a filter would read as a variable. Put the reference in a list, such as {"$in": ["${reference.slice(0, 80)}"]}.`,
    );
  return value;
}
