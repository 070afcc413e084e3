/** The parts of a workbook that its sheets refer to: the list of sheets, number formats and shared texts. */
import { posix } from 'node:path';
import { workbookProgram } from '../xlsx-parts.ts';
import { invalidFile, tooLarge } from './source-error.ts';
import { sourceLimits } from './table-source.ts';
import { TextTable } from './text-table.ts';
import { findBuiltInFormat, readFormatCode, type SheetDateKind } from './xlsx-dates.ts';
import { parseXml, type XmlHandler } from './xml-events.ts';
import type { ZipArchive } from './zip-archive.ts';

const partBytes = 64 * 1024 * 1024;
const textBytes = 1024 * 1024 * 1024;
const maxSheets = 10_000;
const maxFormats = 200_000;

export interface SheetPart {
  readonly name: string;
  readonly path: string;
}

export interface Workbook {
  readonly sheets: readonly SheetPart[];
  readonly is1904: boolean;
  /** Whether the workbook is an export that no other program has saved. Then each row is a record, also one without cells. */
  readonly isExport: boolean;
  /** By the style of a cell: the date or time that its number format shows, or null for numbers. */
  readonly formats: readonly (SheetDateKind | null)[];
  readonly texts: TextTable;
}

interface Relationship {
  readonly id: string;
  /** The last part of its type: `worksheet`, `styles`, `sharedStrings`. */
  readonly kind: string;
  readonly path: string;
}

/** @throws ApiError for a damaged workbook, or one without a sheet. */
export async function readWorkbook(zip: ZipArchive): Promise<Workbook> {
  const roots = await readRelationships(zip, '');
  const path = roots.find(({ kind }) => kind === 'officeDocument')?.path ?? 'xl/workbook.xml';
  const relationships = await readRelationships(zip, path);
  const { sheets, is1904 } = await readSheetList(zip, path, relationships);
  if (sheets.length === 0) throw invalidFile('The workbook has no sheet with cells.');
  const findPart = (kind: string): string | null => relationships.find((each) => each.kind === kind)?.path ?? null;
  return {
    sheets,
    is1904,
    isExport: await isExport(zip, roots.find(({ kind }) => kind === 'extended-properties')?.path),
    formats: await readFormats(zip, findPart('styles')),
    texts: await readSharedTexts(zip, findPart('sharedStrings')),
  };
}

/** Whether the properties of the file name this program. */
async function isExport(zip: ZipArchive, path: string | undefined): Promise<boolean> {
  if (path === undefined || !zip.has(path)) return false;
  let isProgram = false;
  let program = '';
  await readPart(zip, path, {
    open(name) {
      isProgram = name === 'Application';
    },
    text(text) {
      if (isProgram && program.length <= workbookProgram.length) program += text;
    },
    close() {
      isProgram = false;
    },
  });
  return program === workbookProgram;
}

async function readPart(zip: ZipArchive, path: string, handler: XmlHandler, maxBytes = partBytes): Promise<void> {
  for await (const _ of parseXml(zip.read(path, maxBytes), handler));
}

/** The relationships of a part; those that lead outside of the file are left out. @param source '' for the whole file. */
async function readRelationships(zip: ZipArchive, source: string): Promise<Relationship[]> {
  const found: Relationship[] = [];
  const path = posix.join(posix.dirname(source), '_rels', `${posix.basename(source)}.rels`);
  if (!zip.has(path)) return found;
  await readPart(zip, path, {
    open(name, { Id: id, Type: type, Target: target, TargetMode: mode }) {
      if (name !== 'Relationship' || !id || !type || !target || mode === 'External') return;
      if (found.length >= maxSheets) throw tooLarge('The workbook has too many parts.');
      const resolved = posix.join('/', target.startsWith('/') ? '' : posix.dirname(source), target).slice(1);
      found.push({ id, kind: type.slice(type.lastIndexOf('/') + 1), path: resolved });
    },
  });
  return found;
}

async function readSheetList(
  zip: ZipArchive,
  path: string,
  relationships: readonly Relationship[],
): Promise<Pick<Workbook, 'sheets' | 'is1904'>> {
  const paths = new Map(relationships.filter(({ kind }) => kind === 'worksheet').map((each) => [each.id, each.path]));
  const sheets: SheetPart[] = [];
  const listed = new Set<string>();
  let is1904 = false;
  await readPart(zip, path, {
    open(name, attributes) {
      if (name === 'workbookPr') is1904 = attributes['date1904'] === '1' || attributes['date1904'] === 'true';
      if (name !== 'sheet') return;
      const id = Object.entries(attributes).find(([each]) => each.endsWith(':id'))?.[1] ?? '';
      const sheetPath = paths.get(id);
      // Sheets of other kinds contain a chart or macros.
      if (sheetPath === undefined || listed.has(sheetPath)) return;
      listed.add(sheetPath);
      sheets.push({ name: attributes['name'] ?? '', path: sheetPath });
    },
  });
  return { sheets, is1904 };
}

async function readFormats(zip: ZipArchive, path: string | null): Promise<(SheetDateKind | null)[]> {
  const codes = new Map<string, SheetDateKind | null>();
  const formats: (SheetDateKind | null)[] = [];
  let isInCells = false;
  if (path === null || !zip.has(path)) return formats;
  await readPart(zip, path, {
    open(name, attributes) {
      const id = attributes['numFmtId'] ?? '0';
      if (name === 'numFmt') codes.set(id, readFormatCode(attributes['formatCode'] ?? ''));
      else if (name === 'cellXfs') isInCells = true;
      else if (name === 'xf' && isInCells)
        formats.push(codes.has(id) ? (codes.get(id) ?? null) : findBuiltInFormat(Number(id)));
      if (formats.length > maxFormats || codes.size > maxFormats) throw tooLarge('The workbook has too many formats.');
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false;
    },
  });
  return formats;
}

async function readSharedTexts(zip: ZipArchive, path: string | null): Promise<TextTable> {
  const texts = new TextTable();
  if (path === null || !zip.has(path)) return texts;
  const reader = new TextReader();
  const handler: XmlHandler = {
    open: (name) => reader.open(name),
    text: (text) => reader.add(text, 'The workbook'),
    close(name) {
      reader.close(name);
      if (name === 'si') texts.add(reader.take());
    },
  };
  await readPart(zip, path, handler, textBytes);
  return texts;
}

/** Collects the text of `<t>` elements, also in parts of rich text; the reading aids of Japanese text (`<rPh>`) are left out. */
export class TextReader {
  #text = '';
  #isInText = false;
  #isInAid = false;

  open(name: string): void {
    if (name === 't') this.#isInText = !this.#isInAid;
    else if (name === 'rPh') this.#isInAid = true;
  }

  /** @param place for the message. */
  add(text: string, place: string): void {
    if (!this.#isInText) return;
    this.#text += text;
    if (this.#text.length > sourceLimits.cellLength)
      throw tooLarge(`${place} has a cell of more than ${sourceLimits.cellLength} characters.`);
  }

  close(name: string): void {
    if (name === 't') this.#isInText = false;
    else if (name === 'rPh') this.#isInAid = false;
  }

  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
