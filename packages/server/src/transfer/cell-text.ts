/**
 * How a CSV file holds a value: the rules for the text of one cell. An export writes cells and an import reads them by these
 * rules, so both are here.
 *
 * **Formulas.** Spreadsheets execute a cell that begins with `=`, `+`, `-` or `@`, in Japanese environments also with their
 * full-width forms, and some skip a tab or line break before it. Such a text gets an apostrophe in front. So that this can
 * be undone, a text that already begins with apostrophes and one of these characters gets one more. A cell that begins with at least one apostrophe and one of these characters therefore
 * always has one apostrophe too many. Cells of number fields are written as they are.
 *
 * **Null.** A null is an empty cell. The empty text is a quoted empty cell: `""`.
 */

const escapedForm = /^'*[=+\-@＝＋－＠\t\r\n]/;
const unescapedForm = /^'+[=+\-@＝＋－＠\t\r\n]/;

/** A text that no spreadsheet takes for a formula. */
export function escapeFormula(text: string): string {
  return escapedForm.test(text) ? `'${text}` : text;
}

/** The text that {@link escapeFormula} has escaped. */
export function unescapeFormula(cell: string): string {
  return unescapedForm.test(cell) ? cell.slice(1) : cell;
}

/**
 * Quotes a cell if RFC 4180 requires it, if it is empty, or if it begins or ends with white space, which some readers remove.
 *
 * @param text null for an empty cell.
 */
export function quoteCell(text: string | null, delimiter: string): string {
  if (text === null) return '';
  const isPlain = text !== '' && !/[",;|\r\n]|^\s|\s$/.test(text) && !text.includes(delimiter);
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}
