/**
 * Nested values: a body that names related records, or brings them with it. Each is written under the grants of its own
 * collection, all in one transaction.
 */
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isSameKey } from '../../protocol/exact-json.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest, requestByKeys } from '../../protocol/request-normaliser.ts';
import { invalidOperand } from '../../schema/field-type.ts';
import { type Collection, type Field, getField, type Relation } from '../../schema/registry.ts';
import { readFieldValues } from '../read/field-values.ts';
import { getRecord, requireGrant } from '../read/read-records.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import { getRules } from '../system/system-rules.ts';
import { refuseDeniedLists, refuseDeniedRelations } from '../write/denied-fields.ts';
import { createRecords, updateRecords, type WriteResult } from '../write/write-records.ts';
import type { IfMatch } from '../write/write-steps.ts';
import { changeLinks, type Link, readLinkedKeys } from './links.ts';
import { canNestRecords, checkNestedValues, hasNested, isNested } from './nested-check.ts';
import { type RecordRelation, readSourceValue, requireLinkable, resolveRelation } from './related-parent.ts';

type Body = Readonly<Record<string, unknown>>;

/** A body with its relations taken apart: those that come before the record, because it holds their key, and after it. */
interface SplitBody {
  readonly ownValues: Record<string, unknown>;
  readonly before: (readonly [Field, unknown])[];
  readonly after: (readonly [Field, unknown])[];
}

/** What a nested write carries along: how deep it is, and below which relations records that are there may change. */
interface Level {
  readonly depth: number;
  readonly mayUpdate: readonly string[];
}

/** Creates records with what their bodies bring along. */
export async function createWithNested(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  input: unknown,
): Promise<WriteResult> {
  const permitted = applyFieldLists(context, collection, 'create', input, request);
  const rules = getRules(collection);
  const bodies = await replaceKeyObjects(context, collection, Array.isArray(permitted) ? permitted : [permitted]);
  const body = Array.isArray(permitted) ? bodies : bodies[0];
  if (!bodies.some((each) => hasNested(each, collection)))
    return createRecords(context, collection, request, { body, rules });
  if (bodies.length > limits.bulkRecords)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `One create takes at most ${limits.bulkRecords} records, not ${bodies.length}.`,
    );
  checkNestedValues(context, collection, 'create', body);
  return inTransaction(context, async (tx) => {
    const level: Level = { depth: 0, mayUpdate: request.updateAssociationValues };
    const results: WriteResult[] = [];
    for (const [index, each] of bodies.entries())
      results.push(
        await createOne(tx, collection, request, each, level).catch(Array.isArray(body) ? atIndex(index) : rethrow),
      );
    if (!Array.isArray(body)) return results[0]!;
    return {
      data: `[${results.map((each) => each.data).join(',')}]`,
      counter: null,
      keys: results.flatMap((each) => each.keys),
    };
  });
}

/** Updates records; what a body brings along goes with one record alone. */
export async function updateWithNested(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  input: unknown,
  match: IfMatch,
): Promise<WriteResult> {
  const [body] = await replaceKeyObjects(context, collection, [
    applyFieldLists(context, collection, 'update', input, request),
  ]);
  if (!hasNested(body, collection))
    return updateRecords(context, collection, request, { body, match, rules: getRules(collection) });
  const key = parseKey(request.filterByTk, collection);
  if (key === undefined || Array.isArray(key))
    throw new ApiError('BODY_INVALID', 'Nested values go with one record: name it by filterByTk.');
  checkNestedValues(context, collection, 'update', body);
  const level: Level = { depth: 0, mayUpdate: request.updateAssociationValues };
  return inTransaction(context, (tx) => updateOne(tx, collection, request, key, body as Body, match, level));
}

/**
 * `whitelist` and `blacklist`: what they leave out of a body is dropped.
 *
 * @throws ApiError `FIELD_DENIED` where they, or `updateAssociationValues`, name what the role may not write.
 */
export function applyFieldLists(
  context: RecordContext,
  collection: Collection,
  action: 'create' | 'update',
  body: unknown,
  request: Pick<RecordRequest, 'whitelist' | 'blacklist' | 'updateAssociationValues'>,
): unknown {
  refuseDeniedLists(context, collection, request, action);
  const { whitelist, blacklist } = request;
  if (whitelist === null && blacklist.length === 0) return body;
  if (Array.isArray(body))
    return body.map((each) => (isObject(each) ? pickAllowedFields(each, whitelist, blacklist) : each));
  return isObject(body) ? pickAllowedFields(body, whitelist, blacklist) : body;
}

function pickAllowedFields(body: Body, whitelist: readonly string[] | null, blacklist: readonly string[]): Body {
  const isAllowed = ([name]: [string, unknown]): boolean =>
    (whitelist === null || whitelist.includes(name)) && !blacklist.includes(name);
  return Object.fromEntries(Object.entries(body).filter(isAllowed));
}

/**
 * Bodies in which an object that holds a key alone, `{id: 7}`, stands as the key where the record is there: then its
 * foreign key is all there is to write. Else it is a record to be made, for who may make one.
 */
async function replaceKeyObjects(
  context: RecordContext,
  collection: Collection,
  bodies: readonly unknown[],
): Promise<readonly unknown[]> {
  let all = bodies;
  for (const field of collection.fields)
    if (field.relation?.kind === 'belongsTo' && canNestRecords(field))
      all = await replaceKeyObjectsOfField(context, field, field.relation, all);
  return all;
}

/** @see replaceKeyObjects, for one relation: one look for all bodies. */
async function replaceKeyObjectsOfField(
  context: RecordContext,
  { name }: Field,
  { target: targetName, targetField }: Relation,
  bodies: readonly unknown[],
): Promise<readonly unknown[]> {
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
    const wanted = canonicalKey(keyField, key);
    const isMissing = existingKeys && wanted !== invalidOperand && !existingKeys.has(String(wanted));
    return key === undefined || isMissing ? body : { ...(body as Body), [name]: key };
  });
}

/** A value as the key of a record; what cannot be one is refused where values are checked. */
function canonicalKey({ type }: Field, key: unknown): unknown {
  return key === undefined || key === null || Array.isArray(key) ? invalidOperand : type.readOperand(key, false);
}

function splitBody(body: Body, collection: Collection): SplitBody {
  const ownValues: Record<string, unknown> = {};
  const before: [Field, unknown][] = [];
  const after: [Field, unknown][] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = collection.byName.get(name);
    if (!isNested(field, value)) ownValues[name] = value;
    else (field.relation!.kind === 'belongsTo' ? before : after).push([field, value]);
  }
  return { ownValues, before, after };
}

async function createOne(
  tx: TransactionContext,
  collection: Collection,
  request: RecordRequest,
  body: unknown,
  level: Level,
): Promise<WriteResult> {
  const rules = getRules(collection);
  if (!isObject(body) || !hasNested(body, collection)) return createRecords(tx, collection, request, { body, rules });
  const { ownValues, before, after } = splitBody(body, collection);
  refuseDeniedRelations(
    tx,
    collection,
    before.concat(after).map(([field]) => field),
    'create',
  );
  await linkParents(tx, ownValues, before, level);
  const created = await createRecords(tx, collection, request, { body: ownValues, rules });
  const [key] = created.keys;
  await linkChildren(tx, collection, key, after, level);
  return rereadRecord(tx, collection, request, key, created);
}

async function updateOne(
  tx: TransactionContext,
  collection: Collection,
  request: RecordRequest,
  key: unknown,
  body: Body,
  match: IfMatch,
  level: Level,
): Promise<WriteResult> {
  const { ownValues, before, after } = splitBody(body, collection);
  refuseDeniedRelations(
    tx,
    collection,
    before.concat(after).map(([field]) => field),
    'update',
  );
  await linkParents(tx, ownValues, before, level);
  const changed = await updateRecords(tx, collection, request, { body: ownValues, match, rules: getRules(collection) });
  await unlinkReplaced(tx, collection, key, after);
  await linkChildren(tx, collection, key, after, level);
  return rereadRecord(tx, collection, request, key, changed);
}

/** What the caller's get shows after all is written, with what was linked since. */
async function rereadRecord(
  tx: TransactionContext,
  collection: Collection,
  { fields, except, appends }: RecordRequest,
  key: unknown,
  written: WriteResult,
): Promise<WriteResult> {
  if (!tx.findGrant(collection.name, 'get')) return written;
  const getParameters = { filterByTk: key, appends, ...(fields && { fields }), ...(except && { except }) };
  try {
    const { data, counter } = await getRecord(tx, collection, normaliseRequest('get', getParameters, false));
    return { ...written, data, counter: written.counter === null ? null : counter };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NO_PERMISSION') return written;
    throw error;
  }
}

async function linkParents(
  tx: TransactionContext,
  ownValues: Record<string, unknown>,
  before: SplitBody['before'],
  level: Level,
): Promise<void> {
  for (const [field, value] of before) {
    const { sourceField, targetField, target: name } = field.relation!;
    const target = tx.registry.get(name);
    const key = await targetKey(tx, target, value, descend(level, field), {}).catch(prefixErrorPath(field.name));
    const grant = requireGrant(tx, target, 'get');
    const [found] = await readFieldValues(tx, { collection: target, name: targetField, grant }, [key]);
    if (!found)
      throw new ApiError('REFERENCE_MISSING', `"${field.name}" names a record of ${name} that does not exist.`);
    const named = requireLinkable(found.value, field);
    if (sourceField in ownValues && !isSameKey(ownValues[sourceField], named))
      throw new ApiError('BODY_INVALID', `"${field.name}" and "${sourceField}" name different records.`);
    ownValues[sourceField] = named;
  }
}

async function linkChildren(
  tx: TransactionContext,
  collection: Collection,
  key: unknown,
  after: SplitBody['after'],
  level: Level,
): Promise<void> {
  for (const [field, value] of after) {
    const related = resolveRelation(tx, collection, field.name, key);
    const links = await resolveLinks(tx, related, value, descend(level, field));
    await changeLinks(tx, related, 'set', links);
  }
}

/** A hasOne has room for one: a record that an object brings takes the place of the one before it. */
async function unlinkReplaced(
  tx: TransactionContext,
  collection: Collection,
  key: unknown,
  after: SplitBody['after'],
): Promise<void> {
  for (const [field, value] of after) {
    if (field.relation!.kind !== 'hasOne' || !isObject(value)) continue;
    const related = resolveRelation(tx, collection, field.name, key);
    const [current] = await readLinkedKeys(tx, related);
    const isUnchanged = current === undefined || String(value[related.target.primaryKey.name]) === String(current);
    if (!isUnchanged) await changeLinks(tx, related, 'remove', []);
  }
}

/** A to-many value replaces the set, null clears it. */
async function resolveLinks(
  tx: TransactionContext,
  related: RecordRelation,
  value: unknown,
  level: Level,
): Promise<Link[]> {
  const { relation, field, target, source } = related;
  if (value === null) return [];
  if (relation.many !== Array.isArray(value))
    throw new ApiError('BODY_INVALID', `"${field.name}" takes ${relation.many ? 'a list of records' : 'one record'}.`);
  const list = (Array.isArray(value) ? value : [value]) as unknown[];
  if (list.length > limits.bulkRecords)
    throw new ApiError('LIMIT_EXCEEDED', `"${field.name}" takes at most ${limits.bulkRecords} records.`);
  if (list.length === 0) return [];
  // The foreign key may be required, so what is made is linked from the start.
  const linked = relation.through
    ? {}
    : {
        [relation.targetField]: requireLinkable(
          await readSourceValue(tx, related, requireGrant(tx, source, 'get')),
          field,
        ),
      };
  const links: Link[] = [];
  for (const [index, each] of list.entries()) {
    const name = relation.many ? `${field.name}[${index}]` : field.name;
    links.push({ key: await targetKey(tx, target, each, level, linked).catch(prefixErrorPath(name)), join: null });
  }
  return [...new Map(links.map((link) => [String(link.key), link])).values()];
}

/**
 * The key of a nested record: named by a key; there by its key, and changed where that is asked for; or made.
 *
 * @param linked values that a record must have from its first moment on.
 */
async function targetKey(
  tx: TransactionContext,
  target: Collection,
  value: unknown,
  level: Level,
  linked: Body,
): Promise<unknown> {
  const { name, type } = target.primaryKey;
  if (!isObject(value)) {
    const key = value === null || Array.isArray(value) ? invalidOperand : type.readOperand(value, false);
    if (key === invalidOperand)
      throw new ApiError('BODY_INVALID', `Name a record of ${target.name} by its key, or give an object.`);
    return key;
  }
  const { [name]: given, ...rest } = value;
  const key = given === undefined || given === null ? undefined : type.readOperand(given, false);
  if (key === invalidOperand) throw new ApiError('BODY_INVALID', `"${name}" is no key of ${target.name}.`);
  const exists = key !== undefined && (await hasRecord(tx, target, key));
  if (!exists) {
    for (const [field, wanted] of Object.entries(linked))
      if (value[field] !== undefined && !isSameKey(value[field], wanted))
        throw new ApiError('BODY_INVALID', `"${field}" names another record than the one it stands in.`);
    const [ready] = await replaceKeyObjects(tx, target, [{ ...value, ...linked }]);
    const created = await createOne(tx, target, emptyRequest, ready, level);
    return created.keys[0];
  }
  if (Object.keys(rest).length === 0) return key;
  if (!level.mayUpdate.includes(''))
    throw new ApiError(
      'BODY_INVALID',
      `The record ${String(key)} of ${target.name} is there; it is changed where updateAssociationValues names the relation.`,
    );
  const [ready] = await replaceKeyObjects(tx, target, [rest]);
  await updateOne(tx, target, requestByKeys('update', key), key, ready as Body, null, level);
  return key;
}

const emptyRequest = normaliseRequest('create', {}, false);

async function hasRecord(tx: TransactionContext, target: Collection, key: unknown): Promise<boolean> {
  const grant = tx.findGrant(target.name, 'get');
  if (grant === null) return false;
  const found = await readFieldValues(tx, { collection: target, name: target.primaryKey.name, grant }, [key]);
  return found.length > 0;
}

/** One relation deeper: what `updateAssociationValues` says of the paths below it. */
function descend({ depth, mayUpdate }: Level, field: Field): Level {
  if (depth >= limits.pathDepth)
    throw new ApiError('LIMIT_EXCEEDED', `Nested values go at most ${limits.pathDepth} deep.`);
  const deeper = mayUpdate.flatMap((path) => {
    if (path === field.name) return [''];
    return path.startsWith(`${field.name}.`) ? [path.slice(field.name.length + 1)] : [];
  });
  return { depth: depth + 1, mayUpdate: deeper };
}

/** Tells an error's details at their place in the body. */
function prefixErrorPath(errorPath: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError) || !error.details) throw error;
    const details = Object.entries(error.details).map(([path, text]) => [
      path.startsWith('[') ? `${errorPath}${path}` : `${errorPath}.${path}`,
      text,
    ]);
    const prefixed = Object.fromEntries(details) as Record<string, string>;
    if (error.code === 'VALUE_INVALID') throw invalidValues(prefixed);
    throw new ApiError(error.code, error.message, { details: prefixed });
  };
}

function atIndex(index: number): (error: unknown) => never {
  return prefixErrorPath(`[${index}]`);
}

function rethrow(error: unknown): never {
  throw error;
}
