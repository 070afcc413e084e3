/**
 * Writes: checked bodies become one transaction that carries its own events; the reply leaves when it is durable.
 * Refused means unchanged: whatever is refused inside the transaction takes all of it back.
 */
import { isoTime } from '../base/clock.ts';
import { bumpVersion } from '../database/catalogue.ts';
import {
  bind,
  DatabaseFault,
  fixed,
  type Row,
  StaleVersion,
  type Statement,
  type Transaction,
} from '../database/database.ts';
import type { BindEnvironment, BindParts } from '../database/sql.ts';
import { actorOf } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import type { Grant } from '../query/grant.ts';
import { type Collection, columnsOf } from '../schema/registry.ts';
import { environmentFor, missing, requireGrant } from './read-records.ts';
import { keptPlan, planContext, type RecordContext } from './record-context.ts';
import { type CheckedRecord, checkChange, checkEach, checkNew } from './record-input.ts';
import { keyOf } from './record-key.ts';
import type { Body, RecordRules, RuledBody } from './record-rules.ts';
import { checkReferences } from './reference-check.ts';
import { withHashedSecrets } from './secrets.ts';
import { writeFault } from './write-fault.ts';
import {
  resultColumns as at,
  planDestroy,
  planDiagnosis,
  planInsert,
  planKeys,
  planReach,
  planUpdate,
  type WritePlan,
} from './write-plan.ts';

/** What a write answers: JSON text of `data`, and the counter where one record was written. */
export interface WriteResult {
  readonly data: string;
  readonly counter: number | null;
}

/** The counter of an If-Match header, `any` for `*`, or null without one. */
export type Match = number | 'any' | null;

interface Target {
  readonly context: RecordContext;
  readonly collection: Collection;
  readonly request: AskedRecordRequest;
  readonly grant: Grant;
  readonly rules: RecordRules | null;
}

export async function createRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  body: unknown,
  rules: RecordRules | null,
): Promise<WriteResult> {
  const target: Target = { context, collection, request, rules, grant: requireGrant(context, collection, 'create') };
  const bodies = Array.isArray(body) ? body : [body];
  if (bodies.length > limits.bulkRecords) {
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `One create takes at most ${limits.bulkRecords} records, not ${bodies.length}.`,
    );
  }
  const ruled = await Promise.all(bodies.map((each) => prepared(target, each, null)));
  const now = context.clock.now();
  const check = (input: unknown): CheckedRecord => checkNew(input, collection, target.grant, now);
  const checked = Array.isArray(body)
    ? checkEach(
        ruled.map((each) => each.body),
        check,
      )
    : [check(ruled[0]!.body)];
  const records = await withHashedSecrets(checked, collection);
  const rows = await writing(target, records, () => insertAll(target, records, ruled));
  if (rules?.access) await context.refresh();
  const texts = rows.map((row) => shown(row, collection));
  return Array.isArray(body)
    ? { data: `[${texts.join(',')}]`, counter: null }
    : { data: texts[0]!, counter: Number(rows[0]![at.counter]) };
}

export async function updateRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  body: unknown,
  match: Match,
  rules: RecordRules | null,
): Promise<WriteResult> {
  const target: Target = { context, collection, request, rules, grant: requireGrant(context, collection, 'update') };
  const key = requireTarget(target, 'update', match);
  const ruled = await prepared(target, withoutKey(body, key, collection), key);
  const checked = checkChange(ruled.body, collection, target.grant, context.clock.now());
  const records = await withHashedSecrets([checked], collection);
  const rows = await writing(target, records, () => updateAll(target, key, records[0]!, ruled, match));
  if (rules?.access) await context.refresh();
  if (key !== undefined && !Array.isArray(key))
    return { data: shown(rows[0]!, collection), counter: Number(rows[0]![at.counter]) };
  if (rows.length > limits.recordsInReply) return { data: String(rows.length), counter: null };
  return { data: `[${rows.map((row) => shown(row, collection)).join(',')}]`, counter: null };
}

export async function destroyRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  match: Match,
  rules: RecordRules | null,
): Promise<WriteResult> {
  const target: Target = { context, collection, request, rules, grant: requireGrant(context, collection, 'destroy') };
  const key = requireTarget(target, 'destroy', match);
  const rows = await writing(target, [], () => destroyAll(target, key, match));
  if (rules?.access) await context.refresh();
  return { data: String(rows.length), counter: null };
}

function prepared(target: Target, body: unknown, key: unknown): Promise<RuledBody> | RuledBody {
  return target.rules?.prepare?.(body, key, target.context) ?? { body: body as Body };
}

/** The key that update may carry in its body is passed over when it is the record's own. */
function withoutKey(body: unknown, key: unknown, collection: Collection): unknown {
  const { name } = collection.primaryKey;
  if (body === null || typeof body !== 'object' || Array.isArray(body) || !(name in body)) return body;
  const { [name]: given, ...rest } = body as Record<string, unknown>;
  if (given === key) return rest;
  throw new ApiError('BODY_INVALID', `"${name}" is the key of the record and cannot be changed.`);
}

/** @throws ApiError `TARGET_MISSING` with neither a key nor a condition: `{}` never means everything. */
function requireTarget({ collection, request }: Target, action: string, match: Match): unknown {
  const key = keyOf(request.filterByTk, collection);
  if (key === undefined && request.filter === null)
    throw new ApiError('TARGET_MISSING', `${action} needs filterByTk or a filter with a condition.`);
  if (match !== null && (key === undefined || Array.isArray(key)))
    throw new ApiError('HEADER_INVALID', 'If-Match goes with one filterByTk.');
  return key;
}

/** Tells what the database refused in terms of the request. */
async function writing(target: Target, records: readonly CheckedRecord[], work: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DatabaseFault && error.kind === 'foreignKey' && records.length > 0) {
      // SQLite does not say which key was missing, so both engines are asked.
      const read = async (statement: Parameters<Transaction['run']>[0]): Promise<Row[]> =>
        (await target.context.database.read([statement]))[0]!;
      await checkReferences(target.context, target.collection, records, read, true);
    }
    throw writeFault(error, target.collection, records.length > 0);
  }
}

async function insertAll(
  target: Target,
  records: readonly CheckedRecord[],
  ruled: readonly RuledBody[],
): Promise<Row[]> {
  const { context, collection } = target;
  const [first] = records;
  if (records.length === 1 && first && isPlain(target, first)) {
    const plan = insertPlan(target, first, 1);
    if (plan.alone)
      return alone(
        target,
        plan.alone,
        environmentOf(target, { values: [first.values], event: eventOf(target, first.named) }),
      );
  }
  return transact(target, async (transaction) => {
    transaction.touch(collection.table);
    await checkReferences(context, collection, records, (statement) => transaction.run(statement));
    const rows: Row[] = [];
    for (const chunk of chunks(records, context.database.dialect.rowsPerInsert)) {
      rows.push(...(await insertChunk(target, chunk, transaction)));
      await advanceKey(target, chunk, transaction);
    }
    for (const [index, each] of ruled.entries()) await each.beside?.(transaction, rows[index]![at.key]);
    await finish(target, transaction, 'created', rows, [...new Set(records.flatMap((record) => record.named))]);
    return rows;
  });
}

/** PostgreSQL's own numbers pass explicit ones only when told; SQLite sees them. */
async function advanceKey(
  { context, collection }: Target,
  records: readonly CheckedRecord[],
  transaction: Transaction,
): Promise<void> {
  const { primaryKey } = collection;
  if (!primaryKey.autoIncrement || !records.some((record) => record.named.includes(primaryKey.name))) return;
  const statement = context.database.dialect.advanceKey(collection.table, primaryKey.column!);
  if (statement) await transaction.run(fixed(context.database.dialect, statement));
}

function insertPlan(target: Target, record: CheckedRecord, rows: number): WritePlan {
  const names = columnsOf(target.collection)
    .map((field) => field.name)
    .filter((name) => record.values[name] !== undefined);
  const { context, collection, request, grant } = target;
  const key = `${collection.name}:create ${request.shape} ${rows} ${names.join()}`;
  return keptPlan(context, key, () => planInsert(request, collection, grant, names, rows, planContext(context)));
}

async function insertChunk(target: Target, chunk: readonly CheckedRecord[], transaction: Transaction): Promise<Row[]> {
  const plan = insertPlan(target, chunk[0]!, chunk.length);
  const environment = environmentOf(target, { values: chunk.map((record) => record.values) });
  const written = await transaction.run(bind(target.context.database.dialect, plan.statement, environment));
  if (written.length < chunk.length) throw new StaleVersion();
  return lookedAt(target, plan, written, transaction);
}

/** Runs of records that give the same fields, so that one statement serves a run. */
function* chunks(records: readonly CheckedRecord[], most: number): Generator<readonly CheckedRecord[]> {
  let run: CheckedRecord[] = [];
  let fields = '';
  for (const record of records) {
    const own = Object.keys(record.values).sort().join();
    if (run.length === most || (run.length > 0 && own !== fields)) {
      yield run;
      run = [];
    }
    fields = own;
    run.push(record);
  }
  if (run.length > 0) yield run;
}

async function updateAll(
  target: Target,
  key: unknown,
  record: CheckedRecord,
  ruled: RuledBody,
  match: Match,
): Promise<Row[]> {
  const { context, collection } = target;
  const counter = typeof match === 'number' ? match : null;
  const names = Object.keys(record.values);
  const plan = keptPlan(
    context,
    `${collection.name}:update ${target.request.shape} ${counter !== null} ${names.join()}`,
    () => planUpdate(target.request, collection, target.grant, names, counter !== null, planContext(context)),
  );
  const environment = environmentOf(target, {
    key,
    record: record.values,
    counter: counter ?? 0,
    event: eventOf(target, record.named),
  });
  const single = key !== undefined && !Array.isArray(key);
  if (plan.alone && single && isPlain(target, record)) {
    const rows = await alone(target, plan.alone, environment, true);
    if (rows.length > 0) return rows;
    // Nothing was reached: the careful way says why.
  }
  return transact(
    target,
    async (transaction) => {
      transaction.touch(collection.table);
      await guardRules(target, transaction, 'update', environment, ruled.body);
      if (!single) await checkReach(target, transaction, environment);
      await checkReferences(context, collection, [record], (statement) => transaction.run(statement));
      const written = await transaction.run(bind(context.database.dialect, plan.statement, environment));
      await explainNothing(target, transaction, environment, written.length, counter);
      const rows = await lookedAt(target, plan, written, transaction);
      for (const row of rows) await ruled.beside?.(transaction, row[at.key]);
      await finish(target, transaction, 'updated', rows, record.named);
      return rows;
    },
    !single,
  );
}

async function destroyAll(target: Target, key: unknown, match: Match): Promise<Row[]> {
  const { context, collection, request, grant } = target;
  const counter = typeof match === 'number' ? match : null;
  const plan = keptPlan(context, `${collection.name}:destroy ${request.shape} ${counter !== null}`, () =>
    planDestroy(request, collection, grant, counter !== null, planContext(context)),
  );
  const environment = environmentOf(target, { key, counter: counter ?? 0, event: eventOf(target, []) });
  const single = key !== undefined && !Array.isArray(key);
  if (plan.alone && single && !target.rules) {
    const rows = await alone(target, plan.alone, environment, true);
    if (rows.length > 0) return rows;
  }
  return transact(
    target,
    async (transaction) => {
      transaction.touch('*'); // records of other tables may fall or lose their link with it
      await guardRules(target, transaction, 'destroy', environment, null);
      if (!single) await checkReach(target, transaction, environment);
      const rows = await transaction.run(bind(context.database.dialect, plan.statement, environment));
      await explainNothing(target, transaction, environment, rows.length, counter);
      await finish(target, transaction, 'destroyed', rows, []);
      return rows;
    },
    !single,
  );
}

/** A transaction that begins under the snapshot it was planned for. @param heavy many rows: runs off the event loop. */
function transact(
  { context }: Target,
  work: (transaction: Transaction) => Promise<Row[]>,
  heavy = false,
): Promise<Row[]> {
  return context.database.write(work, { heavy, precondition: context.requireCurrent });
}

/** One statement that commits by itself: nothing has to be looked at between write and commit. */
async function alone(
  target: Target,
  statement: Statement,
  environment: BindEnvironment,
  mayMiss = false,
): Promise<Row[]> {
  const { database, requireCurrent } = target.context;
  const bound = bind(database.dialect, statement, environment);
  const rows = await database.writeOne(bound, [target.collection.table], { precondition: requireCurrent });
  if (rows.length === 0 && !mayMiss) throw new StaleVersion();
  return rows;
}

/** Whether a write needs no look at other rows: no rules, no restricted reference, no key of its own. */
function isPlain({ rules, collection, context }: Target, record: CheckedRecord): boolean {
  if (rules || record.named.includes(collection.primaryKey.name)) return false;
  return columnsOf(collection).every((field) => {
    if (!field.references || !record.named.includes(field.name)) return true;
    const grant = context.grantOf(field.references.collection, 'get');
    return grant !== null && grant.rows === null;
  });
}

/** Reads back what RETURNING cannot say, and refuses rows that no longer pass the row filter. */
async function lookedAt(
  target: Target,
  plan: WritePlan,
  written: readonly Row[],
  transaction: Transaction,
): Promise<Row[]> {
  let rows = [...written];
  if (plan.look && written.length > 0) {
    const keys = written.map((row) => row[at.key]);
    const found = await transaction.run(
      bind(target.context.database.dialect, plan.look, environmentOf(target, { key: keys })),
    );
    const byKey = new Map(found.map((row) => [row[at.key], row]));
    rows = keys.map((key) => byKey.get(key)!);
  }
  if (rows.some((row) => !row[at.passes])) {
    throw new ApiError(
      'NO_PERMISSION',
      `The role's row filter on ${target.collection.name} does not admit the record as it would be.`,
    );
  }
  return rows;
}

async function guardRules(
  target: Target,
  transaction: Transaction,
  action: 'update' | 'destroy',
  environment: BindEnvironment,
  body: Body | null,
): Promise<void> {
  const { context, collection, rules } = target;
  if (!rules?.guard) return;
  const statement = planKeys(target.request, collection, target.grant, planContext(context));
  const rows = await transaction.run(bind(context.database.dialect, statement, environment));
  await rules.guard(
    transaction,
    action,
    rows.map((row) => row[0]),
    body,
    context,
  );
}

/** By filter: not more than the cap. By keys: all of them exist and may be reached, or nothing happens. */
async function checkReach(target: Target, transaction: Transaction, environment: BindEnvironment): Promise<void> {
  const { context, collection, request, grant } = target;
  const { dialect } = context.database;
  const plan = planReach(request, collection, grant, limits.recordsByFilter, planContext(context));
  const [row] = await transaction.run(bind(dialect, plan, environment));
  const reached = Number(row![0]);
  if (reached > limits.recordsByFilter) {
    throw new ApiError('LIMIT_EXCEEDED', `The filter matches more than ${limits.recordsByFilter} records; narrow it.`);
  }
  if (!Array.isArray(environment.key) || reached === environment.key.length) return;
  const there = await transaction.run(
    bind(dialect, planDiagnosis(request, collection, grant, planContext(context)), environment),
  );
  const found = there.filter((each) => each[2]).length;
  if (found < there.length || there.length < environment.key.length) throw missing(collection, grant);
  if (request.filter !== null)
    throw new ApiError('RECORD_UNKNOWN', 'Not every record of filterByTk matches the filter.');
}

/** Why a write of one record reached none: it is stale, filtered away, changed meanwhile, or not there. */
async function explainNothing(
  target: Target,
  transaction: Transaction,
  environment: BindEnvironment,
  reached: number,
  counter: number | null,
): Promise<void> {
  const { context, collection, request, grant } = target;
  if (reached > 0 || request.filterByTk === undefined) return;
  const { dialect } = context.database;
  if (dialect.shared) {
    const [meta] = await transaction.run({ text: 'SELECT version FROM _meta', values: [] });
    if (Number(meta![0]) !== context.version) throw new StaleVersion();
  }
  const [row] = await transaction.run(
    bind(dialect, planDiagnosis(request, collection, grant, planContext(context)), environment),
  );
  if (!row?.[2]) throw missing(collection, grant);
  if (counter !== null && Number(row[1]) !== counter) {
    throw new ApiError(
      'VERSION_STALE',
      'The record has changed since it was read; read it again. Nothing was written.',
    );
  }
  throw new ApiError('RECORD_UNKNOWN', 'The record does not match the filter.');
}

/** What ends every write: its events, and the version where access changed. */
async function finish(
  target: Target,
  transaction: Transaction,
  verb: string,
  rows: readonly Row[],
  named: readonly string[],
): Promise<void> {
  const { context, collection, rules } = target;
  const changed = named.filter((name) => !collection.byName.get(name)?.type.secret);
  const events = {
    name: `${collection.name}.${verb}`,
    resource: collection.name,
    tks: rows.map((row) => String(row[at.key])),
    actor: actorOf(context.caller),
    requestId: context.requestId,
    changed,
  };
  await context.changes.append(transaction, events, isoTime(context.clock.now()));
  if (rules?.access) await bumpVersion(transaction);
}

function eventOf({ context }: Target, changed: readonly string[]): BindEnvironment['event'] {
  return { at: isoTime(context.clock.now()), actor: actorOf(context.caller), requestId: context.requestId, changed };
}

function environmentOf(target: Target, parts: BindParts): BindEnvironment {
  return environmentFor(target.context, target.request, parts);
}

function shown(row: Row, collection: Collection): string {
  return row[at.seen] ? (row[at.object] as string) : JSON.stringify({ [collection.primaryKey.name]: row[at.key] });
}
