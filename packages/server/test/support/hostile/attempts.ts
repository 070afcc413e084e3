/**
 * Attempts to use what a role may not use: every operation in the OpenAPI document of an administrator or in the
 * server's list of
 * actions, with every parameter that can contain a name, in every spelling. New actions and parameters are included
 * automatically.
 */

import { resolveReference } from '../documented-replies.ts';
import type { Json } from '../json.ts';
import { deniedFields, twinKeys } from './twin-applications.ts';

export interface Operation {
  readonly reads: boolean;
  /** `/api/items/{key}/tags:list`. */
  readonly template: string;
  readonly resource: string;
  readonly action: string;
  /** The collection of the records that the operation returns or changes: the target of a relation. */
  readonly target: string;
  /** All collections on the path of the operation. */
  readonly through: readonly string[];
  readonly parameters: readonly string[];
}

/**
 * The specified outcome for a role that may use the operation but not the named field. `denied`: 403. `refused`: any
 * refusal. `same`:
 * only that nothing is revealed.
 */
export type AttemptOutcome = 'denied' | 'refused' | 'same';

export interface Attempt {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expectedOutcome: AttemptOutcome;
}

const relations: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  items: { owner: 'owners', keeper: 'owners', tags: 'tags' },
  owners: { items: 'items', card: 'cards' },
};

/** Every operation of a document, and every action of the server's list that the document does not have. */
export function listOperations(
  document: Json,
  systemActions: Readonly<Record<string, { readonly reads: boolean }>>,
): Operation[] {
  const found: Operation[] = [];
  for (const [template, item] of Object.entries(document.paths as Json)) {
    const [[method, operation]] = Object.entries(item as Json).filter(([name]) => name !== 'parameters') as [
      [string, Json],
    ];
    const parameters = (operation.parameters ?? [])
      .map((each: Json) => resolveReference(document, each))
      .filter((each: Json) => each.in === 'query')
      .map((each: Json) => each.name as string);
    if (template.includes(':'))
      found.push(readOperation(template, method === 'get' || template.endsWith(':query'), parameters));
  }
  const known = new Set(found.map(({ template }) => template));
  for (const [name, { reads }] of Object.entries(systemActions)) {
    const template = name.startsWith('collections/')
      ? `/api/collections/{collection}/${name.slice(12)}`
      : `/api/${name.replace(/:$/, '')}`;
    if (!known.has(template)) found.push(readOperation(template, reads, ['filterByTk']));
  }
  return found;
}

function readOperation(template: string, reads: boolean, parameters: readonly string[]): Operation {
  const parts = template.slice('/api/'.length).split('/');
  const [resource, action] = parts.at(-1)!.split(':') as [string, string];
  const of = parts.length > 1 ? parts[0]! : null;
  const target = of === null ? resource : (relations[of]?.[resource] ?? resource);
  return { reads, template, resource, action, target, through: of === null ? [target] : [of, target], parameters };
}

const enc = encodeURIComponent;
const percent = (text: string): string => [...text].map((each) => `%${each.charCodeAt(0).toString(16)}`).join('');
const escaped = (text: string): string =>
  [...text].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

/** Names that a role without these fields may not use in a collection: its own fields, and those of its relations. */
export function listDeniedNames(collection: string): string[] {
  const own = deniedFields[collection] ?? [];
  const deeper = Object.entries(relations[collection] ?? {})
    .filter(([name]) => !own.includes(name))
    .flatMap(([name, target]) => (deniedFields[target] ?? []).map((each) => `${name}.${each}`));
  return [...own, ...deeper];
}

/** Query texts in which a list parameter names a field. */
function listSpellings(parameter: string, name: string): string[] {
  const sign = parameter === 'sort' ? '-' : '';
  const besideKey = [`${parameter}[0]=id&${parameter}[1]=${enc(name)}`, `${parameter}=id,${sign}${enc(name)}`];
  return [
    `${parameter}=${sign}${enc(name)}`,
    `${parameter}[]=${enc(name)}`,
    ...(noKeys.has(parameter) ? [] : besideKey),
    `${parameter}=${enc(JSON.stringify([name]))}`,
    `${parameter}=${enc(`["${escaped(name)}"]`)}`,
    `${percent(parameter)}=${percent(name)}`,
    `${parameter}=%20${enc(name)}%20`,
    `${parameter}=${enc(name)}&${parameter}=${enc(name)}`,
  ];
}

/** Values of `filter` that name a field. */
function filters(name: string): object[] {
  const test = { [name]: { $null: false } };
  const [head, ...rest] = name.split('.');
  const nested = rest.length > 0 ? [{ [head!]: { [rest.join('.')]: { $notNull: true } } }] : [];
  return [
    test,
    { $not: test },
    { $or: [{ id: 1 }, test] },
    { $and: [{ $or: [{ $not: { $and: [test] } }] }] },
    { id: 1, [name]: null },
    { [name]: { $ne: null } },
    ...nested,
  ];
}

function filterSpellings(name: string): string[] {
  return [
    ...filters(name).map((each) => `filter=${enc(JSON.stringify(each))}`),
    `filter=${enc(`{"${escaped(name)}":{"$null":true}}`)}`,
    `filter[${enc(name)}][$null]=true`,
    `filter[$or][0][${enc(name)}][$notNull]=true`,
    `filter%5B${percent(name)}%5D%5B%24null%5D=true`,
    `filter[${name.split('.').map(enc).join('][')}][$null]=1`,
  ];
}

/** Invalid names that resemble a valid one: none of them may be taken for it. */
function nearNames(name: string): string[] {
  return [
    name.toUpperCase(),
    `${name}\u0000`,
    `items.${name}`,
    `"${name}"`,
    `${name}--`,
    `${name} COLLATE NOCASE`,
    `${name}.length`,
    '__proto__',
    'constructor',
    'toString',
    '_v',
    'rowid',
    'deletedat_1',
  ];
}

const lists = new Set([
  'fields',
  'appends',
  'sort',
  'searchFields',
  'filterKeys',
  'whitelist',
  'updateAssociationValues',
]);
/** List parameters for which a primary key would be a separate mistake. */
const noKeys = new Set(['appends', 'searchFields', 'filterKeys']);
/** Parameters that exclude names: naming a denied field in them has no effect. */
const taking = new Set(['except', 'blacklist']);

/** Attempts that name a denied field. `all`: in all spellings; otherwise in one, chosen by `turn`. */
export function* makeNamingAttempts(operation: Operation, turn: () => number, all: boolean): Generator<Attempt> {
  const choose = <T>(each: readonly T[]): readonly T[] =>
    all || each.length === 0 ? each : [each[turn() % each.length]!];
  for (const name of listDeniedNames(operation.target)) {
    for (const parameter of operation.parameters) {
      const spellings =
        parameter === 'filter'
          ? filterSpellings(name)
          : lists.has(parameter) || taking.has(parameter)
            ? listSpellings(parameter, name)
            : [];
      const extra = parameter === 'searchFields' ? 'search=a&' : '';
      for (const spelling of choose(spellings))
        if (spellings.length > 0) yield tried(operation, `${extra}${spelling}`, wantedFor(parameter, name));
      const near = parameter === 'filter' || lists.has(parameter) ? choose(nearNames(name)) : [];
      for (const each of near) {
        const text = parameter === 'filter' ? JSON.stringify({ [each]: 1 }) : JSON.stringify([each]);
        yield tried(operation, `${extra}${parameter}=${enc(text)}`, isStrict(parameter) ? 'refused' : 'same');
      }
    }
    if (operation.action === 'query')
      // A path through a to-many relation is not valid in a query for any role.
      for (const body of choose(queries(name)))
        yield bodied(operation, body, name.startsWith('items.') ? 'refused' : 'denied');
    else if (operation.reads) yield* readsByPost(operation, name, choose);
    else for (const body of choose(bodies(operation, name))) yield bodied(operation, body, 'denied');
  }
}

/** Unknown names in these parameters are ignored, because clients send lists for several collections. */
function isStrict(parameter: string): boolean {
  return parameter !== 'whitelist' && parameter !== 'updateAssociationValues';
}

function wantedFor(parameter: string, name: string): AttemptOutcome {
  if (taking.has(parameter)) return 'same';
  // Names that are not fields of the collection itself are ignored in these two parameters, or are a separate mistake.
  if (parameter === 'whitelist' && name.includes('.')) return 'same';
  if (parameter === 'updateAssociationValues' && name.includes('.')) return 'same';
  const isOwn = !name.includes('.');
  // A filter key must also be in the body, and a search needs a text field.
  if (parameter === 'filterKeys' || (parameter === 'searchFields' && !isOwn)) return 'refused';
  if (parameter === 'sort' && name.startsWith('items.')) return 'refused';
  return parameter === 'appends' && !/keeper$/.test(name) ? 'refused' : 'denied';
}

function* readsByPost(
  operation: Operation,
  name: string,
  choose: <T>(each: readonly T[]) => readonly T[],
): Generator<Attempt> {
  for (const filter of choose(filters(name))) yield bodied(operation, { ...target(operation), filter }, 'denied');
  for (const parameter of operation.parameters)
    if (lists.has(parameter) && parameter !== 'searchFields' && wantedFor(parameter, name) === 'denied')
      yield bodied(operation, { ...target(operation), [parameter]: [name] }, 'denied');
}

function queries(name: string): object[] {
  const count = { aggregation: 'count', alias: 'n' };
  return [
    { measures: [{ field: name, aggregation: 'max', alias: 'm' }] },
    { measures: [{ field: name, aggregation: 'count', alias: 'm', distinct: true }], having: { m: { $gt: 1 } } },
    { measures: [count], dimensions: [{ field: name }] },
    { measures: [count], dimensions: [name], orders: [{ field: name, order: 'desc' }] },
    ...filters(name).map((filter) => ({ measures: [count], filter })),
  ];
}

const samples: Readonly<Record<string, object>> = {
  items: { title: 'New', open: true },
  owners: { name: 'New', open: true },
  tags: { name: 'new', open: true },
  cards: { text: 'new', open: true },
};
const values: Readonly<Record<string, readonly unknown[]>> = {
  secret: ['x', null],
  pin: ['x', null],
  keeperId: [1, 2, null],
  keeper: [1, { id: 1 }, { id: 1, name: 'x' }, { name: 'made', open: true }, null],
};

/** Bodies that write a denied field, in the record itself and in a nested record. */
function bodies({ target: name, action }: Operation, denied: string): object[] {
  if (['set', 'add', 'remove', 'toggle', 'destroy', 'restore', 'move'].includes(action)) return [];
  const sample = samples[name] ?? {};
  const [head, field] = denied.split('.') as [string, string | undefined];
  if (field === undefined) return (values[denied] ?? ['x']).map((value) => ({ ...sample, [denied]: value }));
  const inner = { ...samples[relations[name]![head]!], [field]: (values[field] ?? ['x'])[0] };
  return [{ ...sample, [head]: head === 'items' ? [inner] : inner }];
}

/** Attempts with keys of rows that are visible, invisible, in the trash, only in one application, and missing. */
export function* makeKeyAttempts(operation: Operation): Generator<Attempt> {
  if (!operation.parameters.includes('filterByTk') && !operation.template.includes('{key}')) return;
  const sample = samples[operation.target] ?? {};
  for (const key of Object.values(twinKeys))
    for (const more of operation.reads ? ['', '&withDeleted=true', '&onlyDeleted=true'] : ['', '&force=true']) {
      if (more !== '' && !operation.parameters.includes(more.slice(1).split('=')[0]!)) continue;
      yield* trial(operation, key, `filterByTk=${key}${more}`, sample);
      yield* trial(operation, key, `filterByTk=[1,${key}]${more}`, sample);
    }
}

function* trial(operation: Operation, key: number, query: string, body: object): Generator<Attempt> {
  const own = operation.parameters.includes('filterByTk') ? query : '';
  if (operation.reads) yield read(operation, own, 'same', key);
  else yield { ...read(operation, `${own}&dryRun=true`, 'same', key), body: bodyFor(operation, key, body) };
}

function bodyFor({ action }: Operation, key: number, body: object): unknown {
  if (action === 'set' || action === 'add' || action === 'remove' || action === 'toggle') return undefined;
  return action === 'destroy' || action === 'restore'
    ? undefined
    : { ...body, ...(action === 'create' && { id: 500 + key }) };
}

/** Bodies that link, also update or relink rows by their keys. They are sent as dry runs. */
export function* makeLinkAttempts(operation: Operation): Generator<Attempt> {
  const { target: name, action } = operation;
  if (
    operation.reads ||
    !(name in samples) ||
    !['create', 'update', 'firstOrCreate', 'updateOrCreate'].includes(action)
  )
    return;
  for (const [relation, target] of Object.entries(relations[name] ?? {}))
    for (const key of [twinKeys.seen, twinKeys.hidden, twinKeys.missing, twinKeys.leftOnly]) {
      const many = relation === 'items' || relation === 'tags';
      // A key that the caller chooses may already be in use, and the conflict must say so.
      const objects = key === twinKeys.leftOnly ? [] : [{ id: key }, { id: key, ...samples[target] }];
      for (const one of [key, ...objects]) {
        const body = { ...samples[name], [relation]: many ? [one] : one };
        const touching = key === twinKeys.seen ? '' : `&updateAssociationValues=${relation}`;
        yield { ...read(operation, `dryRun=true${touching}`, 'same'), body };
      }
    }
}

/**
 * Attempts of a caller without any permission on the operation: without parameters, with a mistake, and with names of
 * every kind.
 */
export function* makeBareAttempts(operation: Operation): Generator<Attempt> {
  const body = operation.reads ? undefined : (samples[operation.target] ?? {});
  yield { ...read(operation, '', 'same'), body };
  yield { ...read(operation, 'nonsense=1', 'same'), body };
  yield { ...read(operation, 'filter=%7B', 'same'), body };
  yield { ...read(operation, 'filter[__proto__]=1&fields=secret', 'same'), body };
  yield {
    ...read(operation, '', 'same'),
    method: 'POST',
    body: operation.reads ? { filter: { secret: 'x' } } : [body],
  };
  yield { ...read(operation, '', 'same'), body, headers: { 'if-match': '*', 'if-none-match': '*' } };
}

/** The request in its default form: reads by GET, writes by POST with a sample body if one is needed. */
function read(operation: Operation, query: string, wanted: AttemptOutcome, key: number = twinKeys.seen): Attempt {
  const path = buildPath(operation, key);
  const needed = /filterByTk|filterKeys|%66%69%6c%74%65%72%4b/.test(query)
    ? ''
    : new URLSearchParams(target(operation) as Record<string, string>).toString();
  const text = [needed, query].filter((each) => each !== '').join('&');
  const url = text === '' ? path : `${path}?${text}`;
  if (operation.reads && operation.action !== 'query') return { method: 'GET', path: url, expectedOutcome: wanted };
  const body = ['destroy', 'restore', 'set', 'add', 'remove', 'toggle'].includes(operation.action)
    ? undefined
    : (samples[operation.target] ?? {});
  return { method: 'POST', path: url, body, expectedOutcome: wanted };
}

/** Writes that may succeed are sent as dry runs. */
function tried(operation: Operation, query: string, wanted: AttemptOutcome): Attempt {
  const isWrite = !operation.reads && wanted === 'same';
  return read(operation, isWrite ? `${query}&dryRun=true` : query, wanted);
}

function bodied(operation: Operation, body: unknown, wanted: AttemptOutcome): Attempt {
  const query = operation.reads ? '' : new URLSearchParams(target(operation) as Record<string, string>).toString();
  const path = buildPath(operation, twinKeys.seen);
  return { method: 'POST', path: query === '' ? path : `${path}?${query}`, body, expectedOutcome: wanted };
}

/** The parameters that name the record of an operation. */
function target({ action, target: name, parameters, template }: Operation): Readonly<Record<string, string>> {
  if (action.endsWith('OrCreate')) return { filterKeys: Object.keys(samples[name] ?? { id: 1 })[0]! };
  if (action === 'restore') return { filterByTk: String(twinKeys.trashed) };
  const needs =
    ['get', 'update', 'destroy', 'set', 'add', 'toggle', 'remove'].includes(action) &&
    parameters.includes('filterByTk');
  const isToOne = /\/(owner|keeper|card):/.test(template);
  return needs && !isToOne ? { filterByTk: String(twinKeys.seen) } : {};
}

function buildPath({ template }: Operation, key: number): string {
  return template.replace('{key}', String(key)).replace('{collection}', 'items');
}
