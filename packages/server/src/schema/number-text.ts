import { compareDecimals } from '../protocol/exact-json.ts';

/** The digits of a number or its text: all from the first significant one, and those after the decimal point. */
export function countDigits(value: number | string): { readonly all: number; readonly fraction: number } {
  const [mantissa = '', exponent = '0'] = String(value).replace('-', '').toLowerCase().split('e');
  const [whole = '', after = ''] = mantissa.split('.');
  const fraction = Math.max(0, after.length - Number(exponent));
  const zeros = Math.max(0, Number(exponent) - after.length);
  return { all: Math.max(1, (whole + after).replace(/^0+/, '').length + zeros), fraction };
}

/**
 * Compares a number, or the text of one with more digits than a JavaScript number, with a limit. A number stands for
 * its shortest decimal text.
 *
 * @returns negative, zero or positive; NaN for text that is not a number.
 */
export function compareNumbers(value: unknown, bound: number | string): number {
  if (typeof value === 'number' && typeof bound === 'number') return value - bound;
  return compareDecimals(String(value), String(bound));
}
