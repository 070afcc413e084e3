import type { RowCell, SourceCell } from './table-source.ts';

/** Rows that are examined. */
const sampleRows = 20;
/** Texts that are data: numbers, dates, times, e-mail addresses, URLs, UUIDs and truth values. */
const dataForm =
  /^(?:[+-]?[\d.,' \u00a0\u202f]*\d(?:e[+-]?\d+)?\s*[%€$]?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ].*)?|\d{1,2}:\d{2}.*|[^\s@]+@[^\s@]+\.[^\s@]+|https?:\/\/\S+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|true|false|[[{].*[\]}])$/is;
const maxFormLength = 300;

/**
 * Whether the first row contains the names of columns. Its cells must be texts. A name above data is evidence for a
 * header; a cell that looks like data is evidence against it. Without evidence, it is a header if most of its cells are
 * filled.
 */
export function detectHeader(rows: readonly (readonly RowCell[])[]): boolean {
  const [first, ...rest] = rows.slice(0, sampleRows + 1);
  if (!first) return true;
  if (first.some((cell) => (cell ?? null) !== null && typeof cell !== 'string')) return false;
  let evidence = 0;
  for (const [index, cell] of first.entries()) {
    const below = rest.map((row) => row[index] ?? null).filter((each) => each !== null && each !== '');
    if (isData(cell ?? null)) evidence -= 1;
    else if ((cell ?? null) !== null && below.length > 0 && below.every(isData)) evidence += 1;
  }
  if (evidence !== 0) return evidence > 0;
  return first.filter((cell) => (cell ?? '') !== '').length * 2 > first.length;
}

function isData(cell: SourceCell): boolean {
  if (cell === null) return false;
  return typeof cell !== 'string' || (cell.length <= maxFormLength && dataForm.test(cell.trim()));
}
