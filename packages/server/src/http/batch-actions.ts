/**
 * `POST /api/batch`: several operations in one transaction. Each operation runs the same action as a separate request, with
 * the same permissions, rules and checks.
 */

import { tokenMissingError } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { prefixDetails } from '../protocol/error-path.ts';
import { JsonNumber, parseExactJson } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { type NormalisedAction, normaliseRequest } from '../protocol/request-normaliser.ts';
import type { RecordContext } from '../records/record-context.ts';
import { findNestedLocks } from '../records/relations/nested-locks.ts';
import { getRules } from '../records/system/system-rules.ts';
import { BatchResults, parseLiteral } from '../records/write/batch-references.ts';
import { collectSecrets, hashAllSecrets, type SecretBody } from '../records/write/secrets.ts';
import { findWriteLocks } from '../records/write/write-records.ts';
import type { Collection, Relation } from '../schema/registry.ts';
import { isDryRun, readKnownParameters } from './known-parameters.ts';
import { performWrite } from './perform-write.ts';
import { runRecordAction } from './record-actions.ts';
import { buildLinksLockKey, runRelationAction } from './relation-actions.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';
import type { Route } from './route.ts';

export const batchActions: Readonly<Record<string, SystemAction>> = {
  'batch:': { reads: false, storesReply: true, run: runBatch },
};

const operations = ['get', 'list', 'create', 'update', 'destroy', 'restore', 'add', 'set', 'remove'] as const;
type Op = (typeof operations)[number];
const linkOperations: ReadonlySet<Op> = new Set<Op>(['add', 'set', 'remove']);

/** One parsed operation. Its names are not resolved yet. */
interface Operation {
  readonly op: Op;
  readonly resource: string;
  readonly relation: string | null;
  readonly of: unknown;
  readonly as: string | null;
  readonly ifMatch: string | undefined;
  readonly values: unknown;
  /** `filterByTk` and `filter`, as far as they are given. */
  readonly selection: Readonly<Record<string, unknown>>;
}

const members = new Set(['op', 'resource', 'relation', 'of', 'as', 'filterByTk', 'filter', 'values', 'ifMatch']);
const namePattern = /^[A-Za-z][A-Za-z0-9_]{0,59}$/;

async function runBatch(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  if (request.caller.type === 'anonymous') throw tokenMissingError();
  const parameters = readKnownParameters(request, []);
  const parsed = parseBatch(request.body);
  const { application, caller, limits: rates } = request;
  rates.charge(application.name, caller, parsed.length - 1);
  const bodies = parsed.flatMap((operation) => toSecretBody(context, operation) ?? []);
  const ready = await hashAllSecrets(context, bodies);
  const options = {
    dryRun: isDryRun(parameters),
    heavy: true,
    joined: true,
    totalMilliseconds: limits.batchMilliseconds,
    lockKey: [...collectLockKeys(context, parsed), ...(await findRuleLocks(context, parsed))],
  };
  return performWrite(request, ready, options, (tx) => runAll(request, tx, parsed));
}

async function runAll(request: RequestContext, tx: RecordContext, parsed: readonly Operation[]): Promise<ActionResult> {
  const results = new BatchResults();
  const texts: string[] = [];
  const end = performance.now() + limits.batchMilliseconds;
  let bytes = 0;
  for (const [index, operation] of parsed.entries()) {
    const text = await runOne(request, tx, operation, results).catch(atIndex(index));
    texts.push(text);
    bytes += text.length;
    if (bytes > limits.batchBytes)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        'The results of the batch exceed 64 MiB. Send fewer operations, or request fewer fields.',
      );
    if (performance.now() > end && index < parsed.length - 1)
      throw new ApiError(
        'QUERY_TIMEOUT',
        'The batch took longer than 5 seconds and was aborted; nothing was written. Send fewer operations.',
        {
          retryAfter: 1,
        },
      );
  }
  return { data: `[${texts.join(',')}]` };
}

async function runOne(
  request: RequestContext,
  tx: RecordContext,
  operation: Operation,
  results: BatchResults,
): Promise<string> {
  const { op, resource, relation, as, ifMatch } = operation;
  const parameters = resolveSelection(results, operation.selection);
  const of = relation === null ? null : { collection: resource, key: toKeyText(results.resolve(operation.of)) };
  const route: Route = { resource: relation ?? resource, action: op, key: null, of };
  if (of === null && request.hasSystemAction(resource, op))
    throw new ApiError('BODY_INVALID', `${resource}:${op} cannot be part of a batch. Send it as a separate request.`);
  const body = results.resolve(operation.values);
  requireLiteralSecrets(tx, operation, body);
  const operationRequest: RequestContext = {
    ...request,
    tx,
    idempotencyKey: null,
    route,
    body,
    ifMatch,
    parameters: () => parameters,
    recordRequest: () => normaliseRequest(op as NormalisedAction, parameters, false),
  };
  const result = await (of === null ? runRecordAction(operationRequest) : runRelationAction(operationRequest));
  const { data } = result as { data: string };
  if (as !== null) results.store(as, parseExactJson(data));
  return data;
}

/** The parameters of an operation, with their references replaced. A filter that is a text is parsed later, so it has none. */
function resolveSelection(results: BatchResults, selection: Operation['selection']): Record<string, unknown> {
  const { filter, ...others } = selection;
  const parameters = results.resolve(others) as Record<string, unknown>;
  if (filter === undefined) return parameters;
  return { ...parameters, filter: isObject(filter) ? results.resolveFilter(filter) : filter };
}

/** The key of the parent record as text, as in a path. */
function toKeyText(key: unknown): string {
  if ((typeof key === 'string' && key !== '') || typeof key === 'number' || key instanceof JsonNumber)
    return String(key);
  throw new ApiError('BODY_INVALID', '"of" must be the key of the record whose relation is changed.');
}

/** @throws ApiError 400 naming the operation and the property. */
function parseBatch(body: unknown): Operation[] {
  if (!isObject(body) || !Array.isArray(body['operations']))
    throw new ApiError('BODY_INVALID', 'The body of a batch must be {"operations": [{"op", "resource", …}]}.');
  const unknown = Object.keys(body).find((name) => name !== 'operations');
  if (unknown !== undefined)
    throw new ApiError('BODY_INVALID', `A batch has no property "${unknown.slice(0, 60)}". Remove it.`);
  const list = body['operations'] as readonly unknown[];
  if (list.length === 0) throw new ApiError('BODY_INVALID', '"operations" must contain at least one operation.');
  if (list.length > limits.batchOperations)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `A batch can have at most ${limits.batchOperations} operations, not ${list.length}.`,
    );
  const names = new Set<string>();
  return list.map((each, index) => {
    try {
      return parseOperation(each, names);
    } catch (error) {
      return atIndex(index)(error);
    }
  });
}

function parseOperation(input: unknown, names: Set<string>): Operation {
  if (!isObject(input)) throw invalidBatch('An operation must be an object: {"op", "resource", …}.');
  const unknown = Object.keys(input).find((name) => !members.has(name));
  if (unknown !== undefined) throw invalidBatch(`An operation has no property "${unknown.slice(0, 60)}". Remove it.`);
  const { op, resource, relation, of, as, values, ifMatch, ...selection } = input;
  if (!isOp(op)) throw invalidBatch(`"op" must be one of ${operations.join(', ')}.`);
  if (typeof resource !== 'string' || resource === '')
    throw invalidBatch('"resource" must be the name of a collection.');
  if (relation !== undefined && (typeof relation !== 'string' || relation === ''))
    throw invalidBatch('"relation" must be the name of a relation.');
  if ((relation === undefined) !== (of === undefined))
    throw invalidBatch('"relation" and "of", the key of the parent record, must be given together.');
  if (relation === undefined ? linkOperations.has(op) : op === 'restore')
    throw invalidBatch(
      relation === undefined ? `${op} needs "relation" and "of".` : 'restore cannot have "relation". Omit it.',
    );
  if (ifMatch !== undefined && typeof ifMatch !== 'string') throw invalidBatch('"ifMatch" must be the ETag of a get.');
  if (ifMatch !== undefined && (relation !== undefined || !(op === 'update' || op === 'destroy')))
    throw invalidBatch('"ifMatch" is only for update and destroy of a record.');
  if (as !== undefined) registerName(as, names);
  return {
    op,
    resource,
    relation: (relation as string | undefined) ?? null,
    of,
    as: (as as string | undefined) ?? null,
    values,
    ifMatch,
    selection,
  };
}

function registerName(as: unknown, names: Set<string>): void {
  if (typeof as !== 'string' || !namePattern.test(as))
    throw invalidBatch('"as" must begin with a letter, followed by letters, digits or _.');
  if (names.has(as)) throw invalidBatch(`An earlier operation already has "as": "${as}". Use another name.`);
  names.add(as);
}

function isOp(op: unknown): op is Op {
  return (operations as readonly unknown[]).includes(op);
}

function invalidBatch(message: string): ApiError {
  return new ApiError('BODY_INVALID', message);
}

/** The body of an operation, so that its passwords can be hashed before the transaction. */
function toSecretBody(context: RecordContext, operation: Operation): SecretBody | null {
  const { resource, relation, values } = operation;
  const source = context.registry.find(resource);
  const name = source?.byName.get(relation ?? '')?.relation?.target ?? '';
  const collection = relation === null ? source : context.registry.find(name);
  return collection === null || values === undefined ? null : { collection, body: values, resolveText: parseLiteral };
}

/** A password by reference would have to be hashed inside the transaction, while all other writes wait. */
function requireLiteralSecrets(tx: RecordContext, operation: Operation, resolved: unknown): void {
  const written = toSecretBody(tx, operation);
  if (
    written &&
    collectSecrets(tx, { ...written, body: resolved, resolveText: (text) => text }).length >
      collectSecrets(tx, written).length
  )
    throw invalidBatch('A password cannot be a reference to another operation. Write it into the operation.');
}

/** Lock keys of links of existing records. Records that the batch creates are not visible to others, so they need none. */
function collectLockKeys({ registry }: RecordContext, parsed: readonly Operation[]): readonly string[] {
  return parsed.flatMap(({ op, resource, of }) => {
    const source = linkOperations.has(op) ? registry.find(resource) : null;
    const named = typeof of === 'number' || (typeof of === 'string' && !of.startsWith('$'));
    return source && named ? [buildLinksLockKey(source, of)] : [];
  });
}

const changingOperations: ReadonlySet<Op> = new Set<Op>(['update', 'destroy', 'restore']);

/**
 * The locks of the rules of changed records. If an earlier operation finds the record, its key is not known yet, so the
 * locks for any record are taken.
 */
async function findRuleLocks(context: RecordContext, parsed: readonly Operation[]): Promise<readonly string[]> {
  const { registry } = context;
  const keysByTarget = new Map<Collection, unknown[] | null>();
  const locks: string[] = [];
  for (const operation of parsed) {
    const source = registry.find(operation.resource);
    const relation = source?.byName.get(operation.relation ?? '')?.relation ?? null;
    const target = operation.relation === null ? source : registry.find(relation?.target ?? '');
    if (!source || !target) continue;
    if (operation.values !== undefined && !linkOperations.has(operation.op))
      locks.push(...(await findNestedLocks(context, target, { updateAssociationValues: [] }, operation.values)));
    const changed = findChanged(operation, { source, target, relation });
    if (!changed) continue;
    const others = keysByTarget.get(changed.collection);
    const keys = changed.keys !== null && others !== null ? [...(others ?? []), ...changed.keys] : null;
    keysByTarget.set(changed.collection, keys);
  }
  for (const [collection, keys] of keysByTarget)
    locks.push(...(await findWriteLocks(context, getRules(collection), { filterByTk: keys })));
  return locks;
}

interface OperationTarget {
  readonly source: Collection;
  readonly target: Collection;
  readonly relation: Relation | null;
}

/** The existing records that an operation changes itself; null: none. Keys null: they are not known. */
function findChanged(
  { op, of, selection }: Operation,
  { source, target, relation }: OperationTarget,
): { readonly collection: Collection; readonly keys: readonly unknown[] | null } | null {
  if (changingOperations.has(op)) return { collection: target, keys: selectKnown(selection['filterByTk'] ?? '$') };
  if (!linkOperations.has(op) || relation === null || relation.through) return null;
  // The record with the foreign key changes.
  return relation.kind === 'belongsTo'
    ? { collection: source, keys: selectKnown(of) }
    : { collection: target, keys: null };
}

function selectKnown(keys: unknown): readonly unknown[] | null {
  const list = [keys].flat();
  return list.every((key) => typeof key !== 'string' || !key.startsWith('$')) ? list : null;
}

/** Adds the index of the operation to a refusal. Other errors are thrown unchanged. */
function atIndex(index: number): (error: unknown) => never {
  const errorPath = `operations[${index}]`;
  return (error) => {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, details, retryAfter, allow, about, rate } = error;
    throw new ApiError(code, message, {
      details: { [errorPath]: message, ...prefixDetails(`${errorPath}.values`, details) },
      ...(retryAfter !== undefined && { retryAfter }),
      ...(allow !== undefined && { allow }),
      ...(about !== undefined && { about }),
      ...(rate !== undefined && { rate }),
    });
  };
}
