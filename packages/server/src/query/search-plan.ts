import { ApiError } from '../protocol/api-error.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { type Collection, type Field, fieldOf, type Registry } from '../schema/registry.ts';
import { relatedAccess } from './filter-plan.ts';
import type { Grant, GrantOf } from './grant.ts';
import { viewer } from './mail-viewer.ts';
import { both, type Operand, type Predicate } from './predicate.ts';
import { namedField } from './read-access.ts';

/**
 * `search`: a text stands in one of the text fields that the role may read, or in one of `searchFields`.
 *
 * @throws ApiError 400 for fields that do not exist or hold no text, 403 for denied ones.
 */
export function planSearch(
  search: AskedRecordRequest['search'],
  collection: Collection,
  grant: Grant,
): Predicate | null {
  if (search === null) return null;
  const fields =
    search.fields?.map((name) => textField(namedField(collection, name, grant))) ?? readable(collection, grant);
  if (fields.length === 0) return { kind: 'never' };
  const operand: Operand = { form: 'scalar', read: ({ values }) => values[search.slot] };
  return { kind: 'any', of: fields.map((field) => ({ kind: 'test', field, operator: '$includes', operand })) };
}

/** The words of mail that a request asks for. Conversations are found by the e-mails in them. */
export function planWords(
  words: AskedRecordRequest['words'],
  collection: Collection,
  registry: Registry,
  grantOf: GrantOf,
): Predicate | null {
  if (words === null) return null;
  const expression: Operand = { form: 'scalar', read: ({ values }) => values[words.slot] };
  const matched: Predicate = { kind: 'matched', expression, viewer, plain: words.plain };
  if (collection.name === 'emails') return matched;
  const field = fieldOf(collection, 'emails');
  const target = registry.get(field.relation!.target);
  const access = relatedAccess(field, collection, target, grantOf, registry);
  return { kind: 'related', source: collection, relation: field.relation!, target, of: both(access.target, matched) };
}

/**
 * The folders that a request asks for: e-mails that lie in one of them, conversations that have such e-mails.
 *
 * @throws ApiError 403 where the role may not read `folder` of e-mails.
 */
export function planPlaced(
  placed: AskedRecordRequest['placed'],
  collection: Collection,
  grant: Grant,
  registry: Registry,
  grantOf: GrantOf,
): Predicate | null {
  const wanted = placed.map(({ slot, not }): Predicate => {
    const folder: Operand = { form: 'scalar', read: ({ values }) => values[slot] };
    const there = placedIn(folder, collection, grant, registry, grantOf);
    return not ? { kind: 'not', of: there } : there;
  });
  return wanted.length === 0 ? null : { kind: 'all', of: wanted };
}

function placedIn(
  folder: Operand,
  collection: Collection,
  grant: Grant,
  registry: Registry,
  grantOf: GrantOf,
): Predicate {
  if (collection.name === 'emails') {
    namedField(collection, 'folder', grant);
    return { kind: 'placed', folder, viewer, by: 'probe' };
  }
  const field = namedField(collection, 'emails', grant);
  const target = registry.get(field.relation!.target);
  const access = relatedAccess(field, collection, target, grantOf, registry);
  namedField(target, 'folder', access.grant);
  const of = both(access.target, { kind: 'placed', folder, viewer, by: 'list' });
  const related: Predicate = { kind: 'related', source: collection, relation: field.relation!, target, of };
  return access.parent ? { kind: 'all', of: [access.parent, related] } : related;
}

function readable(collection: Collection, grant: Grant): Field[] {
  return collection.fields.filter((field) => isText(field) && grant.may(field));
}

function isText({ type, hidden }: Field): boolean {
  return type.operators.has('text') && !type.secret && !hidden;
}

function textField(field: Field): Field {
  if (isText(field)) return field;
  throw new ApiError(
    'OPERATOR_MISFIT',
    `"${field.name}" holds no text to be searched; it is a ${field.type.name} field.`,
  );
}
