/** The clipboard formats of a grid: the text of one cell, or tab-separated rows as spreadsheets use them. */
import type { Field, RecordValues } from '@tablinum/client';
import type { Row } from '../../data/records/row-window.ts';
import { getTitle, getWriteName } from '../../data/schema.ts';
import { toInputText } from './value-text.ts';

/** The text of a cell. A relation is copied as its foreign key. */
export function getCellText(field: Field, values: RecordValues): string {
  return toInputText(field, values[getWriteName(field)]);
}

/** A line of titles and one line for each row. Values with tabs, quotes or line breaks are quoted. */
export function formatRows(fields: readonly Field[], rows: readonly Row[]): string {
  const lines = [fields.map(getTitle), ...rows.map(({ values }) => fields.map((field) => getCellText(field, values)))];
  return lines.map((line) => line.map(quoteCell).join('\t')).join('\n');
}

function quoteCell(text: string): string {
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
