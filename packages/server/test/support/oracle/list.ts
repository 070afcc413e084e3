import { holds } from './filter.ts';
import { type CollectionModel, fieldNamed, isTrashed, type Row, relationNamed, rowsOf, split } from './model.ts';
import type { ListRequest } from './requests.ts';
import { present } from './selection.ts';
import type { Grant, ReadAction, Sight } from './sight.ts';
import { compareNullable, fold, textTypes } from './values.ts';

/** All records that a list answers, in its order, as they are shown. */
export function expectedList(
  request: ListRequest,
  collection: CollectionModel,
  sight: Sight,
  action: ReadAction = 'list',
): Row[] {
  const grant = sight.grant(collection, action)!;
  return matching(request, collection, grant, sight)
    .toSorted((a, b) => compareRows(a, b, request.sort, collection, sight))
    .map((row) => present(row, request, collection, grant, sight));
}

export function matching(
  { filter, search, searchFields, trash }: Pick<ListRequest, 'filter' | 'search' | 'searchFields' | 'trash'>,
  collection: CollectionModel,
  grant: Grant,
  sight: Sight,
): Row[] {
  return rowsOf(sight.world, collection.name).filter(
    (row) =>
      (trash === 'with' || isTrashed(row) === (trash === 'only')) &&
      grant.sees(row) &&
      holds(filter, row, collection, sight) &&
      (search === null || isFound(search, searchFields, row, collection, grant)),
  );
}

function isFound(
  search: string,
  names: readonly string[] | null,
  row: Row,
  { fields }: CollectionModel,
  grant: Grant,
): boolean {
  const searched = fields.filter(({ name, type }) => textTypes.has(type) && grant.may(name));
  return searched.some(({ name }) => {
    const value = row[name] as string | null;
    return (names === null || names.includes(name)) && value !== null && fold(value).includes(fold(search.trim()));
  });
}

function compareRows(a: Row, b: Row, sort: readonly string[], collection: CollectionModel, sight: Sight): number {
  const last = sort.at(-1)?.startsWith('-') ? '-' : '';
  for (const term of [...sort, last + collection.key]) {
    const descending = term.startsWith('-');
    const path = term.replace(/^-/, '');
    const [one, other] = [a, b].map((row) => valueAt(path, row, collection, sight));
    const order = compareNullable(typeAt(path, collection, sight), one, other, descending);
    if (order !== 0) return order;
  }
  return 0;
}

/** The value at the end of a path of to-one relations; null where it ends before. */
export function valueAt(path: string, row: Row, collection: CollectionModel, sight: Sight): unknown {
  const [name, rest] = split(path);
  if (rest === null) return row[name] ?? null;
  const relation = relationNamed(collection, name)!;
  const [next] = sight.related(collection, row, relation);
  return next ? valueAt(rest, next, sight.collection(relation.target), sight) : null;
}

export function typeAt(path: string, collection: CollectionModel, sight: Sight) {
  const [name, rest] = split(path);
  if (rest === null) return fieldNamed(collection, name)!.type;
  return typeAt(rest, sight.collection(relationNamed(collection, name)!.target), sight);
}
