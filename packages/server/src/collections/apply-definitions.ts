/**
 * Applies a whole set of definitions in one transaction: missing collections and fields are created, different ones are
 * changed. Everything that the set does not name stays unchanged, so applying a set twice changes nothing.
 */

import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type {
  CollectionDefinition,
  CollectionOptions,
  FieldDefinition,
  IndexDefinition,
} from '../protocol/definition.ts';
import { prefixDetails } from '../protocol/error-path.ts';
import { listServerManagedFields, type Switches, switchNames } from '../schema/collection-options-check.ts';
import { type CollectionChange, isDefaultKey, type RequestedCollection } from '../schema/definition-check.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { changeCollection } from './change-collection.ts';
import { changeField } from './change-field.ts';
import { addField, defineCollection } from './define-collection.ts';
import { type ChangeScope, runDefinitionSteps } from './definition-change.ts';
import type { DefinitionContext, DefinitionEvent } from './definition-context.ts';
import { getEffectiveDefinition, isSameProperty } from './field-differences.ts';
import { isRelation } from './resolution-draft.ts';

interface FieldChange {
  readonly collection: string;
  readonly name: string;
  readonly changes: Readonly<Record<string, unknown>>;
}

interface Plan {
  readonly created: readonly CollectionDefinition[];
  /** Fields to be added when all collections exist; relations last. */
  readonly added: readonly { readonly collection: string; readonly field: FieldDefinition }[];
  readonly changed: readonly FieldChange[];
  readonly metadataChanges: readonly { readonly collection: string; readonly change: CollectionChange }[];
  /**
   * Options that are switched before fields are added: the new fields may need fields or free names that result from
   * the switch.
   */
  readonly switched: readonly { readonly collection: string; readonly change: CollectionChange }[];
}

/**
 * @returns the events that it caused; none if nothing was different.
 * @throws ApiError as the single change would, with its path in the set.
 */
export async function applyDefinitions(
  context: DefinitionContext,
  wanted: readonly RequestedCollection[],
): Promise<readonly DefinitionEvent[]> {
  const plan = buildPlan(context.registry, wanted);
  if (isEmpty(plan)) return [];
  const events: DefinitionEvent[] = [];
  const scope: ChangeScope = {
    subject: 'the set',
    tables: findAffectedTables(context.registry, plan),
    needsRebuild: mayRebuild(plan),
  };
  await runDefinitionSteps({ ...context, collectedEvents: events }, scope, async (step) => {
    events.length = 0;
    const errorPaths = new ErrorPaths(wanted);
    for (const { collection, change } of plan.switched)
      await step((tx) => changeCollection(tx, collection, change).catch(errorPaths.inCollection(collection)));
    for (const definition of plan.created)
      await step((tx) => defineCollection(tx, definition).catch(errorPaths.inCollection(definition.name, definition)));
    for (const { collection, field } of plan.added)
      await step((tx) => addField(tx, collection, field).catch(errorPaths.inField(collection, field.name)));
    for (const { collection, name, changes: changed } of plan.changed)
      await step((tx) => changeField(tx, collection, name, changed).catch(errorPaths.inField(collection, name)));
    for (const { collection, change } of plan.metadataChanges)
      await step((tx) => changeCollection(tx, collection, change).catch(errorPaths.inCollection(collection)));
  });
  return events;
}

function isEmpty({ created, added, changed, metadataChanges, switched }: Plan): boolean {
  return created.length + added.length + changed.length + metadataChanges.length + switched.length === 0;
}

function buildPlan(registry: Registry, wanted: readonly RequestedCollection[]): Plan {
  const newDefinitions = wanted
    .filter(({ definition }) => !registry.find(definition.name))
    .map(({ definition }) => definition);
  const created = sortByDependency(newDefinitions);
  const added = created.flatMap(({ definition, later }) =>
    later.map((field) => ({ collection: definition.name, field })),
  );
  const changed: FieldChange[] = [];
  const metadataChanges: { collection: string; change: CollectionChange }[] = [];
  for (const { definition, later, indexes } of created) {
    if (later.length > 0 && indexes)
      metadataChanges.push({ collection: definition.name, change: { ...unchanged, indexes } });
  }
  const switched: { collection: string; change: CollectionChange }[] = [];
  for (const { definition, options } of wanted) {
    const { name } = definition;
    const existing = registry.find(name);
    if (!existing) continue;
    const removed = new Set(
      listServerManagedFields(existing.options).filter(
        (each) => !listServerManagedFields(definition.options).includes(each),
      ),
    );
    for (const field of definition.fields) {
      const present = removed.has(field.name) ? undefined : existing.byName.get(field.name);
      if (!present) added.push({ collection: name, field });
      else {
        const changes = findDifferences(present, field, existing, registry);
        if (Object.keys(changes).length > 0) changed.push({ collection: name, name: field.name, changes });
      }
    }
    const switches = findSwitches(definition.options, existing);
    if (Object.keys(switches).length > 0) switched.push({ collection: name, change: { ...unchanged, switches } });
    const change = findMetadataChange(existing, definition, options);
    if (change) metadataChanges.push({ collection: name, change });
  }
  return {
    switched,
    created: created.map((each) => each.definition),
    added: added.sort((one, other) => rankField(one.field) - rankField(other.field)),
    changed,
    metadataChanges,
  };
}

/** Foreign keys are created by the belongsTo if both sides name the same one; a join needs both of its collections. */
export function rankField({ type }: FieldDefinition): number {
  return ['belongsTo', 'hasOne', 'hasMany', 'belongsToMany'].indexOf(type);
}

export interface Creation {
  readonly definition: CollectionDefinition;
  readonly later: readonly FieldDefinition[];
  readonly indexes: readonly IndexDefinition[] | undefined;
}

/**
 * Sorts new collections so that each comes after the targets of its belongsTo fields. Relations in a cycle are added
 * later.
 */
export function sortByDependency(newDefinitions: readonly CollectionDefinition[]): Creation[] {
  const result: Creation[] = [];
  const createdNames = new Set<string>();
  const waiting = [...newDefinitions];
  const targets = (definition: CollectionDefinition): string[] =>
    definition.fields
      .filter(isRelation)
      .filter(({ type }) => type === 'belongsTo')
      .map(({ target }) => target);
  const isAvailable = (name: string, self: string): boolean =>
    name === self || createdNames.has(name) || !newDefinitions.some((each) => each.name === name);
  while (waiting.length > 0) {
    const ready = waiting.findIndex((each) => targets(each).every((target) => isAvailable(target, each.name)));
    const [definition] = waiting.splice(Math.max(0, ready), 1) as [CollectionDefinition];
    const canCreateNow = (field: FieldDefinition): boolean =>
      !isRelation(field) || (field.type === 'belongsTo' && isAvailable(field.target, definition.name));
    const later = definition.fields.filter((field) => !canCreateNow(field));
    result.push(makeCreation(definition, definition.fields.filter(canCreateNow), later));
    createdNames.add(definition.name);
  }
  return result;
}

function makeCreation(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  later: readonly FieldDefinition[],
): Creation {
  if (later.length === 0) return { definition, later, indexes: undefined };
  const { indexes, ...options } = definition.options;
  return { definition: { ...definition, fields, options }, later, indexes };
}

/** The properties in which a definition differs from the field. */
function findDifferences(
  field: Field,
  wanted: FieldDefinition,
  collection: Collection,
  registry: Registry,
): Record<string, unknown> {
  const current = getEffectiveDefinition(field, collection, registry);
  return Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => key !== 'name' && !isSameProperty(key, value, current[key])),
  );
}

const unchanged: CollectionChange = {
  title: undefined,
  description: undefined,
  indexes: undefined,
  search: undefined,
  switches: {},
};

/** The options in which a definition differs. A system collection keeps its own options. */
function findSwitches(options: CollectionOptions, existing: Collection): Switches {
  const changedNames = switchNames.filter((name) => options[name] !== existing.options[name]);
  return Object.fromEntries(changedNames.map((name) => [name, options[name]]));
}

function findMetadataChange(
  existing: Collection,
  { title, description, options }: CollectionDefinition,
  given: ReadonlySet<string>,
): CollectionChange | null {
  const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  const change = {
    title: title === existing.title ? undefined : title,
    description: description === existing.description ? undefined : description,
    indexes:
      given.has('indexes') && !isSame(options.indexes, existing.options.indexes ?? []) ? options.indexes : undefined,
    search: given.has('search') && !isSame(options.search, existing.options.search ?? []) ? options.search : undefined,
  };
  const hasChanges = Object.values(change).some((value) => value !== undefined);
  return hasChanges ? { ...change, switches: {} } : null;
}

/** Existing tables that the plan changes, also those at the other end of relations. */
function findAffectedTables(
  registry: Registry,
  { created, added, changed, metadataChanges, switched }: Plan,
): string[] {
  const relations = [...created.flatMap((each) => each.fields), ...added.map((each) => each.field)];
  const names = [
    ...[...added, ...changed, ...metadataChanges, ...switched].map((each) => each.collection),
    ...relations.flatMap(({ target, through }) => [target, through]),
  ];
  const tables = names.flatMap((name) => (name === undefined ? [] : (registry.find(name)?.table ?? [])));
  return [...new Set(tables)];
}

/**
 * A change of type, a plain field that becomes a foreign key, and a removed option may need the table to be rebuilt.
 */
function mayRebuild({ created, added, changed, switched }: Plan): boolean {
  const relations = [...created.flatMap((each) => each.fields), ...added.map((each) => each.field)].filter(isRelation);
  return changed.length > 0 || relations.length > 0 || switched.length > 0;
}

/** Prefixes the details of an error with the path of the definition in the set, such as `[3].fields[1].target`. */
class ErrorPaths {
  readonly #definitions: readonly RequestedCollection[];

  constructor(wanted: readonly RequestedCollection[]) {
    this.#definitions = wanted;
  }

  /**
   * @param created the part of the definition that was created first: its fields have other indexes than those of the
   * set.
   */
  inCollection(name: string, created: CollectionDefinition | null = null): (error: unknown) => never {
    const renumber = (path: string): string =>
      path.replace(/^fields\[(\d+)\]/, (_, index) => {
        const field = created?.fields.filter((each) => !isDefaultKey(each))[Number(index)];
        return field ? this.#field(name, field.name) : path;
      });
    return this.#rethrow(() => this.#collection(name), renumber);
  }

  inField(collection: string, name: string): (error: unknown) => never {
    return this.#rethrow(() => `${this.#collection(collection)}.${this.#field(collection, name)}`);
  }

  #collection(name: string): string {
    return `[${this.#definitions.findIndex(({ definition }) => definition.name === name)}]`;
  }

  #field(collection: string, name: string): string {
    const requested = this.#definitions.find((each) => each.definition.name === collection);
    const given = (requested?.definition.fields ?? []).filter((each) => !isDefaultKey(each));
    return `fields[${given.findIndex((each) => each.name === name)}]`;
  }

  #rethrow(findErrorPath: () => string, renumber = (path: string): string => path): (error: unknown) => never {
    return (error) => {
      if (!(error instanceof ApiError) || error.code !== 'DEFINITION_INVALID') throw error;
      const renumbered = Object.entries(error.details ?? {}).map(([path, text]) => [renumber(path), text] as const);
      throw invalidDefinition(prefixDetails(findErrorPath(), Object.fromEntries(renumbered)));
    };
  }
}
