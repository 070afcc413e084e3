import { invalidFile, tooLarge } from './source-error.ts';
import { sourceLimits } from './table-source.ts';

/** Where the records are: one after another, in a list, or in a list that is a member of the only object. */
export type JsonLayout = 'records' | 'list' | 'member';

/** The JSON text of a record, with its line (`records`) or its number from 1. */
export interface RecordText {
  readonly text: string;
  readonly line: number;
}

const quote = 0x22;
const backslash = 0x5c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openList = 0x5b;
const closeList = 0x5d;
const lineFeed = 0x0a;
const maxDepth = 1000;

/**
 * Splits JSON into the texts of its records, from pieces that may end anywhere. A record is parsed by the caller. What is outside of the
 * records is collected, with `{}` for each, and parsed at the end; so commas and brackets are checked by JSON.parse.
 */
export class JsonRecords {
  readonly #layout: JsonLayout;
  #found: RecordText[] = [];
  #count = 0;
  #line = 1;
  #recordLine = 1;
  /** The text outside of records, without white space. */
  #outside = '';
  /** The open brackets outside of records. */
  #brackets = '';
  /** The parts of the open record. */
  #record = '';
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  constructor(layout: JsonLayout) {
    this.#layout = layout;
  }

  /**
   * The records that end in this piece.
   *
   * @throws ApiError with the line or number of a record that is too long, and with the line of what is no record among `records`.
   */
  push(text: string): RecordText[] {
    let index = 0;
    while (index < text.length) {
      if (this.#inString) index = this.#readString(text, index);
      else index = this.#depth > 0 ? this.#readRecord(text, index) : this.#readOutside(text, index);
    }
    const found = this.#found;
    this.#found = [];
    return found;
  }

  /** @throws ApiError if the text is incomplete or malformed outside of the records. */
  end(): void {
    if (this.#depth > 0 || this.#inString)
      throw invalidFile(`${this.#describe()} is incomplete. The file was cut off; get it again.`);
    if (this.#layout !== 'records') this.#checkOutside();
  }

  #checkOutside(): void {
    const problem = 'The JSON text is malformed outside of its records. Check that it has all commas and brackets.';
    let outside: unknown;
    try {
      outside = JSON.parse(this.#outside);
    } catch {
      throw invalidFile(problem);
    }
    const lists = this.#layout === 'list' ? [outside] : findRecordLists(outside);
    if (lists.length > 1)
      throw invalidFile('The file has several lists of records. Save the one to import as a file of its own.');
    const [list] = lists;
    if (!Array.isArray(list)) throw invalidFile(problem);
    if (!list.every((each) => isEmptyObject(each)))
      throw invalidFile(
        'The list contains a value that is not an object. Each record must be an object such as {"name": "Ann"}.',
      );
  }

  #describe(): string {
    return this.#layout === 'records' ? `Line ${this.#recordLine}: the record` : `Record ${this.#recordLine}`;
  }

  #readOutside(text: string, index: number): number {
    const code = text.charCodeAt(index);
    if (code === openObject && this.#isRecordNext()) {
      this.#count += 1;
      this.#recordLine = this.#layout === 'records' ? this.#line : this.#count;
      this.#depth = 1;
      this.#record = '{';
      return index + 1;
    }
    if (code === lineFeed) this.#line += 1;
    if (code === 0x20 || code === lineFeed || code === 0x0d || code === 0x09) return index + 1;
    if (this.#layout === 'records')
      throw invalidFile(`Line ${this.#line}: every line must be a JSON object such as {"name": "Ann"}.`);
    this.#appendOutside(text[index] ?? '');
    if (code === quote) this.#inString = true;
    else if (code === openObject || code === openList) this.#brackets += text[index];
    else if (code === closeObject || code === closeList) this.#brackets = this.#brackets.slice(0, -1);
    return index + 1;
  }

  #isRecordNext(): boolean {
    if (this.#layout === 'records') return this.#brackets === '';
    return this.#brackets === (this.#layout === 'list' ? '[' : '{[');
  }

  #readRecord(text: string, start: number): number {
    let index = start;
    while (index < text.length && this.#depth > 0) {
      const code = text.charCodeAt(index);
      index += 1;
      if (code === quote) {
        this.#inString = true;
        break;
      }
      if (code === openObject || code === openList) this.#depth += 1;
      else if (code === closeObject || code === closeList) this.#depth -= 1;
      else if (code === lineFeed) this.#line += 1;
    }
    this.#append(text.slice(start, index));
    if (this.#depth === 0) this.#endRecord();
    return index;
  }

  #readString(text: string, start: number): number {
    let index = start;
    for (; index < text.length; index += 1) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        continue;
      }
      const code = text.charCodeAt(index);
      if (code === backslash) this.#isEscaped = true;
      else if (code === quote) {
        this.#inString = false;
        index += 1;
        break;
      }
    }
    if (this.#depth > 0) this.#append(text.slice(start, index));
    else this.#appendOutside(text.slice(start, index));
    return index;
  }

  #appendOutside(part: string): void {
    this.#outside += part;
    if (this.#outside.length > sourceLimits.cellLength || this.#brackets.length > maxDepth)
      throw tooLarge(
        'The JSON text has too much outside of its records. Save the list of records as a file of its own.',
      );
  }

  #append(part: string): void {
    this.#record += part;
    if (this.#record.length > sourceLimits.rowLength)
      throw tooLarge(`${this.#describe()} has more than ${sourceLimits.rowLength} characters.`);
  }

  #endRecord(): void {
    this.#found.push({ text: this.#record, line: this.#recordLine });
    this.#record = '';
    if (this.#layout === 'records') return;
    // Several equal neighbours are collected as one: they mean the same.
    if (this.#outside.endsWith('{},')) this.#outside = this.#outside.slice(0, -1);
    else this.#outside += '{}';
  }
}

function isEmptyObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** The members that are lists of records; without one, the member `data` if it is an empty list. */
function findRecordLists(outside: unknown): unknown[] {
  if (outside === null || typeof outside !== 'object') return [];
  const lists = Object.values(outside).filter((each) => Array.isArray(each) && each.some(isEmptyObject));
  if (lists.length > 0) return lists;
  const { data } = outside as { readonly data?: unknown };
  return [data];
}
