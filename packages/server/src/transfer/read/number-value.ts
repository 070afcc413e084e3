/** Numbers in texts: digits with a decimal point, or in the form that a column has. */
import type { NumberFormat } from './cell-format.ts';

const plainForm = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,5})?$/i;
const maxLength = 1000;

/** The forms of grouped numbers, by decimal sign and sign for thousands. */
const forms: readonly (NumberFormat & { readonly form: RegExp })[] = [
  { decimal: '.', group: ',', form: /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$|^[+-]?\d+(?:\.\d+)?$/ },
  { decimal: ',', group: '.', form: /^[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?$|^[+-]?\d+(?:,\d+)?$/ },
  { decimal: ',', group: ' ', form: /^[+-]?\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:,\d+)?$|^[+-]?\d+(?:,\d+)?$/ },
  { decimal: '.', group: ' ', form: /^[+-]?\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:\.\d+)?$|^[+-]?\d+(?:\.\d+)?$/ },
  { decimal: '.', group: "'", form: /^[+-]?\d{1,3}(?:['’]\d{3})+(?:\.\d+)?$|^[+-]?\d+(?:\.\d+)?$/ },
];
/** One of these signs once, with three digits after it, can separate decimals or thousands. */
const ambiguousForm = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/;

/** The forms other than plain digits. */
export const numberFormats: readonly NumberFormat[] = forms.map(({ decimal, group }) => ({ decimal, group }));

/**
 * The digits of a JSON number (`-1234.5`), or null for a text that is no number in this form.
 *
 * @param format null for plain digits with a decimal point, also with an exponent.
 */
export function readNumberText(given: string, format: NumberFormat | null): string | null {
  const text = given.trim();
  if (text.length > maxLength) return null;
  if (format === null) return plainForm.test(text) ? toJsonNumber(text) : null;
  const form = forms.find(({ decimal, group }) => decimal === format.decimal && group === format.group)?.form;
  if (!form?.test(text)) return null;
  const digits = text.replace(/[ \u00a0\u202f'’]/g, '').replaceAll(format.group, '');
  return toJsonNumber(digits.replace(',', '.'));
}

/** Whether a text shows by itself that a sign in it separates decimals or thousands. */
export function isClearNumber(text: string): boolean {
  return /[.,' \u00a0\u202f’]/.test(text.trim()) && !ambiguousForm.test(text.trim());
}

function toJsonNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = ''] =
    /^([+-]?)0*(\d*)(?:\.(\d*))?(e[+-]?\d+)?$/i.exec(text) ?? [];
  return `${sign === '-' ? '-' : ''}${whole || '0'}${fraction === '' ? '' : `.${fraction}`}${exponent}`;
}
