/** Runs the steps of a plan in one transaction, each by the function that its own action uses. */

import { changeCollection } from '../collections/change-collection.ts';
import { changeField } from '../collections/change-field.ts';
import { addField, defineCollection } from '../collections/define-collection.ts';
import type { DefinitionStep } from '../collections/definition-change.ts';
import { findDependentRelations } from '../collections/dependent-relations.ts';
import { dropCollection } from '../collections/drop-collection.ts';
import { dropField } from '../collections/drop-field.ts';
import type { CollectionOptions } from '../protocol/definition.ts';
import { type CollectionChange, checkCollection } from '../schema/definition-check.ts';
import { checkField } from '../schema/field-definition-check.ts';
import { hasColumn, type Registry } from '../schema/registry.ts';
import { isEqual, type Members, type SchemaDocument, toFieldDefinition } from './document.ts';
import type { SchemaPlan, SchemaStep } from './plan-schema.ts';
import {
  atPath,
  createPermissions,
  destroyPermissions,
  type RecordSteps,
  runRecordStep,
  type StepContext,
} from './record-steps.ts';
import { type RunStep, runRenames } from './run-renames.ts';
import { type CreatedDefinition, restoreTombstones } from './tombstones.ts';

/** @returns the names of the fields and collections that were restored from tombstones. */
export async function runSteps(step: DefinitionStep, plan: SchemaPlan, records: RecordSteps): Promise<string[]> {
  const run: RunStep = (work) => step((context) => work(context as StepContext));
  const steps = await runRenames(run, plan.steps, records);
  const isDefinition = ({ kind }: SchemaStep): boolean => kind === 'collection' || kind === 'field';
  const definitions = steps.filter(isDefinition);
  await run((context) => destroyPermissions(context, records));
  for (const each of steps.filter(({ kind, action }) => kind === 'webhook' && action === 'destroy'))
    await run((context) => runRecordStep(context, each, records));
  const destroyed = definitions.filter(({ action }) => action === 'destroy');
  for (const { of } of destroyed.filter(({ kind }) => kind === 'collection')) await destroyRelations(run, of);
  for (const each of destroyed) await run((context) => destroyDefinition(context, each));
  await releaseForeignKeys(run, definitions);
  const readded = await readdDropped(run, plan);
  let restored: string[] = [];
  const created = definitions.filter(({ action }) => action === 'create');
  const changed = definitions.filter(({ action }) => action === 'change');
  for (const each of changed) await removeIndexes(run, each);
  for (const each of changed.filter(isSwitch)) await runDefinition(run, each);
  for (const each of created) await runDefinition(run, each);
  await run(async (context) => {
    const definitionsAfter = listCreated(context.tx.registry, plan, readded);
    restored = await restoreTombstones(context, context.tx.transaction, definitionsAfter);
  });
  for (const each of changed.filter((other) => !isSwitch(other))) await runDefinition(run, each);
  await restoreIndexes(run, plan.result, readded);
  const roles = steps.filter(({ kind, action }) => kind === 'role' && (action === 'create' || action === 'change'));
  for (const each of roles) await run((context) => runRecordStep(context, each, records));
  await run((context) => createPermissions(context, records));
  for (const each of steps.filter(({ kind, action }) => kind === 'webhook' && action !== 'destroy'))
    await run((context) => runRecordStep(context, each, records));
  for (const each of steps.filter(({ kind, action }) => kind === 'role' && action === 'destroy'))
    await run((context) => runRecordStep(context, each, records));
  return restored;
}

/** The relations of a collection that is destroyed: they may need foreign keys of other collections that are destroyed before it. */
async function destroyRelations(run: RunStep, of: string): Promise<void> {
  const names: string[] = [];
  await run(async ({ tx }) => {
    const fields = tx.registry.find(of)?.fields ?? [];
    names.push(...fields.filter(({ relation, serverManaged }) => relation && !serverManaged).map(({ name }) => name));
  });
  for (const name of names) await run((context) => dropField(context, of, name));
}

async function destroyDefinition(context: StepContext, { kind, of, name = '' }: SchemaStep): Promise<void> {
  const collection = context.tx.registry.find(of);
  // The collection may already have been destroyed together with another one, as joins are.
  if (kind === 'collection') return collection ? dropCollection(context, of, true) : undefined;
  if (collection?.byName.has(name)) await dropField(context, of, name);
}

/**
 * A new relation may need another reference of an existing foreign key. If no other relation uses the key, it is
 * dropped; it is added again without a reference, and its values are restored from its tombstone.
 */
async function releaseForeignKeys(run: RunStep, definitions: readonly SchemaStep[]): Promise<void> {
  for (const step of definitions.filter(({ action, kind }) => action === 'create' && kind === 'field'))
    for (const { owner, name, target, onDelete } of listForeignKeys(step))
      await run(async (context) => {
        const { registry } = context.tx;
        const collection = registry.find(owner);
        const key = collection?.byName.get(name);
        if (!collection || !key?.references) return;
        const { references } = key;
        const isSame = references.collection === target && (onDelete === undefined || references.onDelete === onDelete);
        if (!isSame && findDependentRelations(collection, key, registry).length === 0)
          await dropField(context, owner, name);
      });
}

interface WantedForeignKey {
  readonly owner: string;
  readonly name: string;
  readonly target: unknown;
  /** Undefined: any. */
  readonly onDelete?: unknown;
}

/** The foreign keys that a new relation names. */
function listForeignKeys({ of, values = {} }: SchemaStep): WantedForeignKey[] {
  const { type, target, through, foreignKey, otherKey, onDelete } = values;
  const make = (owner: unknown, name: unknown, to: unknown, effect?: unknown): WantedForeignKey[] =>
    typeof owner === 'string' && typeof name === 'string' ? [{ owner, name, target: to, onDelete: effect }] : [];
  if (type === 'belongsTo') return make(of, foreignKey, target, onDelete);
  if (type === 'hasOne' || type === 'hasMany') return make(target, foreignKey, of, onDelete);
  return type === 'belongsToMany' ? [...make(through, foreignKey, of), ...make(through, otherKey, target)] : [];
}

/** Indexes over foreign keys that were dropped and added again. */
async function restoreIndexes(run: RunStep, document: SchemaDocument, readded: ReadonlySet<string>): Promise<void> {
  const names = new Set([...readded].map((each) => each.slice(0, each.indexOf('.'))));
  for (const { name, options } of document.collections.filter((each) => names.has(each.name) && !each.system))
    await run(async (context) => {
      const { indexes = [], search = [] } = context.tx.registry.get(name).options;
      const wanted = { indexes: options?.indexes ?? [], search: options?.search ?? [] };
      if (!isEqual({ indexes, search }, wanted)) await changeCollection(context, name, toChange(wanted));
    });
}

/** Foreign keys that were dropped with their target, although the wanted schema has them as plain fields. */
async function readdDropped(run: RunStep, { steps, result }: SchemaPlan): Promise<ReadonlySet<string>> {
  const readded = new Set<string>();
  const isCreated = (of: string, name: string): boolean =>
    steps.some(
      (each) => each.action === 'create' && each.of === of && (each.kind === 'collection' || each.name === name),
    );
  for (const collection of result.collections)
    for (const field of collection.fields)
      await run(async ({ tx, ...context }) => {
        const existing = tx.registry.find(collection.name);
        if (!existing || existing.byName.has(field.name) || isCreated(collection.name, field.name)) return;
        await addField({ ...context, tx }, collection.name, checkField(toFieldDefinition(field)));
        readded.add(`${collection.name}.${field.name}`);
      });
  return readded;
}

/** A change of options that adds or removes columns. */
const isSwitch = ({ action, kind, values = {} }: SchemaStep): boolean =>
  action === 'change' && kind === 'collection' && Object.values(values).every((each) => typeof each === 'boolean');

async function runDefinition(run: RunStep, step: SchemaStep): Promise<void> {
  const { path, subject } = describePath(step);
  await run((context) => runDefinitionStep(context, step).catch(atPath(path, subject)));
}

async function runDefinitionStep(
  context: StepContext,
  { action, kind, of, name = '', values = {} }: SchemaStep,
): Promise<void> {
  if (kind === 'field') {
    const existing = context.tx.registry.find(of)?.byName.get(name);
    if (action === 'change') await changeField(context, of, name, values);
    // The other side of a relation may have created it, such as a foreign key.
    else if (!existing) await addField(context, of, checkField(values));
    return;
  }
  if (action === 'create') return defineCollection(context, checkCollection(values, context.maxFields));
  // Tombstones do not contain the trash and the history, so options that would delete them are refused while they have
  // data.
  const force = values['paranoid'] !== false && values['logging'] !== false;
  await changeCollection(context, of, toChange(values), force);
}

/** Indexes that are no longer wanted are removed before their fields change, because the new type may not have one. */
async function removeIndexes(run: RunStep, { kind, of, values = {} }: SchemaStep): Promise<void> {
  const { indexes, search } = values as { readonly indexes?: readonly object[]; readonly search?: readonly string[] };
  if (kind !== 'collection' || (indexes === undefined && search === undefined)) return;
  await run(async (context) => {
    const present: Partial<CollectionOptions> = context.tx.registry.find(of)?.options ?? {};
    const left = {
      ...(indexes && {
        indexes: (present.indexes ?? []).filter((each) => indexes.some((other) => isEqual(each, other))),
      }),
      ...(search && { search: (present.search ?? []).filter((each) => search.includes(each)) }),
    };
    const isSame = Object.entries(left).every(
      ([name, list]) => list.length === (present[name as 'search'] ?? []).length,
    );
    if (!isSame) await changeCollection(context, of, toChange(left));
  });
}

function toChange({ title, description, indexes, search, ...switches }: Members): CollectionChange {
  return { title, description, indexes, search, switches } as CollectionChange;
}

/** Where in the document a step comes from, by names: its lists may be in another order than those of the request. */
function describePath({ kind, of, name }: SchemaStep): { readonly path: string; readonly subject: string } {
  const path = `collections.${of}`;
  return kind === 'field' ? { path: `${path}.fields.${name}`, subject: `${of}.${name}` } : { path, subject: of };
}

/** The definitions that the plan has created, for which tombstones may exist. @param readded fields, such as `posts.authorId`. */
function listCreated(
  registry: Registry,
  { steps, result }: SchemaPlan,
  readded: ReadonlySet<string>,
): CreatedDefinition[] {
  const created = new Set(
    steps
      .filter(({ action, kind }) => action === 'create' && (kind === 'collection' || kind === 'field'))
      .map(({ of, name }) => (name === undefined ? of : `${of}.${name}`)),
  );
  const isSwitchedOn = (of: string): boolean =>
    steps.some((each) => each.of === of && isSwitch(each) && Object.values(each.values ?? {}).includes(true));
  return result.collections.flatMap((entry): CreatedDefinition[] => {
    const collection = registry.find(entry.name);
    if (!collection) return [];
    const shared = { owner: entry.id, collection, fieldIds: new Map(entry.fields.map((each) => [each.name, each.id])) };
    if (created.has(entry.name)) return [{ ...shared, item: entry.id, field: null }];
    const own = entry.fields.filter(({ name }) => [created, readded].some((set) => set.has(`${entry.name}.${name}`)));
    const managed = isSwitchedOn(entry.name) ? collection.fields.filter(({ serverManaged }) => serverManaged) : [];
    const items = [
      ...own.map(({ id, name }) => ({ item: id, name })),
      ...managed.map(({ name }) => ({ item: `${entry.id}:${name}`, name })),
    ];
    return items.flatMap(({ item, name }) => {
      const field = collection.byName.get(name);
      return field && hasColumn(field) ? [{ ...shared, item, field }] : [];
    });
  });
}
