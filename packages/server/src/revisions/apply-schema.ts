/** Compares a schema document with the state of an application, and changes the state to match the document. */
import { isoTime } from '../base/clock.ts';
import { runDefinitionSteps } from '../collections/definition-change.ts';
import type { DefinitionContext, DefinitionTransaction } from '../collections/definition-context.ts';
import { insertRevision, maxRevisions, readRevisionDocument, readRevisionRange } from '../database/schema-rows.ts';
import { formatActor } from '../identity/caller.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { Collection } from '../schema/registry.ts';
import { hashDocument, type SchemaDocument, toCanonicalText } from './document.ts';
import { matchDocuments } from './match-documents.ts';
import { type DocumentLimits, parseDocument } from './parse-document.ts';
import { planSchema, type SchemaPlan, type SchemaStep } from './plan-schema.ts';
import {
  addPortableIds,
  generatePortableId,
  readStoredSchema,
  type StoredSchema,
  storePortableIds,
  toDocument,
  withPortableIds,
} from './read-document.ts';
import type { CreatedSecret } from './record-steps.ts';
import { runSteps } from './run-steps.ts';
import { createKeeper, tombstoneDays } from './tombstones.ts';

/** The present state of an application. */
export interface CurrentSchema {
  readonly stored: StoredSchema;
  readonly document: SchemaDocument;
  /** Identifies the state. */
  readonly state: string;
}

/** Reads the present state. Definitions without portable ids get them. */
export async function readCurrentSchema({ database, registry }: DefinitionContext): Promise<CurrentSchema> {
  const stored = await withPortableIds(database, await readStoredSchema(database, registry, null));
  const document = toDocument(stored);
  return { stored, document, state: hashDocument(document) };
}

/** Parses a document for the present state. @throws ApiError 422. */
export function parseWanted(context: DefinitionContext, { stored }: CurrentSchema, input: unknown): SchemaDocument {
  const { registry, maxFields } = context;
  const byId = new Map<unknown, Collection>();
  for (const collection of registry.all()) {
    const id = stored.ids.find('collection', collection.id);
    if (id !== null) byId.set(id, collection);
  }
  const findExisting: DocumentLimits['findExisting'] = (id, name) =>
    byId.get(id) ?? (typeof name === 'string' ? registry.find(name) : null);
  const system = new Set<unknown>(registry.systemTraits.keys());
  for (const { name } of registry.all().filter((each) => each.system)) system.add(name);
  return parseDocument(input, { maxFields, findExisting, isSystemName: (name) => system.has(name) });
}

/** Plans the changes of a document, with ids for new definitions. */
export function planWanted(current: CurrentSchema, wanted: SchemaDocument): SchemaPlan {
  const checked = withoutRoleMistakes(current.document, wanted);
  return planSchema(current.document, completeIds(matchDocuments(current.document, checked).result));
}

/** Built-in roles are the same in every application, whatever their entries say. @throws ApiError 422 if one is missing. */
function withoutRoleMistakes(current: SchemaDocument, wanted: SchemaDocument): SchemaDocument {
  const builtIn = new Map(current.roles.filter((role) => role.builtIn).map((role) => [role.name, role]));
  const roles = wanted.roles.map((role, index) => {
    const own = builtIn.get(role.name);
    if (own) return { ...role, id: own.id, builtIn: true as const };
    if (role.builtIn || builtIn.has(role.id))
      throw invalidDefinition({
        [`roles[${index}].name`]:
          'A built-in role cannot be renamed, and other roles cannot be built in. Keep the name, or remove "builtIn".',
      });
    return role;
  });
  const missing = [...builtIn.keys()].find((name) => !roles.some((role) => role.name === name));
  if (missing !== undefined)
    throw invalidDefinition({ roles: `The built-in role "${missing}" is missing, and cannot be destroyed. Add it.` });
  return { ...wanted, roles };
}

function completeIds(document: SchemaDocument): SchemaDocument {
  const complete = <Entry extends { readonly id: string }>(entry: Entry): Entry =>
    entry.id === '' ? { ...entry, id: generatePortableId() } : entry;
  return {
    ...document,
    collections: document.collections.map((each) => ({
      ...complete(each),
      ...(each.system && { id: each.name }),
      fields: each.fields.map(complete),
    })),
    roles: document.roles.map(complete),
    webhooks: document.webhooks.map(complete),
  };
}

/** How a document is applied. */
export interface ApplyOptions {
  readonly allowDestructive: boolean;
  /** The state that the caller has compared with; null: any. */
  readonly state: string | null;
  /** A sentence for the list of revisions. */
  readonly summary: string;
}

export interface AppliedSchema {
  /** The number of the new revision; null if there was nothing to change. */
  readonly revision: number | null;
  readonly steps: readonly SchemaStep[];
  /** The fields and collections whose data was restored, such as `posts.title`. */
  readonly restored: readonly string[];
  /** Generated secrets of new webhooks. They are shown once. */
  readonly secrets: readonly CreatedSecret[];
}

/**
 * Applies a document in one transaction: all of it, or nothing.
 *
 * @throws ApiError 409 for destructive steps that are not allowed, 412 if the state has changed, 422 for an invalid
 * document, and the errors of single changes, with their paths in the document.
 */
export async function applyWanted(
  context: DefinitionContext,
  current: CurrentSchema,
  wanted: SchemaDocument,
  options: ApplyOptions,
): Promise<AppliedSchema> {
  if (options.state !== null && options.state !== current.state)
    throw new ApiError(
      'VERSION_STALE',
      'The schema was changed after "state" was read. Send schema:diff again, and use its state.',
    );
  const plan = planWanted(current, wanted);
  if (plan.steps.length === 0) return { revision: null, steps: [], restored: [], secrets: [] };
  refuseDestructive(plan, options);
  const { database } = context;
  const webhooks = new Map(
    current.stored.webhooks.map(({ id }) => [current.stored.ids.find('webhook', id) ?? '', id] as const),
  );
  const secrets: CreatedSecret[] = [];
  let restored: string[] = [];
  let revision = 0;
  const tables = findLockedCollections(context, plan).map(({ table }) => table);
  const hasDefinitions = plan.steps.some(
    ({ kind, action }) => action !== 'adopt' && (kind === 'collection' || kind === 'field'),
  );
  const keeping = { ...context, keepDropped: createKeeper(context, current.stored.ids) };
  await runDefinitionSteps(keeping, { subject: 'the schema', tables, needsRebuild: hasDefinitions }, async (step) => {
    secrets.length = 0;
    const records = { wanted: plan.result, webhooks: new Map(webhooks), secrets, renamedRoles: new Map() };
    restored = await runSteps(step, plan, records);
    await step(async ({ tx }) => {
      const { transaction, registry } = tx as DefinitionTransaction;
      const after = await readStoredSchema(database, registry, transaction);
      await storePortableIds(database, transaction, after, { document: plan.result, webhooks: records.webhooks });
      const reached = toDocument(await addPortableIds(database, transaction, after));
      requireReached(reached, plan.result);
      const { caller, clock } = context;
      revision = await insertRevision(database, transaction, {
        at: isoTime(clock.now()),
        actor: caller && formatActor(caller),
        summary: options.summary,
        steps: plan.steps,
        before: toCanonicalText(current.document),
        after: toCanonicalText(reached),
      });
    });
  });
  return { revision, steps: plan.steps, restored, secrets };
}

function refuseDestructive({ steps }: SchemaPlan, { allowDestructive }: ApplyOptions): void {
  const destructive = steps.filter((step) => step.destructive);
  if (allowDestructive || destructive.length === 0) return;
  const names = destructive.map(describeStep);
  throw new ApiError(
    'DATA_WOULD_BE_LOST',
    `The schema has ${destructive.length} destructive ${destructive.length === 1 ? 'step' : 'steps'}: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}. Nothing was changed. To accept this, send "allowDestructive": true. The data of fields and collections is kept for ${tombstoneDays} days.`,
    { details: Object.fromEntries(destructive.map((step) => [describeSubject(step), describeStep(step)])) },
  );
}

function describeSubject({ of, name }: SchemaStep): string {
  return name === undefined ? of : `${of}.${name}`;
}

function describeStep(step: SchemaStep): string {
  return `${step.action} ${step.kind} ${describeSubject(step)}`;
}

/** A step that had no effect must not be recorded as applied. */
function requireReached(reached: SchemaDocument, wanted: SchemaDocument): void {
  const { steps } = planSchema(reached, wanted);
  if (steps.length === 0) return;
  const details = steps.map((step) => [
    describeSubject(step),
    `${describeStep(step)}: ${JSON.stringify(step.values ?? {})}`,
  ]);
  throw new ApiError(
    'DEFINITION_INVALID',
    `These changes are not possible: ${steps.map(describeStep).join(', ')}. Nothing was changed.`,
    { details: Object.fromEntries(details) as Record<string, string> },
  );
}

/** The present collections that a plan changes, and those at the other end of changed relations. */
export function findLockedCollections({ registry }: DefinitionContext, { steps }: SchemaPlan): Collection[] {
  const former = new Map(steps.flatMap(({ kind, of, from }) => (kind === 'collection' && from ? [[of, from]] : [])));
  const names = new Set<string>();
  const add = (name: unknown): void => {
    if (typeof name === 'string') names.add(former.get(name) ?? name);
  };
  for (const { action, kind, of, values = {}, before = {} } of steps) {
    if (action === 'adopt' || (kind !== 'collection' && kind !== 'field')) continue;
    add(of);
    const fields = kind === 'field' ? [values, before] : ((values['fields'] ?? []) as readonly object[]);
    for (const field of fields as readonly { target?: unknown; through?: unknown }[]) {
      add(field.target);
      add(field.through);
    }
    if (action === 'destroy' && kind === 'collection')
      for (const other of registry.all())
        if (other.fields.some(({ references, relation }) => (references?.collection ?? relation?.target) === of))
          add(other.name);
  }
  return [...names].flatMap((name) => registry.find(name) ?? []);
}

/**
 * The document that a rollback restores.
 *
 * @param to the number of the revision whose result is wanted; 0: the state before the first; null: before the last one.
 * @throws ApiError 404 if the revision does not exist or is no longer stored.
 */
export async function readEarlierDocument({ database }: DefinitionContext, to: number | null): Promise<unknown> {
  const { first, last } = await readRevisionRange(database);
  const [number, which] =
    to === null ? ([last, 'before'] as const) : to === 0 ? ([1, 'before'] as const) : ([to, 'after'] as const);
  const text = await readRevisionDocument(database, number, which);
  if (text === null) throw new ApiError('RECORD_UNKNOWN', describeMissing(number, first, last));
  return JSON.parse(text) as unknown;
}

function describeMissing(number: number, first: number, last: number): string {
  if (last === 0) return 'There is no revision yet.';
  if (number > last) return `There is no revision ${number}. The latest one is ${last}.`;
  return `Revision ${number} is no longer stored. The latest ${maxRevisions} are kept, and the oldest of them is ${first}. Use a later revision, or apply the files of that time.`;
}
