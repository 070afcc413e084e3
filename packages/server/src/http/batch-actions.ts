/**
 * `POST /api/batch`: several operations in one transaction, all or nothing. Each is run by the action that a request of its
 * own would run, under the same grants, rules and checks; only the transaction is shared.
 */
import { tokenMissing } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { JsonNumber, parseExactJson } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { type NormalisedAction, normaliseRequest } from '../protocol/request-normaliser.ts';
import { BatchResults, literalOf } from '../records/batch-references.ts';
import type { RecordContext } from '../records/record-context.ts';
import { type SecretBody, secretsIn, withSecretsOfAll } from '../records/secrets.ts';
import { type Answer, type Call, contextOf, type SystemAction } from './call.ts';
import { isTrial, knownParameters } from './known-parameters.ts';
import { performWrite } from './perform-write.ts';
import { runRecordAction } from './record-actions.ts';
import { runRelationAction, turnOfLinks } from './relation-actions.ts';
import type { Route } from './route.ts';

export const batchActions: Readonly<Record<string, SystemAction>> = {
  'batch:': { reads: false, keepsReply: true, run: runBatch },
};

const operations = ['get', 'list', 'create', 'update', 'destroy', 'restore', 'add', 'set', 'remove'] as const;
type Op = (typeof operations)[number];
const links: ReadonlySet<Op> = new Set<Op>(['add', 'set', 'remove']);

/** One operation, its form checked and its names not. */
interface Operation {
  readonly op: Op;
  readonly resource: string;
  readonly relation: string | null;
  readonly of: unknown;
  readonly as: string | null;
  readonly ifMatch: string | undefined;
  readonly values: unknown;
  /** `filterByTk` and `filter`, as far as they are given. */
  readonly target: Readonly<Record<string, unknown>>;
}

const members = new Set(['op', 'resource', 'relation', 'of', 'as', 'filterByTk', 'filter', 'values', 'ifMatch']);
const nameForm = /^[A-Za-z][A-Za-z0-9_]{0,59}$/;

async function runBatch(call: Call): Promise<Answer> {
  const context = contextOf(call);
  if (call.caller.type === 'anonymous') throw tokenMissing();
  const parameters = knownParameters(call, []);
  const parsed = parseBatch(call.body);
  const { application, caller, limits: rates } = call;
  rates.charge(application.name, caller.type, caller.credentialId!, parsed.length - 1);
  const bodies = parsed.flatMap((operation) => bodyOf(context, operation) ?? []);
  const ready = await withSecretsOfAll(context, bodies);
  const manner = {
    dryRun: isTrial(parameters),
    heavy: true,
    joined: true,
    within: limits.batchMilliseconds,
    turn: turnsOf(context, parsed),
  };
  return performWrite(call, ready, manner, (inside) => runAll(call, inside, parsed));
}

async function runAll(call: Call, inside: RecordContext, parsed: readonly Operation[]): Promise<Answer> {
  const results = new BatchResults();
  const texts: string[] = [];
  const end = performance.now() + limits.batchMilliseconds;
  let bytes = 0;
  for (const [index, operation] of parsed.entries()) {
    const text = await runOne(call, inside, operation, results).catch(at(index));
    texts.push(text);
    bytes += text.length;
    if (bytes > limits.batchBytes)
      throw new ApiError('LIMIT_EXCEEDED', 'The results of a batch are over 64 MiB; ask for less at once.');
    if (performance.now() > end && index < parsed.length - 1)
      throw new ApiError('QUERY_TIMEOUT', 'The batch took longer than 5 seconds and was ended; nothing was written.', {
        retryAfter: 1,
      });
  }
  return { data: `[${texts.join(',')}]` };
}

async function runOne(call: Call, inside: RecordContext, operation: Operation, results: BatchResults): Promise<string> {
  const { op, resource, relation, as, ifMatch } = operation;
  const parameters = results.resolve(operation.target) as Record<string, unknown>;
  const of = relation === null ? null : { collection: resource, tk: keyText(results.resolve(operation.of)) };
  const route: Route = { resource: relation ?? resource, action: op, tk: null, of };
  if (of === null && call.handWritten(resource, op))
    throw new ApiError('BODY_INVALID', `${resource}:${op} is no operation of a batch; call it by itself.`);
  const body = results.resolve(operation.values);
  requireSecretsWritten(inside, operation, body);
  const part: Call = {
    ...call,
    inside,
    once: null,
    route,
    body,
    ifMatch,
    parameters: () => parameters,
    request: () => normaliseRequest(op as NormalisedAction, parameters, false),
  };
  const answer = await (of === null ? runRecordAction(part) : runRelationAction(part));
  const { data } = answer as { data: string };
  if (as !== null) results.keep(as, parseExactJson(data));
  return data;
}

/** A parent's key comes as it would in a path. */
function keyText(key: unknown): string {
  if ((typeof key === 'string' && key !== '') || typeof key === 'number' || key instanceof JsonNumber)
    return String(key);
  throw new ApiError('BODY_INVALID', '"of" takes the key of the record whose relation it is.');
}

/** @throws ApiError 400 naming the operation and the member. */
function parseBatch(body: unknown): Operation[] {
  if (!isObject(body) || !Array.isArray(body['operations']))
    throw new ApiError('BODY_INVALID', 'A batch takes {"operations": [{op, resource, …}]}.');
  const unknown = Object.keys(body).find((name) => name !== 'operations');
  if (unknown !== undefined) throw new ApiError('BODY_INVALID', `A batch knows no member "${unknown.slice(0, 60)}".`);
  const list = body['operations'] as readonly unknown[];
  if (list.length === 0) throw new ApiError('BODY_INVALID', 'A batch needs at least one operation.');
  if (list.length > limits.batchOperations)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `A batch takes at most ${limits.batchOperations} operations, not ${list.length}.`,
    );
  const names = new Set<string>();
  return list.map((each, index) => {
    try {
      return parseOperation(each, names);
    } catch (error) {
      return at(index)(error);
    }
  });
}

function parseOperation(input: unknown, names: Set<string>): Operation {
  if (!isObject(input)) throw invalid('An operation is an object: {op, resource, …}.');
  const unknown = Object.keys(input).find((name) => !members.has(name));
  if (unknown !== undefined) throw invalid(`An operation knows no member "${unknown.slice(0, 60)}".`);
  const { op, resource, relation, of, as, values, ifMatch, ...target } = input;
  if (!isOp(op)) throw invalid(`"op" is one of ${operations.join(', ')}.`);
  if (typeof resource !== 'string' || resource === '') throw invalid('"resource" takes the name of a collection.');
  if (relation !== undefined && (typeof relation !== 'string' || relation === ''))
    throw invalid('"relation" takes the name of a relation.');
  if ((relation === undefined) !== (of === undefined))
    throw invalid('"relation" and "of", the key of the record whose relation it is, go together.');
  if (relation === undefined ? links.has(op) : op === 'restore')
    throw invalid(relation === undefined ? `${op} needs "relation" and "of".` : 'restore goes with no relation.');
  if (ifMatch !== undefined && typeof ifMatch !== 'string') throw invalid('"ifMatch" takes the ETag of a get.');
  if (ifMatch !== undefined && (relation !== undefined || !(op === 'update' || op === 'destroy')))
    throw invalid('"ifMatch" goes with update and destroy of a record.');
  if (as !== undefined) takeName(as, names);
  return {
    op,
    resource,
    relation: (relation as string | undefined) ?? null,
    of,
    as: (as as string | undefined) ?? null,
    values,
    ifMatch,
    target,
  };
}

function takeName(as: unknown, names: Set<string>): void {
  if (typeof as !== 'string' || !nameForm.test(as))
    throw invalid('"as" takes a letter, and letters, digits or _ after it.');
  if (names.has(as)) throw invalid(`"as" is "${as}" in an earlier operation already.`);
  names.add(as);
}

function isOp(op: unknown): op is Op {
  return (operations as readonly unknown[]).includes(op);
}

function invalid(message: string): ApiError {
  return new ApiError('BODY_INVALID', message);
}

/** The body of an operation as it stands in the batch, so that its passwords are hashed before the transaction. */
function bodyOf(context: RecordContext, operation: Operation): SecretBody | null {
  const { resource, relation, values } = operation;
  const source = context.registry.find(resource);
  const name = source?.byName.get(relation ?? '')?.relation?.target ?? '';
  const collection = relation === null ? source : context.registry.find(name);
  return collection === null || values === undefined ? null : { collection, body: values, read: literalOf };
}

/** Passwords that come by a reference would be hashed inside the transaction, while all other writes wait. */
function requireSecretsWritten(inside: RecordContext, operation: Operation, resolved: unknown): void {
  const written = bodyOf(inside, operation);
  if (
    written &&
    secretsIn(inside, { ...written, body: resolved, read: (text) => text }).length > secretsIn(inside, written).length
  )
    throw invalid('A password stands in the operation itself; it cannot be referred to.');
}

/** Links of records that are named by their keys; those of records that the batch makes nobody else can change. */
function turnsOf({ registry }: RecordContext, parsed: readonly Operation[]): readonly string[] {
  return parsed.flatMap(({ op, resource, of }) => {
    const source = links.has(op) ? registry.find(resource) : null;
    const named = typeof of === 'number' || (typeof of === 'string' && !of.startsWith('$'));
    return source && named ? [turnOfLinks(source, of)] : [];
  });
}

/** Tells a refusal at its operation; what else stops a batch goes through as it is. */
function at(index: number): (error: unknown) => never {
  const place = `operations[${index}]`;
  return (error) => {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, details = {}, retryAfter, allow, about, rate } = error;
    const below = Object.entries(details).map(([name, text]) => [
      name.startsWith('[') ? `${place}.values${name}` : `${place}.values.${name}`,
      text,
    ]);
    throw new ApiError(code, message, {
      details: { [place]: message, ...(Object.fromEntries(below) as Record<string, string>) },
      ...(retryAfter !== undefined && { retryAfter }),
      ...(allow !== undefined && { allow }),
      ...(about !== undefined && { about }),
      ...(rate !== undefined && { rate }),
    });
  };
}
