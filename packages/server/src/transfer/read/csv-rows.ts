import { unescapeFormula } from '../cell-text.ts';
import { checkColumnCount, invalidFile, tooLarge } from './source-error.ts';
import { type SourceCell, type SourceRow, sourceLimits } from './table-source.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const apostrophe = 0x27;

/**
 * The position in a cell: before it, in it, within quotation marks, or after a quotation mark that may have closed it.
 */
type Position = 'start' | 'plain' | 'quoted' | 'closed';

/**
 * Reads CSV (RFC 4180) from pieces of text that may end anywhere. Lines end with CRLF, LF or CR, also mixed. A quotation mark within
 * a cell that does not begin with one is an ordinary character. An empty cell is null, and `""` is the empty text.
 */
export class CsvRows {
  readonly #delimiter: number;
  #rows: SourceRow[] = [];
  #cells: SourceCell[] = [];
  #rowLength = 0;
  #text = '';
  #position: Position = 'start';
  #isQuoted = false;
  #line = 1;
  #rowLine = 1;
  #cellLine = 1;
  /** The previous piece ended with a carriage return: a line feed after it belongs to the same line break. */
  #endedWithReturn = false;

  /** @param firstLine the number of the first line. */
  constructor(delimiter: string, firstLine = 1) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#line = firstLine;
    this.#rowLine = firstLine;
  }

  /** The rows that end in this piece. An empty line is a row with one empty cell. @throws ApiError with the line. */
  push(text: string): SourceRow[] {
    let index = this.#endedWithReturn && text.charCodeAt(0) === lineFeed ? 1 : 0;
    if (text !== '') this.#endedWithReturn = false;
    if (index === 1 && this.#position === 'quoted') this.#text += '\n';
    while (index < text.length) {
      if (this.#position === 'start') index = this.#begin(text, index);
      else if (this.#position === 'plain') index = this.#readPlain(text, index);
      else index = this.#position === 'quoted' ? this.#readQuoted(text, index) : this.#readClosed(text, index);
    }
    return this.#takeRows();
  }

  /** The last row, if the text does not end with a line break. @throws ApiError for an open quotation mark. */
  end(): SourceRow[] {
    if (this.#position === 'quoted')
      throw invalidFile(
        `Line ${this.#cellLine}: the quotation mark that begins a cell on this line is never closed. Close it, or double it if it belongs to the text.`,
      );
    if (this.#cells.length > 0 || this.#position !== 'start') this.#endRow();
    return this.#takeRows();
  }

  #takeRows(): SourceRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  #begin(text: string, index: number): number {
    this.#isQuoted = text.charCodeAt(index) === quote;
    this.#cellLine = this.#line;
    this.#position = this.#isQuoted ? 'quoted' : 'plain';
    return this.#isQuoted ? index + 1 : index;
  }

  #readPlain(text: string, start: number): number {
    let end = start;
    let code = 0;
    for (; end < text.length; end += 1) {
      code = text.charCodeAt(end);
      if (code === this.#delimiter || code === lineFeed || code === carriageReturn) break;
    }
    this.#append(text, start, end);
    return end < text.length ? this.#endCell(text, end, code) : end;
  }

  #readQuoted(text: string, start: number): number {
    const found = text.indexOf('"', start);
    const end = found < 0 ? text.length : found;
    this.#countLines(text, start, end);
    this.#append(text, start, end);
    if (found >= 0) this.#position = 'closed';
    return found < 0 ? end : end + 1;
  }

  #readClosed(text: string, index: number): number {
    const code = text.charCodeAt(index);
    if (code === quote) {
      this.#text += '"';
      this.#position = 'quoted';
      return index + 1;
    }
    if (code !== this.#delimiter && code !== lineFeed && code !== carriageReturn)
      throw invalidFile(
        `Line ${this.#line}: text follows the closing quotation mark of a cell. Double each quotation mark that belongs to the text.`,
      );
    return this.#endCell(text, index, code);
  }

  #append(text: string, start: number, end: number): void {
    if (end > start) this.#text += text.slice(start, end);
    if (this.#text.length > sourceLimits.cellLength)
      throw tooLarge(
        `Line ${this.#cellLine}: a cell has more than ${sourceLimits.cellLength} characters. Is a quotation mark not closed?`,
      );
  }

  /** @returns the index after the delimiter or line break. */
  #endCell(text: string, index: number, code: number): number {
    if (code === this.#delimiter) {
      this.#addCell();
      return index + 1;
    }
    this.#endRow();
    this.#line += 1;
    this.#rowLine = this.#line;
    if (code === lineFeed) return index + 1;
    this.#endedWithReturn = index + 1 === text.length;
    return text.charCodeAt(index + 1) === lineFeed ? index + 2 : index + 1;
  }

  #addCell(): void {
    const text = this.#text;
    const isEscaped = text.charCodeAt(0) === apostrophe;
    this.#cells.push(text === '' && !this.#isQuoted ? null : isEscaped ? unescapeFormula(text) : text);
    this.#rowLength += text.length;
    checkColumnCount(this.#cells.length, this.#rowLine);
    if (this.#rowLength > sourceLimits.rowLength)
      throw tooLarge(`Line ${this.#rowLine}: the row has more than ${sourceLimits.rowLength} characters.`);
    this.#text = '';
    this.#isQuoted = false;
    this.#position = 'start';
  }

  #endRow(): void {
    this.#addCell();
    this.#rows.push({ line: this.#rowLine, cells: this.#cells });
    this.#cells = [];
    this.#rowLength = 0;
  }

  /** Counts the line breaks within quotation marks. */
  #countLines(text: string, start: number, end: number): void {
    for (let index = start; index < end; index += 1) {
      const code = text.charCodeAt(index);
      if (code !== lineFeed && code !== carriageReturn) continue;
      this.#line += 1;
      if (code === lineFeed) continue;
      if (text.charCodeAt(index + 1) === lineFeed) index += 1;
      else if (index + 1 === text.length) this.#endedWithReturn = true;
    }
  }
}
