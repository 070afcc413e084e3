import { matchesFilter } from './filter.ts';
import { type CollectionModel, findField, findRelation, getRows, isTrashed, type Row, splitPath } from './model.ts';
import type { ListRequest } from './requests.ts';
import { presentRow } from './selection.ts';
import { compareNullable, foldCase, textTypes } from './values.ts';
import type { Grant, ReadAction, Visibility } from './visibility.ts';

/** All records that a list returns, in its order and as it shows them. */
export function computeList(
  request: ListRequest,
  collection: CollectionModel,
  sight: Visibility,
  action: ReadAction = 'list',
): Row[] {
  const grant = sight.grant(collection, action)!;
  return filterRows(request, collection, grant, sight)
    .toSorted((a, b) => compareRows(a, b, request.sort, collection, sight))
    .map((row) => presentRow(row, request, collection, grant, sight));
}

export function filterRows(
  { filter, search, searchFields, trash }: Pick<ListRequest, 'filter' | 'search' | 'searchFields' | 'trash'>,
  collection: CollectionModel,
  grant: Grant,
  sight: Visibility,
): Row[] {
  return getRows(sight.dataset, collection.name).filter(
    (row) =>
      (trash === 'with' || isTrashed(row) === (trash === 'only')) &&
      grant.sees(row) &&
      matchesFilter(filter, row, collection, sight) &&
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
    return (
      (names === null || names.includes(name)) && value !== null && foldCase(value).includes(foldCase(search.trim()))
    );
  });
}

function compareRows(a: Row, b: Row, sort: readonly string[], collection: CollectionModel, sight: Visibility): number {
  const last = sort.at(-1)?.startsWith('-') ? '-' : '';
  for (const term of [...sort, last + collection.key]) {
    const descending = term.startsWith('-');
    const path = term.replace(/^-/, '');
    const [one, other] = [a, b].map((row) => readPath(path, row, collection, sight));
    const order = compareNullable(readPathType(path, collection, sight), one, other, descending);
    if (order !== 0) return order;
  }
  return 0;
}

/** The value at the end of a path of to-one relations; null if the path ends earlier. */
export function readPath(path: string, row: Row, collection: CollectionModel, sight: Visibility): unknown {
  const [name, rest] = splitPath(path);
  if (rest === null) return row[name] ?? null;
  const relation = findRelation(collection, name)!;
  const [next] = sight.related(collection, row, relation);
  return next ? readPath(rest, next, sight.collection(relation.target), sight) : null;
}

export function readPathType(path: string, collection: CollectionModel, sight: Visibility) {
  const [name, rest] = splitPath(path);
  if (rest === null) return findField(collection, name)!.type;
  return readPathType(rest, sight.collection(findRelation(collection, name)!.target), sight);
}
