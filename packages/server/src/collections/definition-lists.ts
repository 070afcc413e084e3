/**
 * Lists of collections and fields. The rows are those of the snapshot; they are filtered, searched, sorted and paged by
 * the statements that read records, so one set of rules holds for both. Enters a parsed request, leave definitions as
 * the wire shows them. Refuses what a list of records refuses.
 */
import type { Transaction } from '../database/database.ts';
import type { RowSource } from '../database/dialect.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { planSelection } from '../query/selection.ts';
import { type ListMeta, listRecords, requireGrant, requireTrashAsked } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { fixedCollection } from '../schema/fixed-collection.ts';
import { type Collection, type Field, Registry } from '../schema/registry.ts';
import { definitionCounter, showCollection, showField, shownFields } from './show-definition.ts';

type Definition = Readonly<Record<string, unknown>>;

/** Definitions of one kind, in their own order, with what a list may filter and sort them by. */
export interface DefinitionList {
  readonly collection: Collection;
  readonly definitions: readonly Definition[];
  /** The values of a definition that its members do not give: by name, from its place in the list. */
  derived(definition: Definition, place: number): Definition;
}

export interface ShownDefinitions {
  readonly data: readonly Definition[];
  /** Null for a list without pages. */
  readonly meta: ListMeta | null;
}

const text = (...names: readonly string[]): FieldDefinition[] => names.map((name) => ({ name, type: 'text' }));
const of = (type: string, ...names: readonly string[]): FieldDefinition[] => names.map((name) => ({ name, type }));
const key: FieldDefinition = { name: 'name', type: 'string', primaryKey: true, required: true };
/** The place in the order of definition, which is the default order. It can be sorted and filtered by, and is not shown. */
const place: FieldDefinition = { name: 'sort', type: 'integer', required: true };

const collections = fixedCollection({ name: 'collections', title: 'Collections', table: '_shown_collections' }, [
  key,
  ...text('title', 'description'),
  // The names of the fields.
  ...of('array', 'fields'),
  ...of('json', 'options'),
  ...of('boolean', 'system'),
  place,
]);

const fields = fixedCollection({ name: 'fields', title: 'Fields', table: '_shown_fields' }, [
  key,
  ...text('type', 'title', 'description', 'collectionName'),
  ...of('json', 'uiSchema', 'defaultValue'),
  ...of('boolean', 'required', 'unique', 'index', 'allowNull', 'primaryKey', 'autoIncrement', 'readOnly'),
  ...of('boolean', 'multiple', 'dateOnly', 'autoNow', 'autoNowAdd'),
  ...of('integer', 'maxLength', 'precision', 'scale'),
  ...of('double', 'min', 'max'),
  ...of('array', 'enum'),
  ...text('pattern', 'target', 'foreignKey', 'otherKey', 'sourceKey', 'targetKey', 'through', 'scopeKey', 'onDelete'),
  place,
]);

/** All collections that have endpoints, with their fields. */
export function listedCollections(registry: Registry): DefinitionList {
  const shown = registry.all().filter((each) => !each.internal);
  return {
    collection: collections,
    definitions: shown.map((each) => showCollection(each, true)),
    derived: ({ fields: members, system = false }, index) => ({
      system,
      fields: (members as readonly Definition[]).map(({ name }) => name),
      sort: index + 1,
    }),
  };
}

/** The fields of a collection, secrets excluded. */
export function listedFields(collection: Collection): DefinitionList {
  const shown: readonly Field[] = shownFields(collection);
  return {
    collection: fields,
    definitions: shown.map(showField),
    derived: (_, index) => ({ collectionName: collection.name, sort: index + 1 }),
  };
}

/**
 * The definitions that a request asks for. Without page, pageSize or after the list is whole.
 *
 * @throws ApiError 400 as a list of records does.
 */
export async function listDefinitions(
  context: RecordContext,
  list: DefinitionList,
  request: AskedRecordRequest,
): Promise<ShownDefinitions> {
  const show = shownBy(context, list.collection, 'list', request);
  requireTrashAsked(request, list.collection);
  const isWhole = request.pageSize === null && request.page === 1 && request.after === null;
  if (isWhole && isPlain(request)) {
    const meta = request.paginate ? wholeMeta(list.definitions.length, request) : null;
    return { data: list.definitions.map(show), meta };
  }
  const size = request.paginate && !isWhole ? request.pageSize : limits.wholeList;
  const { data, meta } = await listRecords(overDefinitions(context, list), list.collection, {
    ...keysAlone(request, list.collection),
    ...(request.paginate ? {} : { page: 1, after: null }),
    pageSize: size,
  });
  return { data: definitionsOf(data, list).map(show), meta: request.paginate ? meta : null };
}

/** The definition of a name, or the first one that matches a filter, with the counter of its ETag; null where there is none. */
export async function getDefinition(
  context: RecordContext,
  list: DefinitionList,
  request: AskedRecordRequest,
): Promise<{ readonly shown: Definition; readonly counter: number } | null> {
  const { filterByTk, filter } = request;
  const show = shownBy(context, list.collection, 'get', request);
  requireTrashAsked(request, list.collection);
  if (filterByTk === undefined && filter === null)
    throw new ApiError(
      'TARGET_MISSING',
      `"filterByTk" or "filter" is required: name one of the ${list.collection.name}.`,
    );
  if (filterByTk !== undefined && typeof filterByTk !== 'string')
    throw new ApiError('PARAMETER_INVALID', `"filterByTk" must be one name of the ${list.collection.name}.`);
  if (filter === null) {
    const found = list.definitions.find(({ name }) => name === filterByTk);
    return found ? tagged(found, show) : null;
  }
  const asked = { ...keysAlone(request, list.collection), page: 1, pageSize: 1, count: 'none' as const };
  const granted = { ...overDefinitions(context, list), grantOf: () => requireGrant(context, list.collection, 'get') };
  const { data } = await listRecords(granted, list.collection, asked);
  const [found] = definitionsOf(data, list);
  return found ? tagged(found, show) : null;
}

function tagged(
  definition: Definition,
  show: (definition: Definition) => Definition,
): { readonly shown: Definition; readonly counter: number } {
  return { shown: show(definition), counter: definitionCounter(definition) };
}

/** What of a definition the request asks for. `appends=fields` shows the fields of a collection, which its list shows anyway. */
function shownBy(
  context: RecordContext,
  collection: Collection,
  action: 'list' | 'get',
  { fields: named, except, appends, versions }: AskedRecordRequest,
): (definition: Definition) => Definition {
  if (versions)
    throw new ApiError('PARAMETER_INVALID', `"versions" is not supported for collections and fields; leave it out.`);
  const nested = collection === collections ? 'fields' : null;
  const rest = appends.filter((each) => each !== nested);
  const own = { registry: registryOf(collection), grantOf: context.grantOf };
  const grant = requireGrant(context, collection, action);
  const selection = planSelection(
    { fields: named, except, appends: rest },
    collection,
    grant,
    own.registry,
    own.grantOf,
  );
  const names = new Set(selection.fields.map(({ name }) => name));
  const isAppended = nested !== null && rest.length < appends.length && !except?.includes(nested);
  if (isAppended) names.add(nested);
  else if (nested !== null && action === 'get' && named === null) names.delete(nested);
  return (definition) => Object.fromEntries(Object.entries(definition).filter(([name]) => names.has(name)));
}

function isPlain({ filterByTk, filter, search, sort }: AskedRecordRequest): boolean {
  return filterByTk === undefined && filter === null && search === null && sort.length === 0;
}

function wholeMeta(count: number, request: AskedRecordRequest): ListMeta {
  const isCounted = request.count !== 'none';
  return {
    count: isCounted ? count : undefined,
    countIsEstimate: undefined,
    page: 1,
    pageSize: limits.wholeList,
    totalPage: isCounted ? Math.ceil(count / limits.wholeList) : undefined,
    hasNext: false,
    nextCursor: null,
    versions: undefined,
  };
}

function keysAlone(request: AskedRecordRequest, { primaryKey }: Collection): AskedRecordRequest {
  return {
    ...request,
    fields: [primaryKey.name],
    except: null,
    appends: [],
    paginate: true,
    sort: request.sort.length > 0 ? request.sort : [{ path: place.name, descending: false }],
    count: request.count === 'estimated' ? 'exact' : request.count,
  };
}

function definitionsOf(data: string, { definitions }: DefinitionList): Definition[] {
  const byName = new Map(definitions.map((each) => [each['name'], each]));
  return (JSON.parse(data) as readonly Definition[]).map(({ name }) => byName.get(name)!);
}

const registries = new Map([collections, fields].map((each) => [each, new Registry(0, new Map([[each.name, each]]))]));

function registryOf(collection: Collection): Registry {
  return registries.get(collection)!;
}

/** A context whose statements read the definitions in the place of a table. */
function overDefinitions(context: RecordContext, { collection, definitions, derived }: DefinitionList): RecordContext {
  const columns = collection.fields.map(({ name, type }) => ({ name, storage: type.storage! }));
  const rows = definitions.map((definition, index) => {
    const values: Definition = { ...definition, ...derived(definition, index) };
    return columns.map(({ name }) => values[name] ?? null);
  });
  const source: RowSource = { table: collection.table, columns, json: JSON.stringify(rows) };
  const { database } = context;
  const inside: Transaction = {
    run: async (statement) => (await database.read([database.dialect.overRows(statement, source)]))[0]!,
    touch: () => undefined,
    afterDurable: () => undefined,
  };
  return { ...context, registry: registryOf(collection), inside };
}
