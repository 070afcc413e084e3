/** What a grid gives to the clipboard: the text of a cell, or lines with tabs, as spreadsheets read them. */
import type { Field, RecordValues } from '@tablinum/client';
import type { Row } from '../../data/records/row-window.ts';
import { titleOf, writtenName } from '../../data/schema.ts';
import { textOf } from './value-text.ts';

/** A link is copied as the key that it is written by. */
export function cellText(field: Field, values: RecordValues): string {
  return textOf(field, values[writtenName(field)]);
}

/** A line of titles, then one for each row; values with tabs, quotes or line breaks stand in quotes. */
export function rowsText(fields: readonly Field[], rows: readonly Row[]): string {
  const lines = [fields.map(titleOf), ...rows.map(({ values }) => fields.map((field) => cellText(field, values)))];
  return lines.map((line) => line.map(quoted).join('\t')).join('\n');
}

function quoted(text: string): string {
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
