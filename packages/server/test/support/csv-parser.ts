/** An independent parser of RFC 4180, written from the grammar of the RFC. It reads every character once. */
export interface CsvCell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** @throws Error for a text that is not valid RFC 4180 with CRLF line ends. */
export function parseCsv(file: string, delimiter = ','): CsvCell[][] {
  const rows: CsvCell[][] = [];
  let index = 0;
  const fail = (problem: string): never => {
    throw new Error(`${problem} at ${index} of ${JSON.stringify(file.slice(Math.max(0, index - 40), index + 40))}`);
  };
  const readQuoted = (): CsvCell => {
    let text = '';
    for (index += 1; ; index += 1) {
      if (index >= file.length) fail('an open quotation mark');
      if (file[index] !== '"') text += file[index];
      else if (file[index + 1] === '"') {
        text += '"';
        index += 1;
      } else {
        index += 1;
        return { text, isQuoted: true };
      }
    }
  };
  const readPlain = (): CsvCell => {
    let text = '';
    for (; index < file.length && file[index] !== delimiter && file[index] !== '\r'; index += 1) {
      if (file[index] === '"' || file[index] === '\n') fail('a sign that must be quoted');
      text += file[index];
    }
    return { text, isQuoted: false };
  };
  while (index < file.length) {
    const row: CsvCell[] = [];
    for (;;) {
      row.push(file[index] === '"' ? readQuoted() : readPlain());
      if (file[index] !== delimiter) break;
      index += 1;
    }
    if (file.slice(index, index + 2) !== '\r\n') fail('no line end');
    index += 2;
    rows.push(row);
  }
  return rows;
}

/** The texts of the rows; null for an empty cell without quotation marks. */
export function readCsv(file: string, delimiter?: string): (string | null)[][] {
  return parseCsv(file, delimiter).map((row) =>
    row.map(({ text, isQuoted }) => (text === '' && !isQuoted ? null : text)),
  );
}
