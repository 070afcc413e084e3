import { isEmpty } from './filter.ts';
import { type CollectionModel, type Filter, findRelation, splitPath } from './model.ts';
import type { ListRequest, QueryRequest } from './requests.ts';
import { findTargetForeignKey, type Grant, type ReadAction, type Visibility } from './visibility.ts';

/**
 * Whether a list or get names something that the caller may not read, anywhere in the request. It does not depend on
 * data.
 */
export function isListDenied(
  request: ListRequest,
  collection: CollectionModel,
  action: ReadAction,
  sight: Visibility,
): boolean {
  const grant = sight.grant(collection, action);
  if (!grant) return true;
  const allowed = (path: string): boolean => mayFollow(path, collection, grant, sight);
  const shown = [...(request.fields ?? []), ...request.appends];
  return !(
    filterAllowed(request.filter, collection, grant, sight) &&
    request.sort.every((term) => allowed(term.replace(/^-/, ''))) &&
    shown.every(allowed) &&
    (request.search === null || (request.searchFields ?? []).every(allowed))
  );
}

export function isQueryDenied(query: QueryRequest, collection: CollectionModel, sight: Visibility): boolean {
  const grant = sight.grant(collection, 'list');
  if (!grant) return true;
  const paths = [...query.dimensions, ...query.measures].map(({ field }) => field);
  return !(
    filterAllowed(query.filter, collection, grant, sight) &&
    paths.every((path) => path === undefined || mayFollow(path, collection, grant, sight))
  );
}

function mayFollow(path: string, collection: CollectionModel, grant: Grant, sight: Visibility): boolean {
  const [name, rest] = splitPath(path);
  if (!grant.may(name)) return false;
  const next = step(name, collection, sight);
  if (next === 'field') return true;
  return next !== 'denied' && (rest === null || mayFollow(rest, next.collection, next.grant, sight));
}

/** One step along a relation: the permissions on its target. */
function step(
  name: string,
  collection: CollectionModel,
  sight: Visibility,
): 'field' | 'denied' | { collection: CollectionModel; grant: Grant } {
  const relation = findRelation(collection, name);
  if (!relation) return 'field';
  const grant = sight.targetGrant(relation);
  const foreignKey = findTargetForeignKey(relation);
  if (!sight.grant(collection, 'get')?.may(name) || !grant) return 'denied';
  if (foreignKey !== null && !grant.may(foreignKey)) return 'denied';
  return { collection: sight.collection(relation.target), grant };
}

function filterAllowed(filter: Filter, collection: CollectionModel, grant: Grant, sight: Visibility): boolean {
  return Object.entries(filter).every(([key, value]): boolean => {
    if (isEmpty({ [key]: value })) return true;
    if (key === '$and' || key === '$or')
      return (value as Filter[]).every((each) => filterAllowed(each, collection, grant, sight));
    if (key === '$not') return filterAllowed(value as Filter, collection, grant, sight);
    const [name, rest] = splitPath(key);
    if (!grant.may(name)) return false;
    const next = step(name, collection, sight);
    if (next === 'field') return true;
    if (next === 'denied') return false;
    const inner = rest === null ? value : { [rest]: value };
    return !isFilter(inner) || filterAllowed(inner, next.collection, next.grant, sight);
  });
}

/** Whether an object names fields, and is not a value or a condition on the relation itself. */
function isFilter(value: unknown): value is Filter {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).every((key) => !key.startsWith('$') || ['$and', '$or', '$not'].includes(key));
}
