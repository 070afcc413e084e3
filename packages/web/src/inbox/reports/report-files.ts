/** A report as files: a table as CSV, and the chart as a picture. */

/** Rows as CSV (RFC 4180). A text that a spreadsheet would run as a formula begins with an apostrophe, as in exports of the server. */
export function writeReportCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(writeCell).join(',')}\r\n`).join('');
}

function writeCell(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^['=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The chart as an SVG file with black text on white. */
export function writeReportPicture(chart: SVGSVGElement): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const [, , width = '0', height = '0'] = (copy.getAttribute('viewBox') ?? '').split(' ');
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  copy.setAttribute('color', 'black');
  copy.removeAttribute('style');
  const background = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  background.setAttribute('width', '100%');
  background.setAttribute('height', '100%');
  background.setAttribute('fill', 'white');
  copy.prepend(background);
  return new XMLSerializer().serializeToString(copy);
}
