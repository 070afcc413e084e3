/** The clipboard formats of a grid: the text of one cell, or tab-separated rows as spreadsheets use them. */
import type { Field, RecordValues } from '@tablinum/client';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import type { Row } from '../../data/records/row-window.ts';
import { toInputText } from './value-text.ts';

/**
 * The type under which a copy is also put on the clipboard: a single cell is quoted there, so that it stays one cell when it
 * is pasted into a grid, and unquoted as plain text.
 */
export const tableType = 'application/x-tablinum-table';

/** The text of a cell. A relation is copied as its foreign key. */
export function getCellText(field: Field, values: RecordValues): string {
  return toInputText(field, values[getWriteName(field)]);
}

/** A line of titles and one line for each row. Values with tabs, quotes or line breaks are quoted. */
export function formatRows(fields: readonly Field[], rows: readonly Row[]): string {
  const lines = [fields.map(getTitle), ...rows.map(({ values }) => fields.map((field) => getCellText(field, values)))];
  return lines.map((line) => line.map(quoteCell).join('\t')).join('\n');
}

/** A cell of tab-separated text. */
export function quoteCell(text: string): string {
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * The cells of tab-separated text, as spreadsheets put it on the clipboard: `a\t"b\nc"` is one row of two cells. A cell is
 * quoted if it begins with a quotation mark and the closing one is followed by a tab, a line break or the end; any other
 * quotation mark is text.
 *
 * @param maxRows further rows are not read, so that the length of the result shows that there are too many.
 */
export function parseRows(text: string, maxRows = Number.POSITIVE_INFINITY): string[][] {
  const rows: string[][] = [];
  let cells: string[] = [];
  let index = 0;
  while (index < text.length || cells.length > 0) {
    const cell = readQuotedCell(text, index) ?? readPlainCell(text, index);
    cells.push(cell.text);
    index = cell.end + 1;
    if (text[cell.end] === '\t') continue;
    rows.push(cells);
    if (rows.length === maxRows) break;
    cells = [];
    if (text[cell.end] === '\r' && text[index] === '\n') index += 1;
  }
  return rows;
}

interface ReadCell {
  readonly text: string;
  /** The index of the tab or line break after the cell, or the length of the text. */
  readonly end: number;
}

function readPlainCell(text: string, start: number): ReadCell {
  let end = start;
  while (end < text.length && !isCellEnd(text[end])) end += 1;
  return { text: text.slice(start, end), end };
}

/** Null if the cell is not quoted. */
function readQuotedCell(text: string, start: number): ReadCell | null {
  if (text[start] !== '"') return null;
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  if (end < 0 || (end + 1 < text.length && !isCellEnd(text[end + 1]))) return null;
  return { text: text.slice(start + 1, end).replaceAll('""', '"'), end: end + 1 };
}

function isCellEnd(character: string | undefined): boolean {
  return character === '\t' || character === '\n' || character === '\r';
}
