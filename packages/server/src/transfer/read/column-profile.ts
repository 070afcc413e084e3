/**
 * What the values of one column have in common: the types that all of them fit, and the form of its numbers and dates.
 * The form is found even if a few texts are neither.
 */
import { textFormats } from '../../schema/types/formatted-text.ts';
import type { CellFormat, DateOrder, NumberFormat } from './cell-format.ts';
import { readTruth, showCell } from './cell-value.ts';
import { readDateText, readDatetimeText, readTimeText } from './date-value.ts';
import { isClearNumber, numberFormats, readNumberText } from './number-value.ts';
import type { SourceCell } from './table-source.ts';

/** Distinct texts that are counted. */
const maxDistinct = 50;
const maxSamples = 5;
const maxSampleLength = 200;
/** Longer texts are only text. */
const maxTypedLength = 10_000;
const uidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Numbers whose zeros or plus sign would be lost: postal codes and telephone numbers. */
const codeForm = /^(?:[+-]?0\d|\+)/;

/** Orders of dates; null: dates that cannot mean two days. */
const dateOrders: readonly (DateOrder | null)[] = [null, 'dmy', 'mdy', 'ymd'];
const allFormats: readonly (NumberFormat | null)[] = [null, ...numberFormats];
/** Maximum number of other texts among the numbers or dates of a column, or their maximum share of its texts. */
const maxOthers = { count: 20, share: 0.1 } as const;

export type SimpleType = 'boolean' | 'uid' | 'time' | 'email' | 'url' | 'array' | 'json';

const simpleTests: Readonly<Record<SimpleType, (text: string) => boolean>> = {
  boolean: (text) => readTruth(text) !== null && !/^[x✓]$/i.test(text.trim()),
  uid: (text) => uidForm.test(text),
  time: (text) => text.includes(':') && 'value' in readTimeText(text),
  email: (text) => textFormats['email']?.isValid(text) ?? false,
  url: (text) => textFormats['url']?.isValid(text) ?? false,
  array: (text) => text.startsWith('[') && isJson(text),
  json: (text) => /^[[{]/.test(text) && isJson(text),
};

/** The digits of the numbers of a column. */
export interface NumberShape {
  readonly format: NumberFormat | null;
  whole: number;
  fraction: number;
  hasExponent: boolean;
  /** The greatest absolute value. */
  size: number;
}

export class ColumnProfile {
  /** Cells that are neither empty nor an error. */
  count = 0;
  empty = 0;
  maxLength = 0;
  hasLineBreak = false;
  readonly samples: string[] = [];
  /** Null if there are more than are counted. */
  distinct: Set<string> | null = new Set();
  /** Every number is greater than the one before. */
  isAscending = true;
  readonly #hasTypes: boolean;
  #last = Number.NEGATIVE_INFINITY;
  #simple = Object.keys(simpleTests) as SimpleType[];
  #numbers: NumberShape[];
  #hasClearNumber = false;
  /** Whether a sign in some number can separate decimals or thousands. */
  #hasAmbiguousNumber = false;
  #dates = dateOrders;
  #datetimes = dateOrders;
  /** Texts that are no number, date or date-time in any form. */
  readonly #others = { numbers: 0, dates: 0, datetimes: 0 };

  /** @param hasTypes the file distinguishes texts from numbers, so a text is never a number. */
  constructor(hasTypes: boolean) {
    this.#hasTypes = hasTypes;
    this.#numbers = allFormats.map((format) => ({
      format,
      whole: 0,
      fraction: 0,
      hasExponent: false,
      size: 0,
    }));
  }

  add(cell: SourceCell): void {
    const text = showCell(cell);
    if (text === null || text.trim() === '') {
      this.empty += 1;
      return;
    }
    if (this.samples.length < maxSamples) this.samples.push(text.slice(0, maxSampleLength));
    if (typeof cell === 'object' && cell?.kind === 'error') return;
    this.count += 1;
    this.maxLength = Math.max(this.maxLength, text.length);
    this.hasLineBreak ||= /[\r\n]/.test(text);
    if (this.distinct && this.distinct.size <= maxDistinct) this.distinct.add(text);
    else this.distinct = null;
    if (text.length > maxTypedLength) this.#keepOnly([]);
    else if (typeof cell === 'object' && cell?.kind === 'json') this.#keepOnly(['array', 'json']);
    else if (this.#hasTypes && typeof cell === 'string') this.#addTypedText();
    if (text.length <= maxTypedLength) this.#narrow(text);
  }

  /** The types in their order of preference, without numbers and dates. */
  get simpleTypes(): readonly SimpleType[] {
    return this.count === 0 ? [] : this.#simple;
  }

  /** The numbers of the column; null if some value is not a number, or if the signs can be read in two ways. */
  get numbers(): NumberShape | null {
    return this.count === 0 || this.#others.numbers > 0 ? null : this.#numberShape;
  }

  /**
   * The type of the dates of the column; null if some value is not a date, or if the order of its dates is not known.
   */
  get dateType(): 'date' | 'datetime' | null {
    if (this.count === 0) return null;
    if (this.#others.dates === 0 && chooseOrder(this.#dates) !== undefined) return 'date';
    return this.#others.datetimes === 0 && chooseOrder(this.#datetimes) !== undefined ? 'datetime' : null;
  }

  /** How the numbers and dates are to be read, also if some texts of the column are neither. */
  get format(): CellFormat {
    return {
      numbers: this.#numberShape?.format ?? null,
      dates: chooseOrder(this.#dates) ?? chooseOrder(this.#datetimes) ?? null,
    };
  }

  /** The decimal sign that the numbers of the column show; null: they do not show it. */
  get decimalSign(): NumberFormat['decimal'] | null {
    const shape = this.#hasClearNumber ? this.#numberShape : null;
    return shape && (shape.format?.decimal ?? '.');
  }

  /** Reads numbers such as `1.234` with the decimal sign that other columns of the file show. */
  useDecimalSign(sign: NumberFormat['decimal']): void {
    if (this.#hasClearNumber || !this.#hasAmbiguousNumber) return;
    const fitting = this.#numbers.filter(({ format }) => (format?.decimal ?? '.') === sign);
    if (fitting.length === 0) return;
    this.#numbers = fitting;
    this.#hasClearNumber = true;
  }

  get #numberShape(): NumberShape | null {
    const [first] = this.#numbers;
    return first && (first.format === null || this.#hasClearNumber) ? first : null;
  }

  #keepOnly(types: readonly SimpleType[]): void {
    this.#simple = this.#simple.filter((type) => types.includes(type));
    this.#numbers = [];
    this.#dates = [];
    this.#datetimes = [];
  }

  #addTypedText(): void {
    this.#simple = this.#simple.filter((type) => type !== 'boolean' && type !== 'array' && type !== 'json');
    this.#numbers = [];
  }

  #narrow(text: string): void {
    this.#simple = this.#simple.filter((type) => simpleTests[type](text));
    if (this.#numbers.length > 0) this.#narrowNumbers(text);
    this.#dates = this.#narrowOrders('dates', this.#dates, (order) => 'value' in readDateText(text, order));
    const isDatetime = (order: DateOrder | null): boolean => 'value' in readDatetimeText(text, order, null);
    this.#datetimes = this.#narrowOrders('datetimes', this.#datetimes, isDatetime);
  }

  #narrowOrders(
    kind: 'dates' | 'datetimes',
    orders: readonly (DateOrder | null)[],
    fits: (order: DateOrder | null) => boolean,
  ): readonly (DateOrder | null)[] {
    if (orders.length === 0) return orders;
    const fitting = orders.filter(fits);
    if (fitting.length > 0 || dateOrders.some(fits)) return fitting;
    return this.#noteOther(kind) ? orders : [];
  }

  /**
   * Counts a text that is not a number or a date. @returns whether there are so few of them that the others still have
   * a form.
   */
  #noteOther(kind: 'numbers' | 'dates' | 'datetimes'): boolean {
    this.#others[kind] += 1;
    return this.#others[kind] <= Math.max(maxOthers.count, maxOthers.share * this.count);
  }

  #narrowNumbers(text: string): void {
    const value = Number(text);
    if (!(value > this.#last)) this.isAscending = false;
    this.#last = value;
    if (!allFormats.some((format) => readNumberText(text, format) !== null)) {
      if (!this.#noteOther('numbers')) this.#numbers = [];
      return;
    }
    if (codeForm.test(text.trim())) this.#numbers = [];
    if (isClearNumber(text)) this.#hasClearNumber = true;
    else this.#hasAmbiguousNumber ||= /[.,]/.test(text);
    this.#numbers = this.#numbers.filter((shape) => {
      const digits = readNumberText(text, shape.format);
      if (digits !== null) extendShape(shape, digits);
      return digits !== null;
    });
  }
}

function extendShape(shape: NumberShape, digits: string): void {
  const [mantissa = '', exponent] = digits.replace('-', '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  shape.whole = Math.max(shape.whole, whole === '0' ? 0 : whole.length);
  shape.fraction = Math.max(shape.fraction, fraction.length);
  shape.hasExponent ||= exponent !== undefined;
  shape.size = Math.max(shape.size, Math.abs(Number(digits)));
}

/**
 * The order that fits all dates; null if they can be read without one, undefined if no order fits or more than one
 * does.
 */
function chooseOrder(orders: readonly (DateOrder | null)[]): DateOrder | null | undefined {
  const [first, second] = orders.filter((order) => order !== null);
  if (first !== undefined && second === undefined) return first;
  return orders.includes(null) ? null : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
