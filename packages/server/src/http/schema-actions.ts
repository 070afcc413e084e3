/** The actions `schema:…`: read, compare and apply the whole schema as a document, and list its revisions. */

import type { DefinitionContext, DefinitionDryRun } from '../collections/definition-context.ts';
import { DryRunRollback } from '../collections/definition-context.ts';
import { countRows } from '../database/column-data.ts';
import { readRevisions } from '../database/schema-rows.ts';
import { readTombstones } from '../database/schema-tombstones.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import {
  type AppliedSchema,
  applyWanted,
  type CurrentSchema,
  findLockedCollections,
  parseWanted,
  planWanted,
  readCurrentSchema,
  readEarlierDocument,
} from '../revisions/apply-schema.ts';
import type { SchemaDocument } from '../revisions/document.ts';
import type { SchemaPlan } from '../revisions/plan-schema.ts';
import { isDryRun, readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

const applyMembers = ['allowDestructive', 'state', 'summary'];
/** The members that the bodies of the actions may have. */
const bodyMembers: Readonly<Record<string, readonly string[]>> = {
  diff: ['schema', 'to'],
  apply: ['schema', ...applyMembers],
  rollback: ['to', ...applyMembers],
};

/** Runs an action of the schema. @throws ApiError 403 unless the role may configure. */
export async function runSchemaAction(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId, route } = request;
  const { access } = application.recordContext(caller, requestId);
  if (!access.roles.get(caller.role)?.allowConfigure) throw permissionDenied('schema', route.action);
  if (route.action === 'revisions') return listRevisions(request);
  const allowsDryRun = route.action === 'apply' || route.action === 'rollback';
  const parameters = readKnownParameters(request, [], allowsDryRun);
  const dryRun: DefinitionDryRun | null = allowsDryRun && isDryRun(parameters) ? { changes: [], records: {} } : null;
  const context = application.definitionContext(caller, requestId, dryRun);
  const body = readBody(request, bodyMembers[route.action] ?? []);
  const current = await readCurrentSchema(context);
  const { state, document } = current;
  if (route.action === 'pull') return { data: JSON.stringify({ state, schema: document }) };
  const to = readTo(body);
  const isRollback = route.action === 'rollback' || to !== undefined;
  const input = isRollback ? await readEarlierDocument(context, to ?? null) : body['schema'];
  const wanted = parseWanted(context, current, input);
  if (route.action === 'diff') return { data: JSON.stringify(await describePlan(context, current, wanted)) };
  const summary = readText(body, 'summary') ?? (isRollback ? describeRollback(to) : 'Applied');
  const options = {
    allowDestructive: body['allowDestructive'] === true,
    state: readText(body, 'state') ?? null,
    summary,
  };
  const result = await applyWanted(context, current, wanted, options).catch((error: unknown) => {
    if (!(error instanceof DryRunRollback)) throw error;
    const { steps } = planWanted(current, wanted);
    return { revision: null, steps, restored: [], secrets: [] } satisfies AppliedSchema;
  });
  return { data: JSON.stringify(result), ...(dryRun && { meta: { dryRun: true } }) };
}

function describeRollback(to: number | null | undefined): string {
  return to === undefined || to === null ? 'Undid the last revision' : `Restored the state after revision ${to}`;
}

function readBody({ body = {}, route }: RequestContext, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isObject(body)) throw new ApiError('BODY_INVALID', `The body of schema:${route.action} must be an object.`);
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ApiError(
      'BODY_INVALID',
      `The body of schema:${route.action} has no property "${unknown.slice(0, 60)}". Its properties are: ${known.join(', ')}.`,
    );
  const { allowDestructive } = body;
  if (allowDestructive !== undefined && typeof allowDestructive !== 'boolean')
    throw new ApiError('BODY_INVALID', '"allowDestructive" must be true or false.');
  return body;
}

function readText(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const text = body[name];
  if (text === undefined || (typeof text === 'string' && text.length <= 500)) return text;
  throw new ApiError('BODY_INVALID', `"${name}" must be text of at most 500 characters.`);
}

/** Null: the state before the last revision. */
function readTo({ to, schema }: Readonly<Record<string, unknown>>): number | null | undefined {
  if (to === undefined) return undefined;
  if (schema !== undefined)
    throw new ApiError('BODY_INVALID', 'The body has both "to" and "schema". Omit one of them.');
  if (to === null) return null;
  if (typeof to === 'number' && Number.isInteger(to) && to >= 0 && to < 2 ** 31) return to;
  throw new ApiError(
    'BODY_INVALID',
    '"to" must be the number of a revision, or 0 for the state before the first one. schema:revisions lists them.',
  );
}

async function listRevisions(request: RequestContext): Promise<ActionResult> {
  readKnownParameters(request, [], false);
  const { database } = request.application;
  const revisions = await readRevisions(database);
  const tombstones = await readTombstones(database, null, null);
  const kept = tombstones.map(({ name, records, at, expires }) => ({ name, records, at, expires }));
  return { data: JSON.stringify({ revisions, tombstones: kept }) };
}

/** A plan, with the number of records and the locks of each step. */
async function describePlan(
  context: DefinitionContext,
  current: CurrentSchema,
  wanted: SchemaDocument,
): Promise<Record<string, unknown>> {
  const plan = planWanted(current, wanted);
  const locked = findLockedCollections(context, plan);
  const { database } = context;
  const locksTables = database.dialect.lockTables(['t'], false) !== null;
  const counts = new Map<string, number>();
  // A transaction that only counts: it waits for nothing.
  if (locked.length > 0)
    await database.write(
      async (transaction) => {
        for (const { name, table } of locked) counts.set(name, await countRows(database, transaction, table));
      },
      { heavy: true, longRunning: true },
    );
  return {
    state: current.state,
    same: plan.steps.length === 0,
    destructive: plan.steps.filter(({ destructive }) => destructive).length,
    steps: plan.steps.map((step) => ({ ...step, records: countFor(plan, step, counts) })),
    locks: {
      // SQLite has one writer at a time. PostgreSQL locks the tables that change, also for reads.
      blocks: locksTables ? 'readsAndWrites' : 'writes',
      collections: locksTables ? locked.map(({ name }) => name).sort() : plan.steps.length === 0 ? [] : ['*'],
    },
  };
}

/** The number of records that a step concerns; null for steps without records. */
function countFor(
  { steps }: SchemaPlan,
  { kind, action, of, from }: SchemaPlan['steps'][number],
  counts: ReadonlyMap<string, number>,
): number | null {
  if (kind !== 'collection' && kind !== 'field') return null;
  if (action === 'adopt') return null;
  const renamed = steps.find((each) => each.kind === 'collection' && each.action === 'rename' && each.of === of)?.from;
  return counts.get((kind === 'collection' ? from : undefined) ?? renamed ?? of) ?? 0;
}
