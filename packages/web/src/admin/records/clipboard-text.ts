/** What a grid gives to the clipboard: the text of a cell, or lines with tabs, as spreadsheets read them. */
import type { Field, RecordValues } from '@tablinum/client';
import type { Row } from '../../data/records/row-window.ts';
import { getTitle, getWriteName } from '../../data/schema.ts';
import { toInputText } from './value-text.ts';

/** A link is copied as the key that it is written by. */
export function getCellText(field: Field, values: RecordValues): string {
  return toInputText(field, values[getWriteName(field)]);
}

/** A line of titles, then one for each row; values with tabs, quotes or line breaks stand in quotes. */
export function formatRows(fields: readonly Field[], rows: readonly Row[]): string {
  const lines = [fields.map(getTitle), ...rows.map(({ values }) => fields.map((field) => getCellText(field, values)))];
  return lines.map((line) => line.map(quoteCell).join('\t')).join('\n');
}

function quoteCell(text: string): string {
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
