import type { FieldDefinition } from '../../protocol/definition.ts';
import { JsonNumber } from '../../protocol/exact-json.ts';
import { type FieldType, fieldType, invalidOperand, optionChecks, toExactBound } from '../field-type.ts';

const defaults = { precision: 18, scale: 2 };

/**
 * Exact numbers as text with exactly `scale` digits after the decimal point, and `precision` (at most 18) digits in
 * total.
 */
export const decimalType = fieldType({
  name: 'decimal',
  storage: 'decimal(18,2)',
  options: {
    min: optionChecks.exactNumber,
    max: optionChecks.exactNumber,
    precision: optionChecks.wholeNumber(1, 18),
    scale: scaleProblem,
  },
  validationSchema: (definition) => createDecimalType(definition).validationSchema(definition),
  forDefinition: createDecimalType,
});

function createDecimalType({ precision = defaults.precision, scale = defaults.scale }: FieldDefinition): FieldType {
  const readDecimal = (value: unknown): unknown => canonicalDecimal(value, precision, scale) ?? invalidOperand;
  return {
    ...decimalType,
    storage: `decimal(${precision},${scale})`,
    validationSchema: ({ min, max }) => ({
      type: ['number', 'string'],
      decimal: { precision, scale },
      ...(min !== undefined && { least: toExactBound(min) }),
      ...(max !== undefined && { greatest: toExactBound(max) }),
    }),
    read: readDecimal,
    readOperand: readDecimal,
    readExact: (number) => number.text,
  };
}

function scaleProblem(value: unknown, { precision = defaults.precision }: FieldDefinition): string | null {
  return optionChecks.wholeNumber(0, Math.min(18, precision))(value);
}

/** `-12.30` for `-12.3` with scale 2; null for values that do not fit. Zero has no sign. */
export function canonicalDecimal(value: unknown, precision: number, scale: number): string | null {
  const text = typeof value === 'number' ? plainDigits(value) : value instanceof JsonNumber ? value.text : value;
  const match = typeof text === 'string' ? /^(-?)(\d{1,40})(?:\.(\d{1,40}))?$/.exec(text) : null;
  if (!match) return null;
  const [, sign = '', wholePart = '', fractionPart = ''] = match;
  const whole = wholePart.replace(/^0+(?=\d)/, '');
  const fraction = fractionPart.replace(/0+$/, '');
  const wholeDigits = whole === '0' ? 0 : whole.length;
  if (fraction.length > scale || wholeDigits > precision - scale) return null;
  const digits = scale === 0 ? whole : `${whole}.${fraction.padEnd(scale, '0')}`;
  return /[1-9]/.test(digits) ? `${sign}${digits}` : digits;
}

/** A JSON number without an exponent. Its shortest digits are taken as the digits that the client wrote. */
function plainDigits(value: number): string {
  const text = String(value);
  return /e/.test(text) && Math.abs(value) < 1 ? value.toFixed(20).replace(/0+$/, '') : text;
}
