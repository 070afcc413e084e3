/**
 * Refuses fields that the role may not write, before any record is read: the reply to a denied field depends only on the
 * definitions and the role, never on which records exist.
 */
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { permissionDenied } from '../../query/read-access.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';

type WriteAction = 'create' | 'update';

/** A write of fields of a collection. */
export interface FieldWrite {
  readonly context: RecordContext;
  readonly collection: Collection;
  readonly action: WriteAction;
}

/**
 * Checks the fields that the parameters of a write name.
 *
 * @throws ApiError `FIELD_DENIED` for a field in `whitelist` or `updateAssociationValues` that the role may not write; 400
 *   for a path in `updateAssociationValues` that is not one of relations.
 */
export function refuseDeniedLists(
  { context, collection, action }: FieldWrite,
  { whitelist, updateAssociationValues }: Pick<RecordRequest, 'whitelist' | 'updateAssociationValues'>,
): void {
  if (whitelist === null && updateAssociationValues.length === 0) return;
  const relations = updateAssociationValues.flatMap((path) => path.split('.', 1));
  for (const name of [...(whitelist ?? []), ...relations]) {
    const field = collection.byName.get(name);
    if (field && !field.serverManaged && !mayWrite(context, collection, field, action))
      throw fieldWriteDenied(collection, field);
  }
  for (const path of updateAssociationValues) requireRelations(context, collection, path);
}

/** After its first relation, a path reveals the definition of the target, so the role needs the grants to follow it. */
function requireRelations(context: RecordContext, root: Collection, path: string): void {
  let collection = root;
  for (const [depth, name] of path.split('.').entries()) {
    if (depth > 0 && !context.findGrant(collection.name, 'get')) throw permissionDenied(collection.name, 'get');
    const field = collection.byName.get(name);
    if (!field || field.hidden)
      throw new ApiError('FIELD_UNKNOWN', `${collection.name} has no field "${name.slice(0, 60)}".`);
    if (depth > 0 && !field.serverManaged && !mayWrite(context, collection, field, 'update'))
      throw fieldWriteDenied(collection, field);
    if (!field.relation)
      throw new ApiError(
        'RELATION_UNKNOWN',
        `"updateAssociationValues" must name relations; "${path.slice(0, 120)}" is not a relation.`,
      );
    collection = context.registry.get(field.relation.target);
  }
}

/** Checks the relations of a body with nested values. @throws ApiError `FIELD_DENIED` if the role may not write one. */
export function refuseDeniedRelations({ context, collection, action }: FieldWrite, fields: readonly Field[]): void {
  const field = fields.find((each) => !mayWrite(context, collection, each, action));
  if (field) throw fieldWriteDenied(collection, field);
}

/**
 * Checks the fields of a body and of the records nested in it.
 *
 * @param actions that the write may turn out to be; the role must be allowed to write a field in each of them.
 * @throws ApiError `FIELD_DENIED` naming the field.
 */
export function refuseDeniedBody(
  context: RecordContext,
  { collection, body }: { readonly collection: Collection; readonly body: unknown },
  actions: readonly WriteAction[],
  depth = 0,
): void {
  if (!isObject(body) || depth > limits.pathDepth) return;
  for (const [name, value] of Object.entries(body)) {
    const field = collection.byName.get(name);
    if (!field || field.serverManaged) continue;
    if (!actions.every((action) => mayWrite(context, collection, field, action)))
      throw fieldWriteDenied(collection, field);
    if (!field.relation) continue;
    const target = context.registry.get(field.relation.target);
    for (const nested of Array.isArray(value) ? value : [value])
      refuseDeniedBody(
        context,
        { collection: target, body: nested },
        isNewRecord(nested, target) ? ['create'] : [],
        depth + 1,
      );
  }
}

/** Whether a nested value is certainly a new record: one with a key may already exist. */
function isNewRecord(value: unknown, { primaryKey }: Collection): boolean {
  return isObject(value) && value[primaryKey.name] === undefined;
}

/** Relations without a column of their own need the get grant here; the write to the other collection has its own checks. */
function mayWrite({ findGrant }: RecordContext, { name }: Collection, field: Field, action: WriteAction): boolean {
  const isForeign = field.relation !== null && field.relation.kind !== 'belongsTo';
  return findGrant(name, isForeign ? 'get' : action)?.may(field) ?? true;
}

function fieldWriteDenied({ name }: Collection, field: Field): ApiError {
  return new ApiError('FIELD_DENIED', `The role may not write "${field.name}" of ${name}.`);
}
