/**
 * Nested values: a body may contain related records, or name them by key. Each record is written under the grants of its
 * own collection; all of them in one transaction.
 */
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { prefixDetails } from '../../protocol/error-path.ts';
import { isSameKey } from '../../protocol/exact-json.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest, requestByKeys } from '../../protocol/request-normaliser.ts';
import { invalidOperand } from '../../schema/field-type.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import { readFieldValues } from '../read/field-values.ts';
import { getRecord, requireGrant } from '../read/read-records.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import { getRules } from '../system/system-rules.ts';
import { refuseDeniedRelations } from '../write/denied-fields.ts';
import {
  createRecords,
  findWriteLocks,
  requireBulkLimit,
  updateRecords,
  type WriteResult,
} from '../write/write-records.ts';
import { type IfMatch, isSingleKey } from '../write/write-steps.ts';
import { applyFieldLists } from './field-lists.ts';
import { replaceKeyObjects, replaceKeyObjectsIn } from './key-objects.ts';
import { changeLinks, type Link, readLinkedKeys } from './links.ts';
import { checkNestedValues, hasNested, isNested, type RelationField } from './nested-check.ts';
import { findNestedLocks } from './nested-locks.ts';
import { type RecordRelation, readSourceValue, requireLinkable, resolveRelation } from './related-parent.ts';

type Body = Readonly<Record<string, unknown>>;

/** The nested value of a relation. */
interface NestedValue {
  readonly field: RelationField;
  readonly value: unknown;
}

/** A body split by what is written before its record, because the record holds their keys, and after it. */
interface SplitBody {
  readonly ownValues: Record<string, unknown>;
  readonly before: readonly NestedValue[];
  readonly after: readonly NestedValue[];
}

/** The state of a nested write at one level of the body. */
interface Nesting {
  readonly tx: TransactionContext;
  readonly depth: number;
  /** Paths of `updateAssociationValues` from this level on; an empty path: existing records of this level may change. */
  readonly mayUpdate: readonly string[];
}

/** An update, as the client sent it. */
export interface NestedUpdate {
  readonly body: unknown;
  readonly match: IfMatch;
}

/**
 * Creates records with the related records in their bodies.
 *
 *     await createWithNested(context, posts, request, { title: 'Hello', author: { name: 'Ann' }, tags: [1, { name: 'new' }] });
 *
 * @param input one body, or a list of them.
 * @throws ApiError with the path of the nested record in the names of its details.
 */
export function createWithNested(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  input: unknown,
): Promise<WriteResult> {
  const body = applyFieldLists({ context, collection, action: 'create' }, input, request);
  const mayNest = Array.isArray(body) ? body.some((each) => hasNested(each, collection)) : hasNested(body, collection);
  return mayNest
    ? createNested(context, collection, request, body)
    : createRecords(context, collection, request, { body, rules: getRules(collection) });
}

async function createNested(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  input: unknown,
): Promise<WriteResult> {
  const isList = Array.isArray(input);
  const bodies = await replaceKeyObjects(context, collection, isList ? input : [input]);
  const body = isList ? bodies : bodies[0];
  if (!bodies.some((each) => hasNested(each, collection)))
    return createRecords(context, collection, request, { body, rules: getRules(collection) });
  requireBulkLimit(bodies);
  checkNestedValues({ context, collection, action: 'create' }, body);
  const lockKey = await findNestedLocks(context, collection, request, body);
  const work = async (tx: TransactionContext): Promise<WriteResult> => {
    const nesting: Nesting = { tx, depth: 0, mayUpdate: request.updateAssociationValues };
    if (!isList) return createOne(nesting, collection, request, body);
    const results: WriteResult[] = [];
    for (const [index, each] of bodies.entries())
      results.push(await createOne(nesting, collection, request, each).catch(prefixErrorPath(`[${index}]`)));
    return {
      data: `[${results.map((each) => each.data).join(',')}]`,
      counter: null,
      keys: results.flatMap((each) => each.keys),
    };
  };
  return inTransaction(context, work, { lockKey });
}

/**
 * Updates records. A body with nested values needs a request with one key.
 *
 * @throws ApiError with the path of the nested record in the names of its details.
 */
export function updateWithNested(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  { body: input, match }: NestedUpdate,
): Promise<WriteResult> {
  const body = applyFieldLists({ context, collection, action: 'update' }, input, request);
  return hasNested(body, collection)
    ? updateNested(context, collection, request, { body, match })
    : updateRecords(context, collection, request, { body, match, rules: getRules(collection) });
}

async function updateNested(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  { body: input, match }: NestedUpdate,
): Promise<WriteResult> {
  const write = { context, collection, action: 'update' } as const;
  const body = await replaceKeyObjectsIn(context, collection, input);
  if (!isObject(body) || !hasNested(body, collection))
    return updateRecords(context, collection, request, { body, match, rules: getRules(collection) });
  const key = parseKey(request.filterByTk, collection);
  if (!isSingleKey(key)) throw new ApiError('BODY_INVALID', 'Nested values need a "filterByTk" with one key.');
  checkNestedValues(write, body);
  const lockKey = [
    ...(await findWriteLocks(context, getRules(collection), request)),
    ...(await findNestedLocks(context, collection, request, body)),
  ];
  const work = (tx: TransactionContext): Promise<WriteResult> => {
    const nesting: Nesting = { tx, depth: 0, mayUpdate: request.updateAssociationValues };
    return updateOne(nesting, collection, request, { key, body, match });
  };
  return inTransaction(context, work, { lockKey });
}

function splitBody(body: Body, collection: Collection): SplitBody {
  const ownValues: Record<string, unknown> = {};
  const before: NestedValue[] = [];
  const after: NestedValue[] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = collection.byName.get(name);
    if (!isNested(field, value)) ownValues[name] = value;
    else (field.relation.kind === 'belongsTo' ? before : after).push({ field, value });
  }
  return { ownValues, before, after };
}

async function createOne(
  nesting: Nesting,
  collection: Collection,
  request: RecordRequest,
  body: unknown,
): Promise<WriteResult> {
  const { tx } = nesting;
  const rules = getRules(collection);
  if (!isObject(body) || !hasNested(body, collection)) return createRecords(tx, collection, request, { body, rules });
  const { ownValues, before, after } = splitBody(body, collection);
  const fields = [...before, ...after].map(({ field }) => field);
  refuseDeniedRelations({ context: tx, collection, action: 'create' }, fields);
  await linkParents(nesting, ownValues, before);
  const created = await createRecords(tx, collection, request, { body: ownValues, rules });
  await linkChildren(nesting, collection, created.keys[0], after);
  return rereadRecord(tx, collection, request, created);
}

async function updateOne(
  nesting: Nesting,
  collection: Collection,
  request: RecordRequest,
  { key, body, match }: { readonly key: unknown; readonly body: Body; readonly match: IfMatch },
): Promise<WriteResult> {
  const { tx } = nesting;
  const { ownValues, before, after } = splitBody(body, collection);
  const fields = [...before, ...after].map(({ field }) => field);
  refuseDeniedRelations({ context: tx, collection, action: 'update' }, fields);
  await linkParents(nesting, ownValues, before);
  const rules = getRules(collection);
  const changed = await updateRecords(tx, collection, request, { body: ownValues, match, rules });
  await unlinkReplaced(tx, collection, key, after);
  await linkChildren(nesting, collection, key, after);
  return rereadRecord(tx, collection, request, changed);
}

/** The record as the caller's get shows it after all links are written. Without a get grant: the result of the write. */
async function rereadRecord(
  tx: TransactionContext,
  collection: Collection,
  { fields, except, appends }: RecordRequest,
  written: WriteResult,
): Promise<WriteResult> {
  if (!tx.findGrant(collection.name, 'get')) return written;
  const [key] = written.keys;
  const getParameters = { filterByTk: key, appends, ...(fields && { fields }), ...(except && { except }) };
  try {
    const { data, counter } = await getRecord(tx, collection, normaliseRequest('get', getParameters, false));
    return { ...written, data, counter: written.counter === null ? null : counter };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NO_PERMISSION') return written;
    throw error;
  }
}

/** Writes the records of belongsTo relations, and puts their keys into the values of the record itself. */
async function linkParents(
  nesting: Nesting,
  ownValues: Record<string, unknown>,
  before: readonly NestedValue[],
): Promise<void> {
  const { tx } = nesting;
  for (const { field, value } of before) {
    const { sourceField, targetField, target: name } = field.relation;
    const target = tx.registry.get(name);
    const key = await writeTarget(descend(nesting, field), target, value, {}).catch(prefixErrorPath(field.name));
    const grant = requireGrant(tx, target, 'get');
    const [found] = await readFieldValues(tx, { collection: target, name: targetField, grant }, [key]);
    if (!found)
      throw new ApiError('REFERENCE_MISSING', `"${field.name}" refers to a record of ${name} that does not exist.`);
    const named = requireLinkable(found.value, field);
    if (sourceField in ownValues && !isSameKey(ownValues[sourceField], named))
      throw new ApiError('BODY_INVALID', `"${field.name}" and "${sourceField}" refer to different records.`);
    ownValues[sourceField] = named;
  }
}

/** Writes the records of all other relations, and links them to the record with this key. */
async function linkChildren(
  nesting: Nesting,
  collection: Collection,
  key: unknown,
  after: readonly NestedValue[],
): Promise<void> {
  for (const { field, value } of after) {
    const related = resolveRelation(nesting.tx, collection, field.name, key);
    const links = await resolveLinks(descend(nesting, field), related, value);
    await changeLinks(nesting.tx, related, { action: 'set', links });
  }
}

/** Unlinks the record of a hasOne relation if the body gives another one: the foreign key may be unique. */
async function unlinkReplaced(
  tx: TransactionContext,
  collection: Collection,
  key: unknown,
  after: readonly NestedValue[],
): Promise<void> {
  for (const { field, value } of after) {
    if (field.relation.kind !== 'hasOne' || !isObject(value)) continue;
    const related = resolveRelation(tx, collection, field.name, key);
    const [current] = await readLinkedKeys(tx, related);
    const isUnchanged = current === undefined || String(value[related.target.primaryKey.name]) === String(current);
    if (!isUnchanged) await changeLinks(tx, related, { action: 'remove', links: [] });
  }
}

/** Writes the records of a nested value. @returns the links to set: those of a list replace all, null removes all. */
async function resolveLinks(nesting: Nesting, related: RecordRelation, value: unknown): Promise<Link[]> {
  const { relation, field, target } = related;
  if (value === null) return [];
  if (relation.many !== Array.isArray(value))
    throw new ApiError('BODY_INVALID', `"${field.name}" takes ${relation.many ? 'a list of records' : 'one record'}.`);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > limits.bulkRecords)
    throw new ApiError('LIMIT_EXCEEDED', `"${field.name}" takes at most ${limits.bulkRecords} records.`);
  if (list.length === 0) return [];
  const linked = await readForeignKey(nesting.tx, related);
  const links: Link[] = [];
  for (const [index, each] of list.entries()) {
    const name = relation.many ? `${field.name}[${index}]` : field.name;
    const key = await writeTarget(nesting, target, each, linked).catch(prefixErrorPath(name));
    links.push({ key, join: null });
  }
  return [...new Map(links.map((link) => [String(link.key), link])).values()];
}

/** The foreign key of new records: it may be required, so they are linked when they are created. */
async function readForeignKey(tx: TransactionContext, related: RecordRelation): Promise<Body> {
  const { relation, field, source } = related;
  if (relation.through) return {};
  const value = await readSourceValue(tx, related, requireGrant(tx, source, 'get'));
  return { [relation.targetField]: requireLinkable(value, field) };
}

/**
 * Writes one nested record. A key stands for an existing record. An object with the key of an existing record updates it,
 * if the request allows that. Any other object creates a record.
 *
 * @param linked values that a new record must have from the start.
 * @returns the key of the record.
 */
async function writeTarget(nesting: Nesting, target: Collection, value: unknown, linked: Body): Promise<unknown> {
  const { tx } = nesting;
  const { name, type } = target.primaryKey;
  if (!isObject(value)) {
    const key = value === null || Array.isArray(value) ? invalidOperand : type.readOperand(value, false);
    if (key === invalidOperand)
      throw new ApiError('BODY_INVALID', `Name a record of ${target.name} by its key, or give an object.`);
    return key;
  }
  const { [name]: given, ...rest } = value;
  const key = given === undefined || given === null ? undefined : type.readOperand(given, false);
  if (key === invalidOperand) throw new ApiError('BODY_INVALID', `"${name}" is not a key of ${target.name}.`);
  const exists = key !== undefined && (await hasRecord(tx, target, key));
  if (!exists) return createTarget(nesting, target, value, linked);
  if (Object.keys(rest).length === 0) return key;
  if (!nesting.mayUpdate.includes(''))
    throw new ApiError(
      'BODY_INVALID',
      `The record ${String(key)} of ${target.name} exists already. To change it, add the relation to "updateAssociationValues".`,
    );
  const body = await replaceKeyObjectsIn(tx, target, rest);
  await updateOne(nesting, target, requestByKeys('update', key), { key, body: body as Body, match: null });
  return key;
}

async function createTarget(nesting: Nesting, target: Collection, value: Body, linked: Body): Promise<unknown> {
  for (const [field, wanted] of Object.entries(linked))
    if (value[field] !== undefined && !isSameKey(value[field], wanted))
      throw new ApiError('BODY_INVALID', `"${field}" refers to another record than the one that contains it.`);
  const body = await replaceKeyObjectsIn(nesting.tx, target, { ...value, ...linked });
  const created = await createOne(nesting, target, emptyRequest, body);
  return created.keys[0];
}

const emptyRequest = normaliseRequest('create', {}, false);

async function hasRecord(tx: TransactionContext, target: Collection, key: unknown): Promise<boolean> {
  const grant = tx.findGrant(target.name, 'get');
  if (grant === null) return false;
  const found = await readFieldValues(tx, { collection: target, name: target.primaryKey.name, grant }, [key]);
  return found.length > 0;
}

/** The nesting one relation deeper. @throws ApiError `LIMIT_EXCEEDED` past {@link limits.pathDepth}. */
function descend({ tx, depth, mayUpdate }: Nesting, field: Field): Nesting {
  if (depth >= limits.pathDepth)
    throw new ApiError('LIMIT_EXCEEDED', `Nested values can be at most ${limits.pathDepth} levels deep.`);
  const deeper = mayUpdate.flatMap((path) => {
    if (path === field.name) return [''];
    return path.startsWith(`${field.name}.`) ? [path.slice(field.name.length + 1)] : [];
  });
  return { tx, depth: depth + 1, mayUpdate: deeper };
}

/** Rethrows an error with the path of the nested record before the names of its details. */
function prefixErrorPath(errorPath: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError) || !error.details) throw error;
    const details = prefixDetails(errorPath, error.details);
    if (error.code === 'VALUE_INVALID') throw invalidValues(details);
    throw new ApiError(error.code, error.message, { details });
  };
}
