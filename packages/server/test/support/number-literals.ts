import { constantFrom, stringMatching, tuple } from 'fast-check';

/** JSON numbers of up to 50 digits, with and without fraction and exponent. */
export const numberLiterals = tuple(
  constantFrom('', '-'),
  stringMatching(/^(0|[1-9][0-9]{0,24})$/),
  stringMatching(/^(\.[0-9]{1,24})?$/),
  stringMatching(/^([eE][+-]?[0-9]{1,3})?$/),
).map((parts) => parts.join(''));

/** A number of digits after the point that is enough for every literal of {@link numberLiterals}. */
export const literalScale = 1100;

/** The value of a JSON number times 10^{@link literalScale}, exactly. */
export function toScaledValue(literal: string): bigint {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal)!;
  return BigInt(`${sign}${whole}${fraction}`) * 10n ** BigInt(literalScale + Number(exponent) - fraction.length);
}
