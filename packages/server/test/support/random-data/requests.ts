import { type CollectionModel, type Dataset, type Filter, isMany } from '../oracle/model.ts';
import type { ListRequest, QueryRequest } from '../oracle/requests.ts';
import { isScalar, textTypes } from '../oracle/values.ts';
import type { Draw } from './draw.ts';
import { makeRandomFilter } from './filters.ts';
import { texts } from './values.ts';

export function makeRandomList(draw: Draw, collection: CollectionModel, world: Dataset): ListRequest {
  const search = draw.chance(25) ? draw.pick(texts.filter((text) => text !== '')) : null;
  const searched = collection.fields.filter(({ type }) => textTypes.has(type)).map(({ name }) => name);
  const appends = draw.chance(55)
    ? draw.times(1, 3, () => relationPath(draw, collection, world)).filter((path) => path !== '')
    : [];
  return {
    filter: draw.chance(70) ? makeRandomFilter(draw, collection, world) : {},
    sort: draw.chance(60) ? [...new Set(draw.times(1, 3, () => sortTerm(draw, collection, world)))] : [],
    fields: draw.chance(30) ? shownNames(draw, collection, appends, world) : null,
    except: draw.chance(25) ? shownNames(draw, collection, appends, world) : [],
    appends: [...new Set(appends)],
    search,
    searchFields: search !== null && searched.length > 0 && draw.chance(50) ? draw.some(searched) : null,
    trash: collection.paranoid && draw.chance(30) ? draw.pick(['with', 'only'] as const) : 'without',
  };
}

/** A dotted path of up to five relations; empty if there are none. */
function relationPath(draw: Draw, collection: CollectionModel, world: Dataset, steps = 5): string {
  if (collection.relations.length === 0) return '';
  const { name, target } = draw.pick(collection.relations);
  const rest = steps > 1 && draw.chance(45) ? relationPath(draw, world.collections.get(target)!, world, steps - 1) : '';
  return rest === '' ? name : `${name}.${rest}`;
}

/** Names of fields of the collection and of appended relations. */
function shownNames(draw: Draw, collection: CollectionModel, appends: readonly string[], world: Dataset): string[] {
  const named = ({ fields }: CollectionModel): string[] =>
    fields.filter(({ type }) => type !== 'password').map(({ name }) => name);
  const own = draw.some(named(collection), 40);
  const deeper = appends
    .filter(() => draw.chance(50))
    .flatMap((path) => draw.some(named(endOf(path, collection, world)), 40).map((name) => `${path}.${name}`));
  return draw.chance(20) && appends.length > 0 ? [...own, ...deeper, appends[0]!] : [...own, ...deeper];
}

function endOf(path: string, collection: CollectionModel, world: Dataset): CollectionModel {
  return path.split('.').reduce((at, name) => {
    const relation = at.relations.find((each) => each.name === name)!;
    return world.collections.get(relation.target)!;
  }, collection);
}

function sortTerm(draw: Draw, collection: CollectionModel, world: Dataset): string {
  return (draw.chance(45) ? '-' : '') + scalarPath(draw, collection, world, 30);
}

/** The path of a field to sort by, through to-one relations. */
function scalarPath(draw: Draw, collection: CollectionModel, world: Dataset, percent: number, steps = 0): string {
  const single = collection.relations.filter((relation) => !isMany(relation));
  if (single.length > 0 && steps < 4 && draw.chance(percent)) {
    const { name, target } = draw.pick(single);
    return `${name}.${scalarPath(draw, world.collections.get(target)!, world, percent, steps + 1)}`;
  }
  return draw.pick(collection.fields.filter(({ type }) => isScalar(type))).name;
}

const formats = ['YYYY', 'YYYYQ', 'YYYY-MM', 'YYYYW', 'YYYY-MM-DD', 'YYYY-MM-DD HH'];

export function makeRandomQuery(draw: Draw, collection: CollectionModel, world: Dataset): QueryRequest {
  const dimensions = draw.times(0, 2, (index) => {
    const field = scalarPath(draw, collection, world, 25);
    const type = endType(field, collection, world);
    const isDate = type === 'date' || type === 'datetime';
    return { field, alias: `d${index}`, ...(isDate && draw.chance(60) && { format: draw.pick(formats) }) };
  });
  const measures = draw.times(dimensions.length === 0 ? 1 : 0, 4, (index) =>
    measure(draw, collection, world, `m${index}`),
  );
  const exact = measures.filter(({ isExact }) => isExact).map(({ alias }) => alias);
  const aliases = [...dimensions.map(({ alias }) => alias), ...exact];
  const counts = measures.filter(({ aggregation }) => aggregation === 'count').map(({ alias }) => alias);
  return {
    dimensions,
    measures: measures.map(({ isExact: _, ...each }) => each),
    filter: draw.chance(50) ? makeRandomFilter(draw, collection, world) : {},
    having: counts.length > 0 && draw.chance(40) ? having(draw, counts) : {},
    orders: draw.some(aliases, 30).map((alias) => ({ alias, order: draw.pick(['asc', 'desc'] as const) })),
    limit: draw.chance(30) ? 1 + draw.below(3) : 1000,
    offset: draw.chance(20) ? draw.below(3) : 0,
  };
}

function having(draw: Draw, aliases: readonly string[]): Filter {
  const condition = { [draw.pick(aliases)]: { [draw.pick(['$gt', '$lte', '$ne'])]: draw.below(4) } };
  return draw.chance(25) ? { $not: condition } : condition;
}

type RandomMeasure = QueryRequest['measures'][number] & { readonly isExact: boolean };

function measure(draw: Draw, collection: CollectionModel, world: Dataset, alias: string): RandomMeasure {
  if (draw.chance(25)) return { aggregation: 'count', alias, isExact: true };
  const field = scalarPath(draw, collection, world, 20);
  const type = endType(field, collection, world);
  const isFloat = type === 'float' || type === 'double';
  const isNumber = isFloat || type === 'integer' || type === 'bigInt' || type === 'decimal';
  const fits = isNumber ? (['count', 'sum', 'avg', 'min', 'max'] as const) : (['count', 'min', 'max'] as const);
  const aggregation = type === 'boolean' || type === 'uid' ? 'count' : draw.pick(fits);
  const isExact = aggregation !== 'avg' && !(isFloat && aggregation === 'sum');
  return { field, aggregation, alias, isExact, ...(draw.chance(25) && { distinct: true }) };
}

function endType(path: string, collection: CollectionModel, world: Dataset) {
  const steps = path.split('.');
  const at = steps.length > 1 ? endOf(steps.slice(0, -1).join('.'), collection, world) : collection;
  return at.fields.find(({ name }) => name === steps.at(-1))!.type;
}

/** A list as the body of its request. */
export function toRequestBody({
  trash,
  search,
  searchFields,
  fields,
  ...request
}: ListRequest): Record<string, unknown> {
  return {
    ...request,
    ...(fields !== null && { fields }),
    ...(search !== null && { search }),
    ...(searchFields !== null && { searchFields }),
    ...(trash === 'with' && { withDeleted: true }),
    ...(trash === 'only' && { onlyDeleted: true }),
  };
}
