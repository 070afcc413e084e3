/**
 * Names that a write may not use, refused before anything is looked for: the answer to a denied name depends on the schema
 * and the role alone, never on what is there.
 */
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { permissionDenied } from '../../query/read-access.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';

type WriteGrant = 'create' | 'update';

/**
 * @throws ApiError `FIELD_DENIED` for a field in `whitelist` or `updateAssociationValues` that the role may not write; 400
 * for a path in `updateAssociationValues` that names no relations.
 */
export function refuseDeniedLists(
  context: RecordContext,
  collection: Collection,
  { whitelist, updateAssociationValues }: Pick<RecordRequest, 'whitelist' | 'updateAssociationValues'>,
  action: WriteGrant,
): void {
  if (whitelist === null && updateAssociationValues.length === 0) return;
  const relations = updateAssociationValues.map((path) => path.split('.', 1)[0]!);
  for (const name of [...(whitelist ?? []), ...relations]) {
    const field = collection.byName.get(name);
    if (field && !field.serverManaged && !mayWrite(context, collection, field, action))
      throw fieldWriteDenied(collection, field);
  }
  for (const path of updateAssociationValues) requireRelations(context, collection, path);
}

/** Beyond the first step a path reads the definition of the target, so the role must be one that may follow it. */
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

/** @throws ApiError `FIELD_DENIED` for a relation of a body that the role may not write. */
export function refuseDeniedRelations(
  context: RecordContext,
  collection: Collection,
  fields: readonly Field[],
  action: WriteGrant,
): void {
  const field = fields.find((each) => !mayWrite(context, collection, each, action));
  if (field) throw fieldWriteDenied(collection, field);
}

/**
 * @param actions all that the write may turn out to be; a field must be free for each.
 * @throws ApiError `FIELD_DENIED` for a field of a body, or of a record nested in it, that the role may not write.
 */
export function refuseDeniedBody(
  context: RecordContext,
  collection: Collection,
  body: unknown,
  actions: readonly WriteGrant[],
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
    for (const each of Array.isArray(value) ? value : [value])
      refuseDeniedBody(context, target, each, isNewRecord(each, target) ? ['create'] : [], depth + 1);
  }
}

/** Whether a nested value is a new record; one with a key may be there. */
function isNewRecord(value: unknown, { primaryKey }: Collection): boolean {
  return isObject(value) && value[primaryKey.name] === undefined;
}

/** Relations that lie elsewhere are followed under the get grant; that they may be changed is asked where they lie. */
function mayWrite({ findGrant }: RecordContext, { name }: Collection, field: Field, action: WriteGrant): boolean {
  const isElsewhere = field.relation !== null && field.relation.kind !== 'belongsTo';
  return findGrant(name, isElsewhere ? 'get' : action)?.may(field) ?? true;
}

function fieldWriteDenied({ name }: Collection, field: Field): ApiError {
  return new ApiError('FIELD_DENIED', `The role may not write "${field.name}" of ${name}.`);
}
