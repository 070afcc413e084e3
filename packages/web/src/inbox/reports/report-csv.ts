/** Rows as CSV (RFC 4180). A text that a spreadsheet would run as a formula begins with an apostrophe, as in exports of the server. */
export function writeReportCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(writeCell).join(',')}\r\n`).join('');
}

function writeCell(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^['=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
