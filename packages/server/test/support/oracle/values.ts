import type { TypeName } from './model.ts';

/** Types that `$includes`, `$like` and search treat as text. */
export const textTypes: ReadonlySet<TypeName> = new Set(['string', 'text', 'email']);
export const listTypes: ReadonlySet<TypeName> = new Set(['array', 'selects']);
export const dateTypes: ReadonlySet<TypeName> = new Set(['date', 'datetime']);
const plain: ReadonlySet<TypeName> = new Set(['json', 'array', 'selects', 'password']);

/** Whether values of a type can be compared and sorted. */
export function isScalar(type: TypeName): boolean {
  return !plain.has(type);
}

/** Compares two values that are not null. Texts are compared by code point, and false sorts before true. */
export function compare(type: TypeName, a: unknown, b: unknown): number {
  if (typeof a === 'boolean' || type === 'integer' || type === 'float' || type === 'double')
    return Math.sign(Number(a) - Number(b));
  if (type === 'bigInt') return compareExact(BigInt(a as string), BigInt(b as string));
  if (type === 'decimal') return compareExact(toHundredths(a), toHundredths(b));
  if (type === 'uid') return compareText((a as string).toLowerCase(), (b as string).toLowerCase());
  return compareText(a as string, b as string);
}

/** Compares values; nulls are last in both directions. */
export function compareNullable(type: TypeName, a: unknown, b: unknown, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = compare(type, a, b);
  return descending ? -order : order;
}

export function isEqual(type: TypeName, a: unknown, b: unknown): boolean {
  return a !== null && b !== null && compare(type, a, b) === 0;
}

/** A decimal in hundredths, because decimals of the random datasets have two digits after the point. */
export function toHundredths(decimal: unknown): bigint {
  const [whole = '', fraction = ''] = String(decimal).split('.');
  return BigInt(whole + fraction.padEnd(2, '0'));
}

export function formatHundredths(hundredths: bigint): string {
  const digits = String(hundredths < 0n ? -hundredths : hundredths).padStart(3, '0');
  return `${hundredths < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function compareExact(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}

function compareText(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  const at = left.findIndex((each, index) => each !== right[index]);
  if (at < 0) return left.length - right.length;
  return at >= right.length ? 1 : left[at]!.codePointAt(0)! - right[at]!.codePointAt(0)!;
}

/** Lower case, code point by code point: the definition of "case-insensitive". */
export function foldCase(text: string): string {
  return [...text].map((each) => each.toLowerCase().replace('ς', 'σ')).join('');
}

/** Matches a pattern of `$like`: `%` is any text, `_` one code point, and `\` escapes the next code point. */
export function isLike(text: string, pattern: string): boolean {
  const source = pattern.replace(
    /\\(.)|([%_])|[\s\S]/gu,
    (part, escaped: string | undefined, wild: string | undefined) => {
      if (wild) return wild === '%' ? '[\\s\\S]*' : '[\\s\\S]';
      return (escaped ?? part).replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
    },
  );
  return new RegExp(`^${source}$`, 'u').test(text);
}

/** The text of a JSON value with sorted members: list elements are equal if these texts are equal. */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value);
}
