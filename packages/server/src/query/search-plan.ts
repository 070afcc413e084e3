import { ApiError } from '../protocol/api-error.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { type Collection, type Field, getField, type Registry } from '../schema/registry.ts';
import { requireRelationAccess } from './filter-plan.ts';
import type { Grant, GrantLookup } from './grant.ts';
import { viewer } from './mail-viewer.ts';
import type { PlanContext } from './plan-context.ts';
import { both, type Operand, type Predicate } from './predicate.ts';
import { requireReadableField } from './read-access.ts';

/**
 * `search`: a text stands in one of the text fields that the role may read, or in one of `searchFields`.
 *
 * @throws ApiError 400 for fields that do not exist or hold no text, 403 for denied ones.
 */
export function planSearch(search: RecordRequest['search'], collection: Collection, grant: Grant): Predicate | null {
  if (search === null) return null;
  const fields =
    search.fields?.map((name) => requireTextField(requireReadableField(collection, name, grant))) ??
    readableTextFields(collection, grant);
  if (fields.length === 0) return { kind: 'never' };
  const operand: Operand = { form: 'scalar', read: ({ values }) => values[search.slot] };
  return { kind: 'any', of: fields.map((field) => ({ kind: 'test', field, operator: '$includes', operand })) };
}

/** The words of mail that a request asks for. Conversations are found by the e-mails in them. */
export function planFullText(
  fullText: RecordRequest['fullText'],
  collection: Collection,
  { registry, findGrant, fullText: index }: PlanContext,
): Predicate | null {
  if (fullText === null) return null;
  const expression: Operand = { form: 'scalar', read: ({ values }) => values[fullText.slot] };
  const matched: Predicate = { kind: 'matched', index, expression, viewer, plain: fullText.plain };
  if (collection.name === 'emails') return matched;
  const field = getField(collection, 'emails');
  const target = registry.get(field.relation!.target);
  const access = requireRelationAccess(field, collection, target, findGrant, registry);
  return { kind: 'related', source: collection, relation: field.relation!, target, of: both(access.target, matched) };
}

/**
 * The folders that a request asks for: e-mails that lie in one of them, conversations that have such e-mails.
 *
 * @throws ApiError 403 where the role may not read `folder` of e-mails.
 */
export function planFolders(
  folders: RecordRequest['folders'],
  collection: Collection,
  grant: Grant,
  registry: Registry,
  findGrant: GrantLookup,
): Predicate | null {
  const wanted = folders.map(({ slot, not }): Predicate => {
    const folder: Operand = { form: 'scalar', read: ({ values }) => values[slot] };
    const isInFolder = planFolder(folder, collection, grant, registry, findGrant);
    return not ? { kind: 'not', of: isInFolder } : isInFolder;
  });
  return wanted.length === 0 ? null : { kind: 'all', of: wanted };
}

function planFolder(
  folder: Operand,
  collection: Collection,
  grant: Grant,
  registry: Registry,
  findGrant: GrantLookup,
): Predicate {
  if (collection.name === 'emails') {
    requireReadableField(collection, 'folder', grant);
    return { kind: 'placed', folder, viewer, by: 'probe' };
  }
  const field = requireReadableField(collection, 'emails', grant);
  const target = registry.get(field.relation!.target);
  const access = requireRelationAccess(field, collection, target, findGrant, registry);
  requireReadableField(target, 'folder', access.grant);
  const of = both(access.target, { kind: 'placed', folder, viewer, by: 'list' });
  const related: Predicate = { kind: 'related', source: collection, relation: field.relation!, target, of };
  return access.parent ? { kind: 'all', of: [access.parent, related] } : related;
}

function readableTextFields(collection: Collection, grant: Grant): Field[] {
  return collection.fields.filter((field) => isText(field) && grant.may(field));
}

function isText({ type, hidden }: Field): boolean {
  return type.operators.has('text') && !type.secret && !hidden;
}

function requireTextField(field: Field): Field {
  if (isText(field)) return field;
  throw new ApiError(
    'OPERATOR_MISFIT',
    `"${field.name}" holds no text to be searched; it is a ${field.type.name} field.`,
  );
}
