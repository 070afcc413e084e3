/**
 * Parses JSON without rounding numbers. JSON.parse rounds 9007199254740993 to ...992; here such a number becomes an
 * {@link ExactNumber}, which JSON.stringify writes unchanged. Browsers that do not provide the source text of numbers
 * (Chrome before 114, Firefox before 135, Safari before 18.4) round like JSON.parse.
 */

/** ECMAScript 2026, not yet declared by the TypeScript library. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => object };

/** A JSON number that a JavaScript number cannot represent exactly. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return rawJSON?.(this.text) ?? Number(this.text);
  }

  toString(): string {
    return this.text;
  }
}

/**
 * Finds numbers that may be inexact: those with an exponent or more than 15 digits. Matches inside of strings are
 * harmless.
 */
const mayBeRounded = /\d[\d.]{15}|\d[eE][+-]?\d/;

/** @throws SyntaxError as JSON.parse does. */
export function parseExactJson(text: string): unknown {
  if (!rawJSON || !mayBeRounded.test(text)) return JSON.parse(text);
  const keepDigits = (_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
    typeof value === 'number' && source !== undefined && normaliseNumber(String(value)) !== normaliseNumber(source)
      ? new ExactNumber(source)
      : value;
  return JSON.parse(text, keepDigits);
}

/**
 * A normal form that is equal for texts of equal numbers: the digits without surrounding zeros, and the power of ten.
 */
function normaliseNumber(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  return `${significant}e${significant === '' ? 0 : Number(exponent) - fraction.length + digits.length - significant.length}`;
}
