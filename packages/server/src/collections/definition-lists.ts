/**
 * Lists of collections and fields. The definitions of the snapshot are passed as rows to the same statements that read
 * records, so they are filtered, searched, sorted and paged by the same rules. Takes a parsed request and returns
 * definitions in their wire format, with the errors of a list of records.
 */
import type { Transaction } from '../database/database.ts';
import type { RowSource } from '../database/dialect.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { planSelection } from '../query/selection.ts';
import { type ListMeta, listRecords, requireGrant, requireTrashSupport } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { createFixedCollection } from '../schema/fixed-collection.ts';
import { type Collection, type Field, listColumnFields, Registry } from '../schema/registry.ts';
import { readSearchIndexReports } from './search-index-reports.ts';
import { hashDefinition, listVisibleFields, serialiseCollection, serialiseField } from './serialise-definition.ts';

type Definition = Readonly<Record<string, unknown>>;

/** Definitions of one kind in their order, with the fields by which a list can filter and sort them. */
export interface DefinitionList {
  readonly collection: Collection;
  readonly definitions: readonly Definition[];
  /** Further values of a definition by name, computed from its index in the list. */
  deriveValues(definition: Definition, index: number): Definition;
}

export interface ListedDefinitions {
  readonly data: readonly Definition[];
  /** Null for a list without pages. */
  readonly meta: ListMeta | null;
}

const textFields = (...names: readonly string[]): FieldDefinition[] => names.map((name) => ({ name, type: 'text' }));
const fieldsOfType = (type: string, ...names: readonly string[]): FieldDefinition[] =>
  names.map((name) => ({ name, type }));
const nameField: FieldDefinition = { name: 'name', type: 'string', primaryKey: true, required: true };
/**
 * The index in the order of definition, which is the default order. Requests can sort and filter by it; it is not
 * shown.
 */
const sortField: FieldDefinition = { name: 'sort', type: 'integer', required: true };

const collectionsCollection = createFixedCollection(
  { name: 'collections', title: 'Collections', table: '_shown_collections' },
  [
    nameField,
    ...textFields('title', 'description'),
    // The names of the fields.
    ...fieldsOfType('array', 'fields'),
    ...fieldsOfType('json', 'options'),
    // The progress of search indexes; absent without any.
    ...fieldsOfType('json', 'searchIndexes'),
    ...fieldsOfType('boolean', 'system'),
    sortField,
  ],
);

const fieldsCollection = createFixedCollection({ name: 'fields', title: 'Fields', table: '_shown_fields' }, [
  nameField,
  ...textFields('type', 'title', 'description', 'collectionName'),
  ...fieldsOfType('json', 'uiSchema', 'defaultValue'),
  ...fieldsOfType(
    'boolean',
    'required',
    'unique',
    'index',
    'searchIndex',
    'allowNull',
    'primaryKey',
    'autoIncrement',
    'readOnly',
  ),
  ...fieldsOfType('boolean', 'multiple', 'dateOnly', 'autoNow', 'autoNowAdd'),
  ...fieldsOfType('integer', 'maxLength', 'precision', 'scale', 'maxCount'),
  ...fieldsOfType('double', 'min', 'max', 'maxSize'),
  ...fieldsOfType('array', 'enum', 'accept'),
  ...textFields(
    'pattern',
    'target',
    'foreignKey',
    'otherKey',
    'sourceKey',
    'targetKey',
    'through',
    'scopeKey',
    'onDelete',
  ),
  sortField,
]);

/** All collections that have endpoints, with their fields and the progress of their search indexes. */
export async function buildCollectionList({ registry, database }: RecordContext): Promise<DefinitionList> {
  const visible = registry.all().filter((each) => !each.internal);
  const reports = await readSearchIndexReports(database, visible);
  return {
    collection: collectionsCollection,
    definitions: visible.map((each) => ({ ...serialiseCollection(each, true), ...reports.get(each.id) })),
    deriveValues: ({ fields: members, system = false }, index) => ({
      system,
      fields: (members as readonly Definition[]).map(({ name }) => name),
      sort: index + 1,
    }),
  };
}

/** The fields of a collection, secrets excluded. */
export function buildFieldList(collection: Collection): DefinitionList {
  const visible: readonly Field[] = listVisibleFields(collection);
  return {
    collection: fieldsCollection,
    definitions: visible.map(serialiseField),
    deriveValues: (_, index) => ({ collectionName: collection.name, sort: index + 1 }),
  };
}

/**
 * Lists the requested definitions. Without `page`, `pageSize` or `after` the list contains all of them.
 *
 * @throws ApiError 400 as a list of records does.
 */
export async function listDefinitions(
  context: RecordContext,
  list: DefinitionList,
  request: RecordRequest,
): Promise<ListedDefinitions> {
  const selectProperties = buildPropertySelector(context, list.collection, 'list', request);
  requireTrashSupport(request, list.collection);
  const isWhole = request.pageSize === null && request.page === 1 && request.after === null;
  if (isWhole && hasNoConditions(request)) {
    const meta = request.paginate ? buildWholeListMeta(list.definitions.length, request) : null;
    return { data: list.definitions.map(selectProperties), meta };
  }
  const size = request.paginate && !isWhole ? request.pageSize : limits.wholeList;
  const { data, meta } = await listRecords(withDefinitionSource(context, list), list.collection, {
    ...selectKeysOnly(request, list.collection),
    ...(request.paginate ? {} : { page: 1, after: null }),
    pageSize: size,
  });
  return { data: findListedDefinitions(data, list).map(selectProperties), meta: request.paginate ? meta : null };
}

/**
 * The definition with a name, or the first one that matches a filter, with the counter of its ETag; null if none
 * exists.
 */
export async function getDefinition(
  context: RecordContext,
  list: DefinitionList,
  request: RecordRequest,
): Promise<{ readonly definition: Definition; readonly counter: number } | null> {
  const { filterByTk, filter } = request;
  const selectProperties = buildPropertySelector(context, list.collection, 'get', request);
  requireTrashSupport(request, list.collection);
  if (filterByTk === undefined && filter === null)
    throw new ApiError(
      'TARGET_MISSING',
      `"filterByTk" or "filter" is required. Name one of the ${list.collection.name}.`,
    );
  if (filterByTk !== undefined && typeof filterByTk !== 'string')
    throw new ApiError('PARAMETER_INVALID', `"filterByTk" must be the name of one of the ${list.collection.name}.`);
  if (filter === null) {
    const found = list.definitions.find(({ name }) => name === filterByTk);
    return found ? withCounter(found, selectProperties) : null;
  }
  const keyRequest = { ...selectKeysOnly(request, list.collection), page: 1, pageSize: 1, count: 'none' as const };
  const granted = {
    ...withDefinitionSource(context, list),
    findGrant: () => requireGrant(context, list.collection, 'get'),
  };
  const { data } = await listRecords(granted, list.collection, keyRequest);
  const [found] = findListedDefinitions(data, list);
  return found ? withCounter(found, selectProperties) : null;
}

function withCounter(
  definition: Definition,
  selectProperties: (definition: Definition) => Definition,
): { readonly definition: Definition; readonly counter: number } {
  const { searchIndexes: _, ...hashed } = definition;
  return { definition: selectProperties(definition), counter: hashDefinition(hashed) };
}

/**
 * Selects the requested properties. A list of collections shows their fields; a get shows them with `appends=fields`.
 */
function buildPropertySelector(
  context: RecordContext,
  collection: Collection,
  action: 'list' | 'get',
  { fields: fieldNames, except, appends, versions }: RecordRequest,
): (definition: Definition) => Definition {
  if (versions)
    throw new ApiError('PARAMETER_INVALID', '"versions" is not supported for collections and fields. Leave it out.');
  const nestedName = collection === collectionsCollection ? 'fields' : null;
  const rest = appends.filter((each) => each !== nestedName);
  const source = { registry: findRegistry(collection), findGrant: context.findGrant };
  const grant = requireGrant(context, collection, action);
  const selection = planSelection({ fields: fieldNames, except, appends: rest }, collection, grant, source);
  const names = new Set(selection.fields.map(({ name }) => name));
  const isAppended = nestedName !== null && rest.length < appends.length && !except?.includes(nestedName);
  if (isAppended) names.add(nestedName);
  else if (nestedName !== null && action === 'get' && fieldNames === null) names.delete(nestedName);
  return (definition) => Object.fromEntries(Object.entries(definition).filter(([name]) => names.has(name)));
}

function hasNoConditions({ filterByTk, filter, search, sort }: RecordRequest): boolean {
  return filterByTk === undefined && filter === null && search === null && sort.length === 0;
}

function buildWholeListMeta(count: number, request: RecordRequest): ListMeta {
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

function selectKeysOnly(request: RecordRequest, { primaryKey }: Collection): RecordRequest {
  return {
    ...request,
    fields: [primaryKey.name],
    except: null,
    appends: [],
    paginate: true,
    sort: request.sort.length > 0 ? request.sort : [{ path: sortField.name, descending: false }],
    count: request.count === 'estimated' ? 'exact' : request.count,
  };
}

function findListedDefinitions(data: string, { definitions }: DefinitionList): Definition[] {
  const byName = new Map<unknown, Definition>(definitions.map((each) => [each['name'], each]));
  return (JSON.parse(data) as readonly Definition[])
    .map(({ name }) => byName.get(name))
    .filter((each) => each !== undefined);
}

const registries = new Map(
  [collectionsCollection, fieldsCollection].map((each) => [
    each,
    new Registry(0, new Map([[each.name, each]]), new Map()),
  ]),
);

function findRegistry(collection: Collection): Registry {
  return registries.get(collection)!;
}

/** A context whose statements read the definitions instead of a table. */
function withDefinitionSource(
  context: RecordContext,
  { collection, definitions, deriveValues }: DefinitionList,
): RecordContext {
  const columns = listColumnFields(collection).map(({ name, type }) => ({ name, storage: type.storage }));
  const rows = definitions.map((definition, index) => {
    const values: Definition = { ...definition, ...deriveValues(definition, index) };
    return columns.map(({ name }) => values[name] ?? null);
  });
  const source: RowSource = { table: collection.table, columns, json: JSON.stringify(rows) };
  const { database } = context;
  const tx: Transaction = {
    run: async (statement) => {
      const [found = []] = await database.read([database.dialect.overRows(statement, source)]);
      return found;
    },
    touch: () => undefined,
    afterDurable: () => undefined,
  };
  return { ...context, registry: findRegistry(collection), tx };
}
