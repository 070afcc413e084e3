import { isObject } from '../../protocol/json-text.ts';
import { invalidOperand } from '../../schema/field-type.ts';
import { type Collection, type Field, getField } from '../../schema/registry.ts';
import { readFieldValues } from '../read/field-values.ts';
import type { RecordContext } from '../record-context.ts';
import { canNestRecords, type RelationField } from './nested-check.ts';

/**
 * Replaces objects that only hold a key, `{"author": {"id": 7}}`, by the key: `{"author": 7}`. Then only the foreign
 * key is written. If the record does not exist and the caller may create one, the object is kept: it describes a new
 * record with that key.
 *
 * @param bodies they are checked with one statement for each relation.
 */
export async function replaceKeyObjects(
  context: RecordContext,
  collection: Collection,
  bodies: readonly unknown[],
): Promise<readonly unknown[]> {
  let replaced = bodies;
  for (const field of collection.fields)
    if (canNestRecords(field) && field.relation.kind === 'belongsTo')
      replaced = await replaceInField(context, field, replaced);
  return replaced;
}

/** The same as {@link replaceKeyObjects} for the only body of a request. */
export async function replaceKeyObjectsIn(
  context: RecordContext,
  collection: Collection,
  body: unknown,
): Promise<unknown> {
  const [replaced] = await replaceKeyObjects(context, collection, [body]);
  return replaced;
}

async function replaceInField(
  context: RecordContext,
  { name, relation }: RelationField,
  bodies: readonly unknown[],
): Promise<readonly unknown[]> {
  const { target: targetName, targetField } = relation;
  const soleKey = (body: unknown): unknown => {
    const value = isObject(body) ? body[name] : undefined;
    return isObject(value) && Object.keys(value).length === 1 ? value[targetField] : undefined;
  };
  if (!bodies.some((body) => soleKey(body) !== undefined)) return bodies;
  const target = context.registry.get(targetName);
  const keyField = getField(target, targetField);
  const keys = bodies.map((body) => canonicalKey(keyField, soleKey(body))).filter((key) => key !== invalidOperand);
  const grant =
    keys.length > 0 && context.findGrant(targetName, 'create') ? context.findGrant(targetName, 'get') : null;
  const found =
    grant && (await readFieldValues(context, { collection: target, name: targetField, grant, keyField }, keys));
  const existingKeys = found && new Set(found.map(({ value }) => String(value)));
  return bodies.map((body) => {
    const key = soleKey(body);
    if (key === undefined || !isObject(body)) return body;
    const wanted = canonicalKey(keyField, key);
    const isMissing = existingKeys && wanted !== invalidOperand && !existingKeys.has(String(wanted));
    return isMissing ? body : { ...body, [name]: key };
  });
}

/** A value as a key in canonical form. A value that cannot be a key is refused where values are checked. */
function canonicalKey({ type }: Field, key: unknown): unknown {
  return key === undefined || key === null || Array.isArray(key) ? invalidOperand : type.readOperand(key, false);
}
