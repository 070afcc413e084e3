import type { TypeName } from './model.ts';

/** Types whose values are text to `$includes`, `$like` and search. */
export const textTypes: ReadonlySet<TypeName> = new Set(['string', 'text', 'email']);
export const listTypes: ReadonlySet<TypeName> = new Set(['array', 'selects']);
export const dateTypes: ReadonlySet<TypeName> = new Set(['date', 'datetime']);
const plain: ReadonlySet<TypeName> = new Set(['json', 'array', 'selects', 'password']);

/** Types that compare and sort. */
export function isScalar(type: TypeName): boolean {
  return !plain.has(type);
}

/** Two values that are not null: negative, zero or positive. Text by code point, false before true. */
export function compare(type: TypeName, a: unknown, b: unknown): number {
  if (typeof a === 'boolean' || type === 'integer' || type === 'float' || type === 'double')
    return Math.sign(Number(a) - Number(b));
  if (type === 'bigInt') return compareExact(BigInt(a as string), BigInt(b as string));
  if (type === 'decimal') return compareExact(toHundredths(a), toHundredths(b));
  if (type === 'uid') return compareText((a as string).toLowerCase(), (b as string).toLowerCase());
  return compareText(a as string, b as string);
}

/** Nulls last in both directions. */
export function compareNullable(type: TypeName, a: unknown, b: unknown, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = compare(type, a, b);
  return descending ? -order : order;
}

export function isEqual(type: TypeName, a: unknown, b: unknown): boolean {
  return a !== null && b !== null && compare(type, a, b) === 0;
}

/** Decimals of the random worlds have two digits after the point. */
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

/** Lower case, code point by code point: what "case-insensitive" means. */
export function foldCase(text: string): string {
  return [...text].map((each) => each.toLowerCase().replace('ς', 'σ')).join('');
}

/** A pattern of `$like`: `%` any text, `_` one code point, `\` takes the next one as it is. */
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

/** Equal JSON values are equal elements: the text of one with its members in order. */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value);
}
