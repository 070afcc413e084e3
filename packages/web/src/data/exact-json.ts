/**
 * JSON whose numbers keep all digits. JSON.parse rounds 9007199254740993 to ...992; here such a number is an
 * {@link ExactNumber}, which JSON.stringify writes as it was. Browsers that do not give the source text of numbers
 * (Chrome before 114, Firefox before 135, Safari before 18.4) round as JSON.parse does.
 */

/** ECMAScript 2026; the library of TypeScript does not declare it yet. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => object };

/** A JSON number that a JavaScript number does not hold. */
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

/** Numbers without an exponent and with at most 15 digits are exact. Matches inside of strings only cost time. */
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

/** Equal for texts of equal numbers: the digits without zeros around them, and the power of ten that they stand for. */
function normaliseNumber(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  return `${significant}e${significant === '' ? 0 : Number(exponent) - fraction.length + digits.length - significant.length}`;
}
