/**
 * Nested values: a body that names related records, or brings them with it. Each is written under the grants of its own
 * collection, all in one transaction.
 */
import { ApiError, invalidValues } from '../protocol/api-error.ts';
import { isSameKey } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { normaliseRequest, requestByKeys } from '../protocol/request-normaliser.ts';
import { misfit } from '../schema/field-type.ts';
import { type Collection, type Field, fieldOf, type Relation } from '../schema/registry.ts';
import { refuseDeniedLists, refuseDeniedRelations } from './denied-names.ts';
import { changeLinks, type Link, linkedKeys } from './links.ts';
import { bringsRecords, checkNestedValues, hasNested, isNested } from './nested-check.ts';
import { getRecord, requireGrant } from './read-records.ts';
import { type RecordContext, together } from './record-context.ts';
import { keyOf } from './record-key.ts';
import { linkable, type Related, relatedOf, sourceValue, valuesOf } from './related-parent.ts';
import { rulesOf } from './system/rules-of.ts';
import { createRecords, updateRecords, type WriteResult } from './write-records.ts';
import type { Match } from './write-steps.ts';

type Body = Readonly<Record<string, unknown>>;

/** A body with its relations taken apart: those that come before the record, because it holds their key, and after it. */
interface Split {
  readonly own: Record<string, unknown>;
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
  request: AskedRecordRequest,
  input: unknown,
): Promise<WriteResult> {
  const asked = allowed(context, collection, 'create', input, request);
  const rules = rulesOf(collection);
  const bodies = await withKeys(context, collection, Array.isArray(asked) ? asked : [asked]);
  const body = Array.isArray(asked) ? bodies : bodies[0];
  if (!bodies.some((each) => hasNested(each, collection)))
    return createRecords(context, collection, request, body, rules);
  if (bodies.length > limits.bulkRecords)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `One create takes at most ${limits.bulkRecords} records, not ${bodies.length}.`,
    );
  checkNestedValues(context, collection, 'create', body);
  return together(context, async (inside) => {
    const level: Level = { depth: 0, mayUpdate: request.updateAssociationValues };
    const results: WriteResult[] = [];
    for (const [index, each] of bodies.entries())
      results.push(
        await createOne(inside, collection, request, each, level).catch(Array.isArray(body) ? at(index) : rethrow),
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
  request: AskedRecordRequest,
  input: unknown,
  match: Match,
): Promise<WriteResult> {
  const [body] = await withKeys(context, collection, [allowed(context, collection, 'update', input, request)]);
  if (!hasNested(body, collection))
    return updateRecords(context, collection, request, body, match, rulesOf(collection));
  const key = keyOf(request.filterByTk, collection);
  if (key === undefined || Array.isArray(key))
    throw new ApiError('BODY_INVALID', 'Nested values go with one record: name it by filterByTk.');
  checkNestedValues(context, collection, 'update', body);
  const level: Level = { depth: 0, mayUpdate: request.updateAssociationValues };
  return together(context, (inside) => updateOne(inside, collection, request, key, body as Body, match, level));
}

/**
 * `whitelist` and `blacklist`: what they leave out of a body is dropped.
 *
 * @throws ApiError `FIELD_DENIED` where they, or `updateAssociationValues`, name what the role may not write.
 */
export function allowed(
  context: RecordContext,
  collection: Collection,
  action: 'create' | 'update',
  body: unknown,
  request: Pick<AskedRecordRequest, 'whitelist' | 'blacklist' | 'updateAssociationValues'>,
): unknown {
  refuseDeniedLists(context, collection, request, action);
  const { whitelist, blacklist } = request;
  if (whitelist === null && blacklist.length === 0) return body;
  if (Array.isArray(body)) return body.map((each) => (isObject(each) ? allowedOf(each, whitelist, blacklist) : each));
  return isObject(body) ? allowedOf(body, whitelist, blacklist) : body;
}

function allowedOf(body: Body, whitelist: readonly string[] | null, blacklist: readonly string[]): Body {
  const kept = ([name]: [string, unknown]): boolean =>
    (whitelist === null || whitelist.includes(name)) && !blacklist.includes(name);
  return Object.fromEntries(Object.entries(body).filter(kept));
}

/**
 * Bodies in which an object that holds a key alone, `{id: 7}`, stands as the key where the record is there: then its
 * foreign key is all there is to write. Else it is a record to be made, for who may make one.
 */
async function withKeys(
  context: RecordContext,
  collection: Collection,
  bodies: readonly unknown[],
): Promise<readonly unknown[]> {
  let all = bodies;
  for (const field of collection.fields)
    if (field.relation?.kind === 'belongsTo' && bringsRecords(field))
      all = await withKeysOf(context, field, field.relation, all);
  return all;
}

/** @see withKeys, for one relation: one look for all bodies. */
async function withKeysOf(
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
  const by = fieldOf(target, targetField);
  const keys = bodies.map((body) => canonical(by, soleKey(body))).filter((key) => key !== misfit);
  const grant = keys.length > 0 && context.grantOf(targetName, 'create') ? context.grantOf(targetName, 'get') : null;
  const found = grant && (await valuesOf(context, target, keys, targetField, grant, by));
  const there = found && new Set(found.map(({ value }) => String(value)));
  return bodies.map((body) => {
    const key = soleKey(body);
    const wanted = canonical(by, key);
    const made = there && wanted !== misfit && !there.has(String(wanted));
    return key === undefined || made ? body : { ...(body as Body), [name]: key };
  });
}

/** A value as the key of a record; what cannot be one is refused where values are checked. */
function canonical({ type }: Field, key: unknown): unknown {
  return key === undefined || key === null || Array.isArray(key) ? misfit : type.readOperand(key, false);
}

function split(body: Body, collection: Collection): Split {
  const own: Record<string, unknown> = {};
  const before: [Field, unknown][] = [];
  const after: [Field, unknown][] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = collection.byName.get(name);
    if (!isNested(field, value)) own[name] = value;
    else (field.relation!.kind === 'belongsTo' ? before : after).push([field, value]);
  }
  return { own, before, after };
}

async function createOne(
  inside: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  body: unknown,
  level: Level,
): Promise<WriteResult> {
  const rules = rulesOf(collection);
  if (!isObject(body) || !hasNested(body, collection)) return createRecords(inside, collection, request, body, rules);
  const { own, before, after } = split(body, collection);
  refuseDeniedRelations(
    inside,
    collection,
    before.concat(after).map(([field]) => field),
    'create',
  );
  await linkBefore(inside, own, before, level);
  const made = await createRecords(inside, collection, request, own, rules);
  const [key] = made.keys;
  await linkAfter(inside, collection, key, after, level);
  return reread(inside, collection, request, key, made);
}

async function updateOne(
  inside: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  key: unknown,
  body: Body,
  match: Match,
  level: Level,
): Promise<WriteResult> {
  const { own, before, after } = split(body, collection);
  refuseDeniedRelations(
    inside,
    collection,
    before.concat(after).map(([field]) => field),
    'update',
  );
  await linkBefore(inside, own, before, level);
  const changed = await updateRecords(inside, collection, request, own, match, rulesOf(collection));
  await freePlaces(inside, collection, key, after);
  await linkAfter(inside, collection, key, after, level);
  return reread(inside, collection, request, key, changed);
}

/** What the caller's get shows after all is written, with what was linked since. */
async function reread(
  inside: RecordContext,
  collection: Collection,
  { fields, except, appends }: AskedRecordRequest,
  key: unknown,
  written: WriteResult,
): Promise<WriteResult> {
  if (!inside.grantOf(collection.name, 'get')) return written;
  const shown = { filterByTk: key, appends, ...(fields && { fields }), ...(except && { except }) };
  try {
    const { data, counter } = await getRecord(inside, collection, normaliseRequest('get', shown, false));
    return { ...written, data, counter: written.counter === null ? null : counter };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NO_PERMISSION') return written;
    throw error;
  }
}

async function linkBefore(
  inside: RecordContext,
  own: Record<string, unknown>,
  before: Split['before'],
  level: Level,
): Promise<void> {
  for (const [field, value] of before) {
    const { sourceField, targetField, target: name } = field.relation!;
    const target = inside.registry.get(name);
    const key = await targetKey(inside, target, value, under(level, field), {}).catch(below(field.name));
    const grant = requireGrant(inside, target, 'get');
    const [found] = await valuesOf(inside, target, [key], targetField, grant);
    if (!found)
      throw new ApiError('REFERENCE_MISSING', `"${field.name}" names a record of ${name} that does not exist.`);
    const named = linkable(found.value, field);
    if (sourceField in own && !isSameKey(own[sourceField], named))
      throw new ApiError('BODY_INVALID', `"${field.name}" and "${sourceField}" name different records.`);
    own[sourceField] = named;
  }
}

async function linkAfter(
  inside: RecordContext,
  collection: Collection,
  key: unknown,
  after: Split['after'],
  level: Level,
): Promise<void> {
  for (const [field, value] of after) {
    const related = relatedOf(inside, collection, field.name, key);
    const links = await linksIn(inside, related, value, under(level, field));
    await changeLinks(inside, related, 'set', links);
  }
}

/** A hasOne has room for one: a record that an object brings takes the place of the one before it. */
async function freePlaces(
  inside: RecordContext,
  collection: Collection,
  key: unknown,
  after: Split['after'],
): Promise<void> {
  for (const [field, value] of after) {
    if (field.relation!.kind !== 'hasOne' || !isObject(value)) continue;
    const related = relatedOf(inside, collection, field.name, key);
    const [current] = await linkedKeys(inside, related);
    const stays = current === undefined || String(value[related.target.primaryKey.name]) === String(current);
    if (!stays) await changeLinks(inside, related, 'remove', []);
  }
}

/** A to-many value replaces the set, null clears it. */
async function linksIn(inside: RecordContext, related: Related, value: unknown, level: Level): Promise<Link[]> {
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
        [relation.targetField]: linkable(
          await sourceValue(inside, related, requireGrant(inside, source, 'get')),
          field,
        ),
      };
  const links: Link[] = [];
  for (const [index, each] of list.entries()) {
    const name = relation.many ? `${field.name}[${index}]` : field.name;
    links.push({ key: await targetKey(inside, target, each, level, linked).catch(below(name)), join: null });
  }
  return [...new Map(links.map((link) => [String(link.key), link])).values()];
}

/**
 * The key of a nested record: named by a key; there by its key, and changed where that is asked for; or made.
 *
 * @param linked values that a record must have from its first moment on.
 */
async function targetKey(
  inside: RecordContext,
  target: Collection,
  value: unknown,
  level: Level,
  linked: Body,
): Promise<unknown> {
  const { name, type } = target.primaryKey;
  if (!isObject(value)) {
    const key = value === null || Array.isArray(value) ? misfit : type.readOperand(value, false);
    if (key === misfit)
      throw new ApiError('BODY_INVALID', `Name a record of ${target.name} by its key, or give an object.`);
    return key;
  }
  const { [name]: given, ...rest } = value;
  const key = given === undefined || given === null ? undefined : type.readOperand(given, false);
  if (key === misfit) throw new ApiError('BODY_INVALID', `"${name}" is no key of ${target.name}.`);
  const there = key !== undefined && (await isThere(inside, target, key));
  if (!there) {
    for (const [field, wanted] of Object.entries(linked))
      if (value[field] !== undefined && !isSameKey(value[field], wanted))
        throw new ApiError('BODY_INVALID', `"${field}" names another record than the one it stands in.`);
    const [ready] = await withKeys(inside, target, [{ ...value, ...linked }]);
    const made = await createOne(inside, target, emptyRequest, ready, level);
    return made.keys[0];
  }
  if (Object.keys(rest).length === 0) return key;
  if (!level.mayUpdate.includes(''))
    throw new ApiError(
      'BODY_INVALID',
      `The record ${String(key)} of ${target.name} is there; it is changed where updateAssociationValues names the relation.`,
    );
  const [ready] = await withKeys(inside, target, [rest]);
  await updateOne(inside, target, requestByKeys('update', key), key, ready as Body, null, level);
  return key;
}

const emptyRequest = normaliseRequest('create', {}, false);

async function isThere(inside: RecordContext, target: Collection, key: unknown): Promise<boolean> {
  const grant = inside.grantOf(target.name, 'get');
  return grant !== null && (await valuesOf(inside, target, [key], target.primaryKey.name, grant)).length > 0;
}

/** One relation deeper: what `updateAssociationValues` says of the paths below it. */
function under({ depth, mayUpdate }: Level, field: Field): Level {
  if (depth >= limits.pathDepth)
    throw new ApiError('LIMIT_EXCEEDED', `Nested values go at most ${limits.pathDepth} deep.`);
  const deeper = mayUpdate.flatMap((path) => {
    if (path === field.name) return [''];
    return path.startsWith(`${field.name}.`) ? [path.slice(field.name.length + 1)] : [];
  });
  return { depth: depth + 1, mayUpdate: deeper };
}

/** Tells an error's details at their place in the body. */
function below(place: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError) || !error.details) throw error;
    const details = Object.entries(error.details).map(([path, text]) => [
      path.startsWith('[') ? `${place}${path}` : `${place}.${path}`,
      text,
    ]);
    const placed = Object.fromEntries(details) as Record<string, string>;
    if (error.code === 'VALUE_INVALID') throw invalidValues(placed);
    throw new ApiError(error.code, error.message, { details: placed });
  };
}

function at(index: number): (error: unknown) => never {
  return below(`[${index}]`);
}

function rethrow(error: unknown): never {
  throw error;
}
