import { type FieldType, fieldType, operatorSets, optionChecks } from '../field-type.ts';
import { readTextOperand } from './string.ts';

/** Text with a fixed format. It is stored as it was written. */
export function createFormattedType(name: string, format: string, maxAllowedLength: number): FieldType {
  return fieldType({
    name,
    storage: 'text',
    operators: operatorSets.text,
    options: { maxLength: optionChecks.wholeNumber(1, maxAllowedLength) },
    validationSchema: ({ maxLength = maxAllowedLength }) => ({ type: 'string', wellFormed: true, maxLength, format }),
    readOperand: readTextOperand,
  });
}

/** An e-mail address: a local part, `@`, a domain. */
export const emailType = createFormattedType('email', 'email', 320);
/** An absolute http or https address. */
export const urlType = createFormattedType('url', 'url', 8192);
/** A telephone number in E.164: `+` and up to 15 digits. */
export const phoneType = createFormattedType('phone', 'phone', 16);
/** `#rgb`, `#rrggbb` or `#rrggbbaa`. */
export const colorType = createFormattedType('color', 'color', 9);

const emailForm =
  /^[^\s@<>()[\]\\,;:"]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?)*$/u;

/** A text format, and the error message for values without it. */
export interface TextForm {
  isValid(text: string): boolean;
  readonly message: string;
}

/** The forms by format. */
export const textFormats: Readonly<Record<string, TextForm>> = {
  email: { isValid: (text) => emailForm.test(text), message: 'Give an e-mail address such as ann@example.com.' },
  url: { isValid: isWebAddress, message: 'Give an absolute URL that starts with http:// or https://.' },
  phone: {
    isValid: (text) => /^\+[1-9]\d{1,14}$/.test(text),
    message:
      'Give a telephone number such as +4930123456: a plus sign, the country code and the number, without spaces.',
  },
  color: {
    isValid: (text) => /^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(text),
    message: 'Give a colour as #rgb, #rrggbb or #rrggbbaa.',
  },
};

function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text);
}
