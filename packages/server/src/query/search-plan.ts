import { ApiError } from '../protocol/api-error.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { requireRelation } from '../schema/field-parts.ts';
import { type Collection, type Field, getField, type Relation } from '../schema/registry.ts';
import { planRows, type RelationAccess, requireRelationAccess } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import type { AccessContext, PlanContext } from './plan-context.ts';
import { both, type Operand, type Predicate } from './predicate.ts';
import { requireReadableField } from './read-access.ts';
import { viewer } from './visibility.ts';

/**
 * `search`: one of the text fields that the role may read contains a text; with `searchFields`, one of those fields.
 *
 * @throws ApiError 400 for fields that do not exist or do not contain text, 403 for denied ones.
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

/**
 * The full-text search of a request. Conversations are found by the e-mails in them. The index contains texts and files, which a get
 * shows and a list does not, so only e-mails that the caller may get are found.
 */
export function planFullText(
  fullText: RecordRequest['fullText'],
  collection: Collection,
  context: PlanContext,
): Predicate | null {
  if (fullText === null) return null;
  const expression: Operand = { form: 'scalar', read: ({ values }) => values[fullText.slot] };
  const matched: Predicate = { kind: 'matched', index: context.fullText, expression, viewer, plain: fullText.plain };
  const through = getIndexedRelation(collection);
  const gettable = planGettableRows(collection, context);
  if (through === null) return both(matched, gettable);
  const { relation, target, access } = followRelation(getField(collection, through), collection, context);
  const of = both(both(access.target, planGettableRows(target, context)), matched);
  return both({ kind: 'related', source: collection, relation, target, of }, gettable);
}

/** The rows that a get shows; null if it shows those of a list, or none. */
function planGettableRows(collection: Collection, { findGrant, registry }: AccessContext): Predicate | null {
  const get = findGrant(collection.name, 'get');
  if (get === null || get.identity === findGrant(collection.name, 'list')?.identity) return null;
  return planRows(get.rows, collection, registry);
}

/**
 * The folders in a request: e-mails that are in one of them, or conversations that have such e-mails.
 *
 * @throws ApiError 403 if the role may not read `folder` of e-mails.
 */
export function planFolders(
  folders: RecordRequest['folders'],
  collection: Collection,
  grant: Grant,
  context: AccessContext,
): Predicate | null {
  const wanted = folders.map(({ slot, not }): Predicate => {
    const folder: Operand = { form: 'scalar', read: ({ values }) => values[slot] };
    const isInFolder = planFolder(folder, collection, grant, context);
    return not ? { kind: 'not', of: isInFolder } : isInFolder;
  });
  return wanted.length === 0 ? null : { kind: 'all', of: wanted };
}

/** The relation that leads to the records in the full-text index; null if they are the collection's own. */
function getIndexedRelation({ name, traits }: Collection): string | null {
  if (!traits.fullText) throw new Error(`${name} has no full-text index`);
  return traits.fullText.through;
}

function planFolder(folder: Operand, collection: Collection, grant: Grant, context: AccessContext): Predicate {
  const through = getIndexedRelation(collection);
  if (through === null) {
    requireReadableField(collection, 'folder', grant);
    return { kind: 'placed', folder, viewer, by: 'probe' };
  }
  const field = requireReadableField(collection, through, grant);
  const { relation, target, access } = followRelation(field, collection, context);
  requireReadableField(target, 'folder', access.grant);
  const of = both(access.target, { kind: 'placed', folder, viewer, by: 'list' });
  const related: Predicate = { kind: 'related', source: collection, relation, target, of };
  return access.parent ? { kind: 'all', of: [access.parent, related] } : related;
}

/** A relation to the records in the full-text index, and what the caller may see of them. */
function followRelation(field: Field, collection: Collection, context: AccessContext): FollowedRelation {
  const relation = requireRelation(field);
  const target = context.registry.get(relation.target);
  return { relation, target, access: requireRelationAccess(field, collection, target, context) };
}

interface FollowedRelation {
  readonly relation: Relation;
  readonly target: Collection;
  readonly access: RelationAccess;
}

function readableTextFields(collection: Collection, grant: Grant): Field[] {
  return collection.fields.filter((field) => isText(field) && grant.may(field));
}

function isText({ type, hidden }: Field): boolean {
  return type.operators.has('text') && !type.secret && !hidden;
}

function requireTextField(field: Field): Field {
  if (isText(field)) return field;
  throw new ApiError('OPERATOR_MISFIT', `"${field.name}" cannot be searched: it has the type ${field.type.name}.`);
}
