/** An independent parser of XLSX files: it reads the central directory of the ZIP file, and the XML of the sheets. */
import { inflateRawSync } from 'node:zlib';
import { Parser } from 'htmlparser2';

/** A cell as it is in the XML. */
export interface SheetCell {
  /** `n` for numbers, `b` for booleans, `inlineStr` for texts. */
  readonly type: string;
  readonly style: number;
  readonly value: string;
}

export interface Sheet {
  readonly name: string;
  /** The cells of each row, by the letters of their columns. */
  readonly rows: readonly ReadonlyMap<string, SheetCell>[];
  readonly xml: string;
}

const centralEntry = 0x02014b50;
const endOfDirectory = 0x06054b50;

/** The files of a ZIP archive, by their paths. */
export function unzip(bytes: Buffer): Map<string, Buffer> {
  let end = bytes.length - 22;
  while (bytes.readUInt32LE(end) !== endOfDirectory) end -= 1;
  const files = new Map<string, Buffer>();
  let entry = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (bytes.readUInt32LE(entry) !== centralEntry) throw new Error('no entry of the central directory');
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => bytes.readUInt16LE(entry + offset));
    const local = bytes.readUInt32LE(entry + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const packed = bytes.subarray(start, start + bytes.readUInt32LE(entry + 20));
    const name = bytes.toString('utf8', entry + 46, entry + 46 + nameLength!);
    files.set(name, bytes.readUInt16LE(entry + 10) === 8 ? inflateRawSync(packed) : packed);
    entry += 46 + nameLength! + extraLength! + commentLength!;
  }
  return files;
}

export function readWorkbook(bytes: Buffer): Sheet[] {
  const files = unzip(bytes);
  const text = (path: string): string => files.get(path)!.toString();
  const sheets: { name: string; id: string }[] = [];
  const targets = new Map<string, string>();
  parseXml(text('xl/workbook.xml'), (name, { name: title, 'r:id': id }) => {
    if (name === 'sheet') sheets.push({ name: title!, id: id! });
  });
  parseXml(text('xl/_rels/workbook.xml.rels'), (name, { Id: id, Target: target }) => {
    if (name === 'Relationship') targets.set(id!, `xl/${target}`);
  });
  return sheets.map(({ name, id }) => {
    const xml = text(targets.get(id)!);
    return { name, xml, rows: readRows(xml) };
  });
}

/** The values of the first sheet as texts; null for an absent cell. */
export function readSheetValues({ rows }: Sheet): (string | null)[][] {
  const letters = [...rows[0]!.keys()];
  return rows.map((row) => letters.map((letter) => row.get(letter)?.value ?? null));
}

function readRows(xml: string): Map<string, SheetCell>[] {
  const rows: Map<string, SheetCell>[] = [];
  let cell: { name: string; type: string; style: number; value: string } | null = null;
  parseXml(
    xml,
    (name, attributes) => {
      if (name === 'f') throw new Error('a cell contains a formula');
      if (name === 'row') rows.push(new Map());
      if (name !== 'c') return;
      const { r: reference = '', t: type = 'n', s: style = '0' } = attributes;
      if (reference.replace(/^[A-Z]+/, '') !== String(rows.length)) throw new Error(`${reference} is in the wrong row`);
      cell = { name: reference.replace(/\d+$/, ''), type, style: Number(style), value: '' };
    },
    (text) => {
      if (cell) cell.value += text;
    },
    (name) => {
      if (name !== 'c' || !cell) return;
      const { type, style, value } = cell;
      rows.at(-1)!.set(cell.name, { type, style, value: type === 'inlineStr' ? unescapeText(value) : value });
      cell = null;
    },
  );
  return rows;
}

/** ECMA-376, part 1, 22.9.2.19. */
function unescapeText(text: string): string {
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function parseXml(
  xml: string,
  open: (name: string, attributes: Readonly<Record<string, string>>) => void,
  text: (text: string) => void = () => {},
  close: (name: string) => void = () => {},
): void {
  const parser = new Parser({ onopentag: open, ontext: text, onclosetag: close }, { xmlMode: true });
  parser.end(xml);
}
