/** The options of an import, in all forms in which a request can give them. */
import { ApiError } from './api-error.ts';
import { csvDelimiters } from './export-request.ts';
import { requireImportEncoding } from './import-encodings.ts';
import { isObject, parseJson } from './json-text.ts';
import { requireKnownNames } from './known-names.ts';
import { limits } from './limits.ts';
import { readBoolean } from './request-normaliser.ts';

export const importModes = ['create', 'update', 'upsert'] as const;
export type ImportMode = (typeof importModes)[number];

export const importFormats = ['csv', 'xlsx', 'json', 'ndjson'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** Which field the cells of a column are for. */
export interface ColumnMapping {
  /** The index from 0, or the text of the header. */
  readonly column: number | string;
  readonly field: string;
  /** For a foreign key: the unique field of the related collection that the cells contain. */
  readonly lookup?: string;
}

/** How a file is read; what is absent is detected. */
export interface ImportFileOptions {
  readonly format?: ImportFormat;
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly header?: boolean;
  /** The name of a sheet, or its index from 0. */
  readonly sheet?: string | number;
}

/** The options that are stored for the transactions of a job. */
export interface ImportOptions {
  readonly mode: ImportMode;
  /** Null: the primary key. */
  readonly matchFields: readonly string[] | null;
  /** Null: the proposed mapping. */
  readonly mapping: readonly ColumnMapping[] | null;
  readonly ignoreUnknown: boolean;
  readonly addOptions: boolean;
  readonly skipInvalid: boolean;
  readonly file: ImportFileOptions;
}

export interface ImportRequest extends ImportOptions {
  readonly dryRun: boolean;
  /** Refused rows that a dry run lists; null: all. */
  readonly maxErrors: number | null;
  readonly wait: boolean;
}

type Parameters = Readonly<Record<string, unknown>>;

const fileParameters = ['format', 'encoding', 'delimiter', 'header', 'sheet'] as const;
/** The parameters of `importPreview`. */
export const previewParameters: ReadonlySet<string> = new Set(fileParameters);
/** The parameters of `collections:importPreview`. */
const collectionPreviewParameters: ReadonlySet<string> = new Set([
  ...fileParameters,
  'definition',
  'mapping',
  'maxErrors',
]);
/** The parameters of `import`. */
export const importParameters: ReadonlySet<string> = new Set([
  ...['mode', 'matchFields', 'mapping', 'ignoreUnknown', 'addOptions', 'skipInvalid', 'dryRun', 'maxErrors', 'wait'],
  ...fileParameters,
]);

/**
 * The options of the query and of the body as one.
 *
 * @throws ApiError 400 if both name an option.
 */
export function mergeOptions(query: Parameters, body: Parameters): Parameters {
  for (const name of Object.keys(body))
    if (name in query)
      throw new ApiError('PARAMETER_INVALID', `"${name.slice(0, 60)}" is in the query and in the body. Give it once.`);
  return { ...query, ...body };
}

/** @throws ApiError 400 naming the option. */
export function parseImportRequest(options: Parameters): ImportRequest {
  requireKnownNames('import', options, importParameters);
  const mode = readChoice('mode', options['mode'], importModes) ?? 'create';
  const matchFields = readFieldNames(options['matchFields']);
  if (matchFields !== null && mode === 'create')
    throw new ApiError('PARAMETER_INVALID', '"matchFields" needs the mode update or upsert. Remove it, or add "mode".');
  const flag = (name: string): boolean => readBoolean(name, options[name], false);
  const dryRun = flag('dryRun');
  const maxErrors = readMaxErrors(options['maxErrors']);
  if (maxErrors !== null && !dryRun)
    throw new ApiError('PARAMETER_INVALID', '"maxErrors" needs "dryRun". Remove it, or add "dryRun".');
  return {
    mode,
    matchFields,
    mapping: readMapping(options['mapping']),
    ignoreUnknown: flag('ignoreUnknown'),
    addOptions: flag('addOptions'),
    skipInvalid: flag('skipInvalid'),
    dryRun,
    maxErrors,
    wait: flag('wait'),
    file: readFileOptions(options),
  };
}

/** @throws ApiError 400 naming the option. */
export function parsePreviewRequest(options: Parameters): ImportFileOptions {
  requireKnownNames('importPreview', options, previewParameters);
  return readFileOptions(options);
}

/** A preview for a new collection. */
export interface CollectionPreviewRequest {
  readonly file: ImportFileOptions;
  /** The definition for which the rows are checked; undefined: none is checked. */
  readonly definition: unknown;
  /** Null: as proposed. */
  readonly mapping: readonly ColumnMapping[] | null;
  /** Refused rows that are listed; null: all. */
  readonly maxErrors: number | null;
}

/** @throws ApiError 400 naming the option. */
export function parseCollectionPreviewRequest(options: Parameters): CollectionPreviewRequest {
  requireKnownNames('collections:importPreview', options, collectionPreviewParameters);
  const { definition } = options;
  const mapping = readMapping(options['mapping']);
  if (mapping !== null && definition === undefined)
    throw new ApiError('PARAMETER_INVALID', '"mapping" needs a "definition". Remove it, or add the definition.');
  const maxErrors = readMaxErrors(options['maxErrors']);
  if (maxErrors !== null && definition === undefined)
    throw new ApiError('PARAMETER_INVALID', '"maxErrors" needs a "definition". Remove it, or add the definition.');
  return {
    maxErrors,
    file: readFileOptions(options),
    definition: typeof definition === 'string' ? readJson('definition', definition) : definition,
    mapping,
  };
}

function readFileOptions(options: Parameters): ImportFileOptions {
  const format = readChoice('format', options['format'], importFormats);
  const delimiter = readChoice('delimiter', options['delimiter'], Object.keys(csvDelimiters));
  const { encoding, sheet } = options;
  return {
    ...(format && { format }),
    ...(encoding !== undefined && { encoding: requireImportEncoding(encoding) }),
    ...(delimiter && { delimiter: csvDelimiters[delimiter as keyof typeof csvDelimiters] }),
    ...(options['header'] !== undefined && { header: readBoolean('header', options['header'], false) }),
    ...(sheet !== undefined && { sheet: readSheet(sheet) }),
  };
}

function readSheet(input: unknown): string | number {
  if (Number.isSafeInteger(input) && (input as number) >= 0) return input as number;
  if (typeof input === 'string' && input !== '' && input.length <= 255)
    return /^\d{1,4}$/.test(input) ? Number(input) : input;
  throw new ApiError('PARAMETER_INVALID', '"sheet" must be the name of a sheet, or its index from 0.');
}

function readMaxErrors(input: unknown): number | null {
  if (input === undefined) return null;
  const count = typeof input === 'string' && /^\d{1,9}$/.test(input) ? Number(input) : input;
  if (Number.isSafeInteger(count) && (count as number) >= 0) return count as number;
  throw new ApiError('PARAMETER_INVALID', '"maxErrors" must be a number of rows from 0.');
}

function readChoice<C extends string>(name: string, input: unknown, choices: readonly C[]): C | undefined {
  if (input === undefined) return undefined;
  const found = choices.find((each) => each === input);
  if (found !== undefined) return found;
  throw new ApiError('PARAMETER_INVALID', `"${name}" must be one of: ${choices.join(' ')}`);
}

/** Names as a JSON list, or in a query also with commas between them. */
function readFieldNames(input: unknown): readonly string[] | null {
  if (input === undefined) return null;
  const isJson = typeof input === 'string' && input.trimStart().startsWith('[');
  const names = isJson ? readJson('matchFields', input) : typeof input === 'string' ? input.split(',') : input;
  if (!Array.isArray(names) || names.length === 0 || names.some((each) => typeof each !== 'string' || each === ''))
    throw new ApiError('PARAMETER_INVALID', '"matchFields" must be a list of field names.');
  if (names.length > limits.importMatchFields)
    throw new ApiError('LIMIT_EXCEEDED', `"matchFields" has at most ${limits.importMatchFields} fields.`);
  return [...new Set((names as string[]).map((each) => each.trim()))];
}

function readMapping(input: unknown): readonly ColumnMapping[] | null {
  if (input === undefined) return null;
  const list = typeof input === 'string' ? readJson('mapping', input) : input;
  if (!Array.isArray(list)) throw invalidMapping('It must be a list');
  return list.map(readColumnMapping);
}

function readColumnMapping(input: unknown): ColumnMapping {
  if (!isObject(input)) throw invalidMapping('Each entry must be an object');
  const { column, field, lookup, ...others } = input;
  const [other] = Object.keys(others);
  if (other !== undefined) throw invalidMapping(`An entry has no property "${other.slice(0, 60)}"`);
  const isColumn = typeof column === 'string' || (Number.isSafeInteger(column) && (column as number) >= 0);
  if (!isColumn) throw invalidMapping('"column" must be the text of a header, or an index from 0');
  if (typeof field !== 'string') throw invalidMapping('"field" must be the name of a field');
  if (lookup !== undefined && lookup !== null && typeof lookup !== 'string')
    throw invalidMapping('"lookup" must be the name of a unique field');
  return { column: column as string | number, field, ...(typeof lookup === 'string' && { lookup }) };
}

function readJson(name: string, text: string): unknown {
  return parseJson(text, () => new ApiError('PARAMETER_INVALID', `"${name}" is not valid JSON.`));
}

function invalidMapping(reason: string): ApiError {
  return new ApiError('PARAMETER_INVALID', `"mapping" is invalid. ${reason}: [{"column": 0, "field": "title"}].`);
}
