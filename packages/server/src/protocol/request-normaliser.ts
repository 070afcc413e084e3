import type { RecordAction } from './actions.ts';
import { ApiError, notTruth } from './api-error.ts';
import { normaliseFilter } from './filter-normaliser.ts';
import { isObject, parseJson } from './json-text.ts';
import { parameterUnknown } from './known-names.ts';
import { limits } from './limits.ts';
import { listsFromIndexes, type QueryValue } from './query-text.ts';
import type { AskedRecordRequest, CountMode, SortTerm } from './record-request.ts';

const readParameters = ['filterByTk', 'filter', 'fields', 'except', 'appends', 'sort', 'page', 'pageSize'];
const trashed = ['withDeleted', 'onlyDeleted'];
const searched = ['search', 'searchFields'];
const shown = ['fields', 'except', 'appends'];
const bodies = ['whitelist', 'blacklist', 'updateAssociationValues', 'dryRun'];
/** The parameters of each record action. */
export const parametersOf: Readonly<Record<NormalisedAction, ReadonlySet<string>>> = {
  list: new Set([...readParameters, 'paginate', 'count', 'after', 'versions', ...trashed, ...searched]),
  get: new Set([...readParameters, 'versions', ...trashed]),
  create: new Set([...shown, ...bodies]),
  firstOrCreate: new Set([...shown, ...bodies, 'filterKeys']),
  updateOrCreate: new Set([...shown, ...bodies, 'filterKeys']),
  update: new Set(['filterByTk', 'filter', ...shown, ...bodies]),
  destroy: new Set(['filterByTk', 'filter', 'cascade', 'force', 'dryRun']),
  restore: new Set(['filterByTk', 'filter', 'fields', 'except', 'appends', 'dryRun']),
};

/** The actions whose parameters {@link normaliseRequest} knows. */
export type NormalisedAction = Exclude<RecordAction, 'query' | 'move' | 'history' | 'revert'>;

/** Whether {@link normaliseRequest} knows the parameters of an action. */
export function isNormalised(action: string): action is NormalisedAction {
  return Object.hasOwn(parametersOf, action);
}

/**
 * Turns the parameters of a record action, in any of their spellings, into the one request value.
 *
 * @param parameters a parsed query string, or the body of a read sent by POST.
 * @param fromText true where values came as query text: lists may be comma text, objects JSON text.
 * @param isOneKey true where `filterByTk` came from the path, where a text such as `[1]` is one key and never a list.
 * @throws ApiError 400 naming the parameter.
 */
export function normaliseRequest(
  action: NormalisedAction,
  parameters: Readonly<Record<string, unknown>>,
  fromText: boolean,
  isOneKey = false,
): AskedRecordRequest {
  for (const name of Object.keys(parameters)) {
    if (!parametersOf[action].has(name)) {
      throw parameterUnknown(action, name, parametersOf[action]);
    }
  }
  const filterInput = objectOf('filter', parameters['filter'], fromText);
  const { filter, shape, values: filterValues } = normaliseFilter(filterInput.value ?? {});
  const words = searchOf(parameters['search']);
  const searchFields = namesOf('searchFields', parameters['searchFields']);
  const values = words === null ? filterValues : [...filterValues, words];
  const search = words === null ? null : { slot: filterValues.length, fields: searchFields };
  const fields = namesOf('fields', parameters['fields']);
  const except = namesOf('except', parameters['except']);
  const appends = namesOf('appends', parameters['appends']) ?? [];
  if (appends.length > limits.appends)
    throw new ApiError('LIMIT_EXCEEDED', `appends takes at most ${limits.appends} paths.`);
  const sort = sortOf(parameters['sort']);
  const after = textOf('after', parameters['after']);
  const page = numberOf('page', parameters['page'], 1, Number.MAX_SAFE_INTEGER);
  const pageSize = numberOf('pageSize', parameters['pageSize'], 1, limits.pageSizeMaximum);
  if (after !== null && page !== null)
    throw new ApiError('PARAMETER_INVALID', 'page and after exclude each other; send one.');
  const count = countOf(parameters['count']);
  const paginate = truthOf('paginate', parameters['paginate'], true);
  const versions = truthOf('versions', parameters['versions'], false);
  const filterByTk = tkOf(parameters['filterByTk'], isOneKey);
  const trash = trashOf(action, parameters);
  const force = truthOf('force', parameters['force'], false);
  return {
    shape: JSON.stringify([
      shape,
      fields,
      except,
      appends,
      sort,
      after !== null,
      count,
      paginate,
      versions,
      tkForm(filterByTk),
      trash,
      force,
      search,
    ]),
    filterByTk,
    filter,
    values,
    valuesAreText: filterInput.isText,
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
    cascade: truthOf('cascade', parameters['cascade'], false),
    trash,
    search,
    whitelist: namesOf('whitelist', parameters['whitelist']),
    blacklist: namesOf('blacklist', parameters['blacklist']) ?? [],
    updateAssociationValues: namesOf('updateAssociationValues', parameters['updateAssociationValues']) ?? [],
    filterKeys: namesOf('filterKeys', parameters['filterKeys']) ?? [],
    dryRun: truthOf('dryRun', parameters['dryRun'], false),
    within: null,
    words: null,
    placed: [],
    force,
  };
}

/** What an action reaches: restore the trash alone, a forced destroy all that is there. */
function trashOf(action: NormalisedAction, parameters: Readonly<Record<string, unknown>>): AskedRecordRequest['trash'] {
  if (action === 'restore' || truthOf('onlyDeleted', parameters['onlyDeleted'], false)) return 'only';
  const all = action === 'destroy' ? 'force' : 'withDeleted';
  return truthOf(all, parameters[all], false) ? 'with' : 'without';
}

/** A request for records by their keys, and nothing else. */
export function requestByKeys(action: NormalisedAction, keys: unknown): AskedRecordRequest {
  return normaliseRequest(action, { filterByTk: keys }, false);
}

function tkForm(filterByTk: unknown): string {
  return filterByTk === undefined ? 'none' : Array.isArray(filterByTk) ? 'many' : 'one';
}

/** One key; many by brackets or a JSON array. Text is never split at commas: a key may hold one. */
function tkOf(input: unknown, isOneKey: boolean): unknown {
  if (input === undefined) return undefined;
  const value = listsFromIndexes(input as QueryValue);
  if (!isOneKey && typeof value === 'string' && value.startsWith('[')) {
    const list = parsedJson('filterByTk', value);
    if (Array.isArray(list)) return list;
  }
  if (value === null || value === '')
    throw new ApiError('PARAMETER_INVALID', 'filterByTk is empty; give the key of a record.');
  if (isObject(value)) {
    throw new ApiError('PARAMETER_INVALID', 'filterByTk takes a key or a list of keys.');
  }
  return value;
}

function objectOf(name: string, input: unknown, fromText: boolean): { value: unknown; isText: boolean } {
  if (input === undefined || input === null) return { value: null, isText: false };
  if (typeof input === 'string') {
    if (input.length > limits.filterTextBytes) {
      throw new ApiError('LIMIT_EXCEEDED', `${name} is longer than 64 KiB; send it in the body of a POST.`);
    }
    return { value: input.trim() === '' ? null : parsedJson(name, input), isText: false };
  }
  return { value: fromText ? listsFromIndexes(input as QueryValue) : input, isText: fromText };
}

function parsedJson(name: string, text: string): unknown {
  return parseJson(text, () => new ApiError('PARAMETER_INVALID', `${name} is not valid JSON.`));
}

/** Names as a comma list, a JSON list, bracket list, or list; null when absent. */
function namesOf(name: string, input: unknown): string[] | null {
  if (input === undefined || input === null) return null;
  const value = listsFromIndexes(input as QueryValue);
  const list = typeof value === 'string' ? listFromText(name, value) : value;
  if (!Array.isArray(list) || list.some((member) => typeof member !== 'string')) {
    throw new ApiError('PARAMETER_INVALID', `${name} takes a list of names.`);
  }
  const names = (list as string[]).map((each) => each.trim()).filter((each) => each !== '');
  return [...new Set(names)];
}

function listFromText(name: string, text: string): unknown {
  return text.trimStart().startsWith('[') ? parsedJson(name, text) : text.split(',');
}

function sortOf(input: unknown): SortTerm[] {
  const names = namesOf('sort', input) ?? [];
  if (names.length > limits.sortTerms)
    throw new ApiError('LIMIT_EXCEEDED', `sort takes at most ${limits.sortTerms} terms.`);
  return names.map((name) => {
    const descending = name.startsWith('-');
    const path = descending || name.startsWith('+') ? name.slice(1) : name;
    if (path === '') throw new ApiError('PARAMETER_INVALID', 'sort has a term without a field name.');
    return { path, descending };
  });
}

function numberOf(name: string, input: unknown, least: number, most: number): number | null {
  if (input === undefined || input === null) return null;
  const number = typeof input === 'string' && /^\d{1,16}$/.test(input) ? Number(input) : input;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < least || number > most) {
    const bound = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new ApiError('PARAMETER_INVALID', `${name} must be a whole number ${bound}.`);
  }
  return number;
}

function truthOf(name: string, input: unknown, fallback: boolean): boolean {
  if (input === undefined) return fallback;
  if (input === true || input === 'true' || input === '1' || input === null || input === '') return true;
  if (input === false || input === 'false' || input === '0') return false;
  throw notTruth(name);
}

function countOf(input: unknown): CountMode {
  if (input === undefined || input === null) return 'exact';
  if (input === 'exact' || input === 'estimated' || input === 'none') return input;
  throw new ApiError('PARAMETER_INVALID', 'count must be exact, estimated or none.');
}

/** Text to be searched for; nothing but white space is no search. */
function searchOf(input: unknown): string | null {
  const text = textOf('search', typeof input === 'number' ? String(input) : input)?.trim() ?? '';
  if (text.length > limits.patternLength)
    throw new ApiError('LIMIT_EXCEEDED', `search takes at most ${limits.patternLength} characters.`);
  if (!text.isWellFormed() || text.includes('\u0000'))
    throw new ApiError(
      'PARAMETER_INVALID',
      '"search" contains U+0000 or a lone surrogate, which text cannot contain. Remove it.',
    );
  return text === '' ? null : text;
}

function textOf(name: string, input: unknown): string | null {
  if (input === undefined || input === null || input === '') return null;
  if (typeof input !== 'string') throw new ApiError('PARAMETER_INVALID', `${name} must be text.`);
  return input;
}
