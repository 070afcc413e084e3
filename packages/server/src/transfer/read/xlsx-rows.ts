/** The rows of a worksheet, while it is unpacked. Formulas are not calculated: a cell has the value that the file stores. */
import { checkColumnCount, tooLarge } from './source-error.ts';
import { type SourceCell, type SourceRow, sourceLimits } from './table-source.ts';
import { readSerial } from './xlsx-dates.ts';
import { type SheetPart, TextReader, type Workbook } from './xlsx-workbook.ts';
import { parseXml, type XmlHandler } from './xml-events.ts';
import type { ZipArchive } from './zip-archive.ts';

const sheetBytes = 4 * 1024 * 1024 * 1024;
const numberForm = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const escapedCharacter = /_x([0-9A-Fa-f]{4})_/g;

/** How much text the cells of a workbook may still repeat; see `ZipArchive.maxTextLength`. */
export interface TextBudget {
  remaining: number;
}

/**
 * The rows that have a cell with a value, also hidden ones. The value of merged cells is in the first of them.
 *
 * Spreadsheet programs write rows without values for their format or height, so these are left out. In an export, they are records of
 * which all columns are null.
 *
 * @param budget of all sheets that are read.
 */
export async function* readSheetRows(
  zip: ZipArchive,
  workbook: Workbook,
  sheet: SheetPart,
  budget: TextBudget,
): AsyncGenerator<readonly SourceRow[]> {
  const reader = new SheetReader(workbook, sheet.name, budget);
  for await (const _ of parseXml(zip.read(sheet.path, sheetBytes), reader))
    if (reader.isFull) yield* toBatches(reader.take());
  yield* toBatches(reader.take());
}

function* toBatches(rows: readonly SourceRow[]): Generator<readonly SourceRow[]> {
  for (let from = 0; from < rows.length; from += sourceLimits.batchRows)
    yield rows.slice(from, from + sourceLimits.batchRows);
}

class SheetReader implements XmlHandler {
  readonly #workbook: Workbook;
  readonly #name: string;
  readonly #budget: TextBudget;
  #rows: SourceRow[] = [];
  /** The size of the collected rows: code units of texts, and one for each cell. */
  #size = 0;
  #line = 0;
  #cells: SourceCell[] = [];
  #rowLength = 0;
  #column = -1;
  #type = 'n';
  #style = 0;
  #hasFormula = false;
  #isInValue = false;
  #isInCell = false;
  #value = '';
  readonly #text = new TextReader();

  constructor(workbook: Workbook, name: string, budget: TextBudget) {
    this.#workbook = workbook;
    this.#name = name;
    this.#budget = budget;
  }

  get isFull(): boolean {
    return this.#rows.length >= sourceLimits.batchRows || this.#size >= sourceLimits.batchLength;
  }

  take(): SourceRow[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#size = 0;
    return rows;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'c') this.#beginCell(attributes);
    else if (name === 'row') {
      const line = Number(attributes['r']);
      this.#line = Number.isInteger(line) && line > 0 ? line : this.#line + 1;
      this.#cells = [];
      this.#rowLength = 0;
      this.#column = -1;
    } else if (!this.#isInCell) return;
    else if (name === 'v') this.#isInValue = true;
    else if (name === 'f') this.#hasFormula = true;
    else this.#text.open(name);
  }

  text(text: string): void {
    if (!this.#isInCell) return;
    if (this.#isInValue) this.#value += text;
    else this.#text.add(text, this.#describe());
    if (this.#value.length > sourceLimits.cellLength)
      throw tooLarge(`${this.#describe()} has a cell of more than ${sourceLimits.cellLength} characters.`);
  }

  close(name: string): void {
    if (name === 'c') this.#endCell();
    else if (name === 'v') this.#isInValue = false;
    else if (name === 'row') this.#endRow();
    else this.#text.close(name);
  }

  #describe(): string {
    return `Row ${this.#line} of the sheet "${this.#name}"`;
  }

  #beginCell({ r: reference, t: type = 'n', s: style }: Readonly<Record<string, string>>): void {
    this.#column = reference === undefined ? this.#column + 1 : (readColumn(reference) ?? this.#column + 1);
    checkColumnCount(this.#column + 1, this.#line);
    this.#type = type;
    this.#style = Number(style ?? 0);
    this.#hasFormula = false;
    this.#isInCell = true;
    this.#value = '';
  }

  #endCell(): void {
    this.#isInCell = false;
    const text = this.#text.take();
    const cell = this.#readCell(text);
    this.#rowLength += text.length + this.#value.length;
    if (this.#rowLength > sourceLimits.rowLength)
      throw tooLarge(`${this.#describe()} has more than ${sourceLimits.rowLength} characters.`);
    if (cell === null) return;
    while (this.#cells.length < this.#column) this.#cells.push(null);
    this.#cells[this.#column] = cell;
  }

  #endRow(): void {
    if (this.#cells.length > 0 || this.#workbook.isExport) this.#rows.push({ line: this.#line, cells: this.#cells });
    this.#size += this.#rowLength + this.#cells.length;
    this.#cells = [];
  }

  #readCell(text: string): SourceCell {
    const value = this.#value;
    if (this.#type === 'inlineStr') return unescapeText(text);
    if (value === '' && this.#type !== 'str')
      return this.#hasFormula ? { kind: 'error', text: 'a formula without a stored value' } : null;
    if (this.#type === 's') return this.#readShared(value);
    if (this.#type === 'str') return unescapeText(value);
    if (this.#type === 'b') return value.trim() === '1' || value.trim() === 'true';
    if (this.#type === 'e') return { kind: 'error', text: value };
    if (this.#type === 'd') return readIsoDate(value.trim());
    return this.#readNumber(value.trim());
  }

  #readShared(value: string): SourceCell {
    const text = this.#workbook.texts.get(Number(value));
    if (text === null) return { kind: 'error', text: 'a text that the file does not contain' };
    this.#rowLength += text.length;
    this.#budget.remaining -= text.length;
    if (this.#budget.remaining < 0)
      throw tooLarge('The cells repeat more text than those of any usual workbook. Save the file as CSV.');
    return unescapeText(text);
  }

  #readNumber(value: string): SourceCell {
    if (!numberForm.test(value)) return { kind: 'error', text: `${value.slice(0, 100)} is not a number` };
    const format = this.#workbook.formats[this.#style] ?? null;
    if (format !== null) return readSerial(value, format, this.#workbook.is1904);
    const number = Number(value);
    if (!Number.isFinite(number)) return { kind: 'error', text: `${value.slice(0, 100)} is out of range` };
    return { kind: 'double', text: String(number) };
  }
}

/** Characters that XML cannot contain are written as `_x0007_` (ECMA-376, part 1, 22.9.2.19). */
function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(escapedCharacter, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function readIsoDate(text: string): SourceCell {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return { kind: 'date', text };
  if (/^\d{2}:\d{2}/.test(text)) return { kind: 'time', text };
  const match = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)Z?$/.exec(text);
  return match?.[1]
    ? { kind: 'datetime', text: match[1] }
    : { kind: 'error', text: `${text.slice(0, 100)} is not a date` };
}

/** The index of a column from a reference such as `AB12`; null for another form. */
function readColumn(reference: string): number | null {
  let column = 0;
  let index = 0;
  for (; index < reference.length && index < 4; index += 1) {
    const code = reference.charCodeAt(index) & ~0x20;
    if (code < 0x41 || code > 0x5a) break;
    column = column * 26 + code - 0x40;
  }
  return index === 0 ? null : column - 1;
}
