import type { RecordAction } from './actions.ts';
import { ApiError, booleanExpected } from './api-error.ts';
import { normaliseFilter } from './filter-normaliser.ts';
import { isObject, parseJson } from './json-text.ts';
import { requireKnownNames } from './known-names.ts';
import { limits } from './limits.ts';
import { listsFromIndexes, type QueryValue } from './query-text.ts';
import type { CountMode, RecordRequest, SortTerm } from './record-request.ts';

const readParameters = ['filterByTk', 'filter', 'fields', 'except', 'appends', 'sort', 'page', 'pageSize'];
const trashParameters = ['withDeleted', 'onlyDeleted'];
const searchParameters = ['search', 'searchFields'];
const selectionParameters = ['fields', 'except', 'appends'];
/** The parameters of an export that describe the format of its file; see export-request.ts. */
export const exportFileParameters = ['format', 'header', 'bom', 'delimiter', 'localTimes'] as const;
const bodyParameters = ['whitelist', 'blacklist', 'updateAssociationValues', 'dryRun'];
const exportParameters: ReadonlySet<string> = new Set([
  ...['filterByTk', 'filter', ...selectionParameters, 'sort'],
  ...[...trashParameters, ...searchParameters, ...exportFileParameters],
]);
/** The parameters of each record action. */
export const actionParameters: Readonly<Record<NormalisedAction, ReadonlySet<string>>> = {
  list: new Set([...readParameters, 'paginate', 'count', 'after', 'versions', ...trashParameters, ...searchParameters]),
  get: new Set([...readParameters, 'versions', ...trashParameters]),
  export: exportParameters,
  storeExport: exportParameters,
  create: new Set([...selectionParameters, ...bodyParameters]),
  firstOrCreate: new Set([...selectionParameters, ...bodyParameters, 'filterKeys']),
  updateOrCreate: new Set([...selectionParameters, ...bodyParameters, 'filterKeys']),
  update: new Set(['filterByTk', 'filter', ...selectionParameters, ...bodyParameters]),
  destroy: new Set(['filterByTk', 'filter', 'cascade', 'force', 'dryRun']),
  restore: new Set(['filterByTk', 'filter', 'fields', 'except', 'appends', 'dryRun']),
};

/** The actions whose parameters {@link normaliseRequest} knows. */
export type NormalisedAction = Exclude<
  RecordAction,
  'query' | 'move' | 'history' | 'revert' | 'import' | 'importPreview'
>;

/** Whether {@link normaliseRequest} knows the parameters of an action. */
export function isNormalisedAction(action: string): action is NormalisedAction {
  return Object.hasOwn(actionParameters, action);
}

/**
 * Normalises the parameters of a record action, in any of their spellings.
 *
 * @param parameters a parsed query string, or the body of a read sent by POST.
 * @param fromText true for values of a query string: lists may be comma-separated text, objects JSON text.
 * @param isOneKey true if `filterByTk` comes from the path, where a text such as `[1]` is one key and never a list.
 * @throws ApiError 400 naming the parameter.
 */
export function normaliseRequest(
  action: NormalisedAction,
  parameters: Readonly<Record<string, unknown>>,
  fromText: boolean,
  isOneKey = false,
): RecordRequest {
  requireKnownNames(action, parameters, actionParameters[action]);
  const { search, ...filter } = readFilterAndSearch(parameters, fromText);
  const page = readNumber('page', parameters['page'], 1, Number.MAX_SAFE_INTEGER);
  const after = readText('after', parameters['after']);
  if (after !== null && page !== null)
    throw new ApiError('PARAMETER_INVALID', '"page" and "after" exclude each other. Send only one of them.');
  const fields = readNames('fields', parameters['fields']);
  const except = readNames('except', parameters['except']);
  const appends = readAppends(parameters['appends']);
  const sort = parseSort(parameters['sort']);
  const pageSize = readNumber('pageSize', parameters['pageSize'], 1, limits.maxPageSize);
  const count = readCount(parameters['count']);
  const paginate = readBoolean('paginate', parameters['paginate'], true);
  const versions = readBoolean('versions', parameters['versions'], false);
  const filterByTk = readKey(parameters['filterByTk'], isOneKey);
  const trash = readTrash(action, parameters);
  const force = readBoolean('force', parameters['force'], false);
  const keyForm = describeKeyForm(filterByTk);
  const selection = [fields, except, appends, sort, after !== null, count, paginate, versions] as const;
  return {
    shape: JSON.stringify([filter.shape, ...selection, keyForm, trash, force, search]),
    filterByTk,
    filter: filter.filter,
    values: filter.values,
    valuesAreText: filter.valuesAreText,
    fields,
    except,
    appends,
    sort,
    page: page ?? 1,
    pageSize,
    paginate,
    count,
    after,
    versions,
    trash,
    search,
    force,
    ...readWriteParameters(parameters),
    within: null,
    fullText: null,
    folders: [],
  };
}

/** The filter and the search. The text of a search follows the values of the filter. */
function readFilterAndSearch(
  parameters: Readonly<Record<string, unknown>>,
  fromText: boolean,
): Pick<RecordRequest, 'shape' | 'filter' | 'values' | 'valuesAreText' | 'search'> {
  const input = readObject('filter', parameters['filter'], fromText);
  const { filter, shape, values } = normaliseFilter(input.value ?? {});
  const text = readSearch(parameters['search']);
  const fields = readNames('searchFields', parameters['searchFields']);
  return {
    shape,
    filter,
    values: text === null ? values : [...values, text],
    valuesAreText: input.isText,
    search: text === null ? null : { slot: values.length, fields },
  };
}

/** The parameters of writes. Reads have the default values. */
function readWriteParameters(
  parameters: Readonly<Record<string, unknown>>,
): Pick<RecordRequest, 'cascade' | 'whitelist' | 'blacklist' | 'updateAssociationValues' | 'filterKeys' | 'dryRun'> {
  return {
    cascade: readBoolean('cascade', parameters['cascade'], false),
    whitelist: readNames('whitelist', parameters['whitelist']),
    blacklist: readNames('blacklist', parameters['blacklist']) ?? [],
    updateAssociationValues: readNames('updateAssociationValues', parameters['updateAssociationValues']) ?? [],
    filterKeys: readNames('filterKeys', parameters['filterKeys']) ?? [],
    dryRun: readBoolean('dryRun', parameters['dryRun'], false),
  };
}

function readAppends(input: unknown): string[] {
  const appends = readNames('appends', input) ?? [];
  if (appends.length > limits.appends)
    throw new ApiError('LIMIT_EXCEEDED', `"appends" has more than ${limits.appends} paths. Remove some of them.`);
  return appends;
}

/** The records that an action can reach: restore only those in the trash, a forced destroy all of them. */
function readTrash(action: NormalisedAction, parameters: Readonly<Record<string, unknown>>): RecordRequest['trash'] {
  if (action === 'restore' || readBoolean('onlyDeleted', parameters['onlyDeleted'], false)) return 'only';
  const all = action === 'destroy' ? 'force' : 'withDeleted';
  return readBoolean(all, parameters[all], false) ? 'with' : 'without';
}

/** A request for records by their keys, and nothing else. */
export function requestByKeys(action: NormalisedAction, keys: unknown): RecordRequest {
  return normaliseRequest(action, { filterByTk: keys }, false);
}

function describeKeyForm(filterByTk: unknown): string {
  return filterByTk === undefined ? 'none' : Array.isArray(filterByTk) ? 'many' : 'one';
}

/** One key, or a list of keys in brackets or as JSON. Text is never split at commas, because a key may contain one. */
function readKey(input: unknown, isOneKey: boolean): unknown {
  if (input === undefined) return undefined;
  const value = listsFromIndexes(input as QueryValue);
  if (!isOneKey && typeof value === 'string' && value.startsWith('[')) {
    const list = parseParameterJson('filterByTk', value);
    if (Array.isArray(list)) return list;
  }
  if (value === null || value === '')
    throw new ApiError('PARAMETER_INVALID', '"filterByTk" is empty. Give the key of a record.');
  if (isObject(value)) throw new ApiError('PARAMETER_INVALID', '"filterByTk" must be a key or a list of keys.');
  return value;
}

function readObject(name: string, input: unknown, fromText: boolean): { value: unknown; isText: boolean } {
  if (input === undefined || input === null) return { value: null, isText: false };
  if (typeof input === 'string') {
    if (input.length > limits.filterTextBytes)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `"${name}" is longer than ${limits.filterTextBytes / 1024} KiB. Send it in the body of a POST request.`,
      );
    return { value: input.trim() === '' ? null : parseParameterJson(name, input), isText: false };
  }
  return { value: fromText ? listsFromIndexes(input as QueryValue) : input, isText: fromText };
}

function parseParameterJson(name: string, text: string): unknown {
  return parseJson(text, () => new ApiError('PARAMETER_INVALID', `"${name}" is not valid JSON.`));
}

/** Names as comma-separated text, JSON list or bracket list; null if there are none. */
function readNames(name: string, input: unknown): string[] | null {
  if (input === undefined || input === null) return null;
  const value = listsFromIndexes(input as QueryValue);
  const list = typeof value === 'string' ? listFromText(name, value) : value;
  if (!Array.isArray(list) || list.some((member) => typeof member !== 'string'))
    throw new ApiError('PARAMETER_INVALID', `"${name}" must be a list of names.`);
  const names = (list as string[]).map((each) => each.trim()).filter((each) => each !== '');
  return [...new Set(names)];
}

function listFromText(name: string, text: string): unknown {
  return text.trimStart().startsWith('[') ? parseParameterJson(name, text) : text.split(',');
}

function parseSort(input: unknown): SortTerm[] {
  const names = readNames('sort', input) ?? [];
  if (names.length > limits.sortTerms)
    throw new ApiError('LIMIT_EXCEEDED', `"sort" has more than ${limits.sortTerms} terms. Remove some of them.`);
  return names.map((name) => {
    const descending = name.startsWith('-');
    const path = descending || name.startsWith('+') ? name.slice(1) : name;
    if (path === '')
      throw new ApiError(
        'PARAMETER_INVALID',
        '"sort" contains a term without a field name. Write terms such as "name" or "-createdAt".',
      );
    return { path, descending };
  });
}

function readNumber(name: string, input: unknown, min: number, max: number): number | null {
  if (input === undefined || input === null) return null;
  const number = typeof input === 'string' && /^\d{1,16}$/.test(input) ? Number(input) : input;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < min || number > max) {
    const bound = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new ApiError('PARAMETER_INVALID', `"${name}" must be a whole number ${bound}.`);
  }
  return number;
}

/** A parameter that is true or false. @throws ApiError 400 naming the parameter. */
export function readBoolean(name: string, input: unknown, fallback: boolean): boolean {
  if (input === undefined) return fallback;
  if (input === true || input === 'true' || input === '1' || input === null || input === '') return true;
  if (input === false || input === 'false' || input === '0') return false;
  throw booleanExpected(name);
}

function readCount(input: unknown): CountMode {
  if (input === undefined || input === null) return 'exact';
  if (input === 'exact' || input === 'estimated' || input === 'none') return input;
  throw new ApiError('PARAMETER_INVALID', '"count" must be "exact", "estimated" or "none".');
}

/** The text to search for; null if it only consists of white space. */
function readSearch(input: unknown): string | null {
  const text = readText('search', typeof input === 'number' ? String(input) : input)?.trim() ?? '';
  if (text.length > limits.patternLength)
    throw new ApiError('LIMIT_EXCEEDED', `"search" has more than ${limits.patternLength} characters. Shorten it.`);
  if (!text.isWellFormed() || text.includes('\u0000'))
    throw new ApiError(
      'PARAMETER_INVALID',
      '"search" contains U+0000 or a lone surrogate, which text cannot contain. Remove it.',
    );
  return text === '' ? null : text;
}

function readText(name: string, input: unknown): string | null {
  if (input === undefined || input === null || input === '') return null;
  if (typeof input !== 'string') throw new ApiError('PARAMETER_INVALID', `"${name}" must be text.`);
  return input;
}
