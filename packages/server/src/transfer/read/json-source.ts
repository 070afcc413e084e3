/** JSON and NDJSON files: the members of each record are cells, and those of nested objects have names with dots. */
import type { OpenBlob } from '../../base/blob-store.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { JsonNumber } from '../../protocol/exact-json.ts';
import { isObject, parseJson } from '../../protocol/json-text.ts';
import { type JsonLayout, JsonRecords, type RecordText } from './json-records.ts';
import { checkColumnCount, invalidFile } from './source-error.ts';
import { openText, type SourceText } from './source-text.ts';
import {
  type RowCell,
  type SourceCell,
  type SourceRow,
  sourceLimits,
  type TableOptions,
  type TableSource,
} from './table-source.ts';

/** Deeper objects are one cell. */
const maxNesting = 5;
/** The members of the last line of an export that broke off. */
const failureMembers = 'error,message,requestId';

export async function openJson(bytes: OpenBlob, options: TableOptions): Promise<TableSource> {
  const text = await openText(bytes, options.encoding);
  const wholeMembers = options.wholeMembers ?? new Set<string>();
  // The only record of an NDJSON export can also have a list of objects, in a field that stores JSON.
  const ownLists = options.format === 'json' ? new Set<string>() : wholeMembers;
  const layout = options.format === 'ndjson' ? 'records' : await detectLayout(text, ownLists);
  const format = options.format ?? (layout === 'records' ? 'ndjson' : 'json');
  const file: JsonFile = { text, layout };
  const found = await findColumns(file, wholeMembers);
  return {
    format,
    encoding: text.encoding,
    delimiter: null,
    hasHeader: true,
    sheets: [],
    sheet: null,
    columns: found.columns,
    rows: () => readRows(file, found),
  };
}

interface JsonFile {
  readonly text: SourceText;
  readonly layout: JsonLayout;
}

interface JsonColumns {
  readonly columns: readonly string[];
  /** Names of objects that are one cell. */
  readonly whole: ReadonlySet<string>;
}

/**
 * One object with lists of objects contains the records. Several objects, or one without such a list, are the records.
 *
 * @param ownLists members whose lists belong to a record.
 */
async function detectLayout(text: SourceText, ownLists: ReadonlySet<string>): Promise<JsonLayout> {
  const scan = new LayoutScan(ownLists);
  for await (const piece of text.pieces()) {
    const layout = scan.push(piece);
    if (layout !== null) return layout;
  }
  return scan.end();
}

const maxNameLength = 256;
const maxDepth = 1000;

/** Follows the brackets of a JSON text up to the second value. */
class LayoutScan {
  readonly #ownLists: ReadonlySet<string>;
  #brackets = '';
  #inString = false;
  #isEscaped = false;
  #isEnded = false;
  /** The last text directly in the first object: before a list, the name of its member. */
  #name = '';
  /** The first object has a list of objects that does not belong to a record. */
  #hasRecords = false;
  #start = '';

  constructor(ownLists: ReadonlySet<string>) {
    this.#ownLists = ownLists;
  }

  /** The layout as soon as it is certain. */
  push(piece: string): JsonLayout | null {
    if (this.#start.length < 100) this.#start = (this.#start + piece.slice(0, 100)).trimStart();
    for (const character of piece) {
      if (this.#inString) this.#readString(character);
      else {
        if (this.#isEnded && character.trim() !== '') return 'records';
        if (character === '[' && this.#brackets === '') return 'list';
        this.#readSign(character);
      }
    }
    return null;
  }

  end(): JsonLayout {
    const isEmptyList = !this.#ownLists.has('data') && /^\{\s*"data"\s*:\s*\[\s*\]/.test(this.#start);
    return this.#hasRecords || isEmptyList ? 'member' : 'records';
  }

  #readString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') {
      this.#inString = false;
      return;
    }
    if (this.#brackets === '{' && this.#name.length < maxNameLength) this.#name += character;
  }

  #readSign(character: string): void {
    if (character === '"') {
      this.#inString = true;
      if (this.#brackets === '{') this.#name = '';
    } else if (character === '{' || character === '[') this.#openBracket(character);
    else if (character === '}' || character === ']') {
      this.#brackets = this.#brackets.slice(0, -1);
      this.#isEnded ||= this.#brackets === '' && character === '}';
    }
  }

  #openBracket(bracket: string): void {
    if (bracket === '{' && this.#brackets === '{[') this.#hasRecords ||= !this.#ownLists.has(this.#name);
    this.#brackets += bracket;
    if (this.#brackets.length > maxDepth) throw invalidFile(`The JSON text is nested deeper than ${maxDepth} levels.`);
  }
}

async function* readRecords({
  text,
  layout,
}: JsonFile): AsyncGenerator<{ line: number; record: Record<string, unknown> }[]> {
  const splitter = new JsonRecords(layout);
  let previous = '';
  const parse = ({ text: source, line }: RecordText): { line: number; record: Record<string, unknown> } => {
    const record = parseRecord(source, describe(layout, line));
    const members = Object.keys(record).join();
    if (members === failureMembers && previous !== '' && previous !== members)
      throw invalidFile(
        `Line ${line}: the export of this file failed, so it is incomplete. Export again. ${record['message']}`,
      );
    previous = members;
    return { line, record };
  };
  for await (const piece of text.pieces()) {
    const found = splitter.push(piece);
    for (let from = 0; from < found.length; from += sourceLimits.batchRows)
      yield found.slice(from, from + sourceLimits.batchRows).map(parse);
  }
  splitter.end();
}

function describe(layout: JsonLayout, line: number): string {
  return `${layout === 'records' ? 'Line' : 'Record'} ${line}`;
}

function parseRecord(text: string, place: string): Record<string, unknown> {
  try {
    const malformed = (): ApiError =>
      invalidFile('The record is not valid JSON. Check its commas, quotation marks and brackets.');
    return parseJson(text, malformed) as Record<string, unknown>;
  } catch (error) {
    throw error instanceof ApiError ? new ApiError(error.code, `${place}: ${error.message}`) : error;
  }
}

/** The names of all members, in the order in which they first occur. */
async function findColumns(file: JsonFile, wholeMembers: ReadonlySet<string>): Promise<JsonColumns> {
  const seen = new Map<string, { hasValue: boolean; hasMembers: boolean }>();
  const look = (record: object, prefix: string, level: number, place: number): void => {
    for (const [name, value] of Object.entries(record)) {
      const path = prefix + name;
      let entry = seen.get(path);
      if (!entry) {
        entry = { hasValue: false, hasMembers: false };
        seen.set(path, entry);
        checkColumnCount(seen.size, place);
      }
      if (!wholeMembers.has(path) && hasMembers(value, level)) {
        entry.hasMembers = true;
        look(value, `${path}.`, level + 1, place);
      } else if (value !== null) entry.hasValue = true;
    }
  };
  for await (const records of readRecords(file)) for (const { record, line } of records) look(record, '', 1, line);
  const whole = new Set(wholeMembers);
  for (const [path, { hasValue, hasMembers: isNested }] of seen) if (hasValue && isNested) whole.add(path);
  const isWithinWhole = (path: string): boolean => {
    for (let end = path.indexOf('.'); end >= 0; end = path.indexOf('.', end + 1))
      if (whole.has(path.slice(0, end))) return true;
    return false;
  };
  const columns = [...seen].filter(([path, entry]) => (entry.hasValue || !entry.hasMembers) && !isWithinWhole(path));
  return { columns: columns.map(([path]) => path), whole };
}

function hasMembers(value: unknown, level: number): value is Record<string, unknown> {
  return isObject(value) && level < maxNesting && Object.keys(value).length > 0;
}

async function* readRows(file: JsonFile, { columns, whole }: JsonColumns): AsyncGenerator<readonly SourceRow[]> {
  const indexes = new Map(columns.map((name, index) => [name, index]));
  const members = groupByObject(columns);
  const fill = (cells: RowCell[], record: object, prefix: string, level: number): void => {
    for (const [name, value] of Object.entries(record)) {
      const path = prefix + name;
      if (!whole.has(path) && hasMembers(value, level)) fill(cells, value, `${path}.`, level + 1);
      else {
        const index = indexes.get(path);
        if (index !== undefined) cells[index] = whole.has(path) ? toJsonCell(value) : toCell(value);
        // Without an object, none of its members has a value.
        else if (value === null) for (const inner of members.get(path) ?? []) cells[inner] = null;
      }
    }
  };
  for await (const records of readRecords(file))
    yield records.map(({ line, record }) => {
      const cells = new Array<RowCell>(columns.length).fill(undefined);
      fill(cells, record, '', 1);
      return { line, cells };
    });
}

/** The indexes of the columns below each object: those of `author.id` and `author.name` below `author`. */
function groupByObject(columns: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  for (const [index, name] of columns.entries())
    for (let end = name.indexOf('.'); end >= 0; end = name.indexOf('.', end + 1)) {
      const object = name.slice(0, end);
      groups.set(object, [...(groups.get(object) ?? []), index]);
    }
  return groups;
}

function toCell(value: unknown): SourceCell {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' || value instanceof JsonNumber) return { kind: 'number', text: String(value) };
  return toJsonCell(value);
}

/** Also texts and numbers, so that `"5"` and `5` differ. */
function toJsonCell(value: unknown): SourceCell {
  return value === null ? null : { kind: 'json', text: JSON.stringify(value) };
}
