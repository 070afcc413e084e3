/**
 * Brings collections to what a whole set of definitions says, in one transaction. What is missing is made, what differs is
 * changed; what the set does not name stays as it is, so that applying a set twice changes nothing.
 */
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type {
  CollectionDefinition,
  CollectionOptions,
  FieldDefinition,
  IndexDefinition,
} from '../protocol/definition.ts';
import { keptNames, type Switches, switchNames } from '../schema/collection-options-check.ts';
import { type CollectionChange, isAddedKey, type WantedCollection } from '../schema/definition-check.ts';
import { fieldTypes } from '../schema/field-types.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { changeCollection } from './change-collection.ts';
import { changeField } from './change-field.ts';
import { addField, defineCollection } from './define-collection.ts';
import { changingTogether } from './definition-change.ts';
import type { DefinitionContext, DefinitionEvent } from './definition-context.ts';
import { fieldInForce, sameProperty } from './field-differences.ts';

interface FieldChange {
  readonly collection: string;
  readonly name: string;
  readonly changes: Readonly<Record<string, unknown>>;
}

interface Plan {
  readonly created: readonly CollectionDefinition[];
  /** Fields to be added after all collections are there; relations last. */
  readonly added: readonly { readonly collection: string; readonly field: FieldDefinition }[];
  readonly changed: readonly FieldChange[];
  readonly worded: readonly { readonly collection: string; readonly change: CollectionChange }[];
  /** Options that are switched before fields are added, which may need what they bring or the names that they leave. */
  readonly switched: readonly { readonly collection: string; readonly change: CollectionChange }[];
}

/**
 * @returns the events that it caused, none where everything was there.
 * @throws ApiError what the single change would throw, with its place in the set.
 */
export async function applyDefinitions(
  context: DefinitionContext,
  wanted: readonly WantedCollection[],
): Promise<readonly DefinitionEvent[]> {
  const plan = planOf(context.registry, wanted);
  if (isEmpty(plan)) return [];
  const changes: DefinitionEvent[] = [];
  const scope = { subject: 'the set', tables: tablesOf(context.registry, plan), rebuild: mayRebuild(plan) };
  await changingTogether({ ...context, noted: changes }, scope, async (step) => {
    changes.length = 0;
    const places = new Places(wanted);
    for (const { collection, change } of plan.switched)
      await step((inside) => changeCollection(inside, collection, change).catch(places.inCollection(null, collection)));
    for (const definition of plan.created)
      await step((inside) => defineCollection(inside, definition).catch(places.inCollection(definition)));
    for (const { collection, field } of plan.added)
      await step((inside) => addField(inside, collection, field).catch(places.inField(collection, field.name)));
    for (const { collection, name, changes: changed } of plan.changed)
      await step((inside) => changeField(inside, collection, name, changed).catch(places.inField(collection, name)));
    for (const { collection, change } of plan.worded)
      await step((inside) => changeCollection(inside, collection, change).catch(places.inCollection(null, collection)));
  });
  return changes;
}

function isEmpty({ created, added, changed, worded, switched }: Plan): boolean {
  return created.length + added.length + changed.length + worded.length + switched.length === 0;
}

function planOf(registry: Registry, wanted: readonly WantedCollection[]): Plan {
  const fresh = wanted.filter(({ definition }) => !registry.find(definition.name)).map(({ definition }) => definition);
  const created = inOrder(fresh);
  const added = created.flatMap(({ definition, later }) =>
    later.map((field) => ({ collection: definition.name, field })),
  );
  const changed: FieldChange[] = [];
  const worded: { collection: string; change: CollectionChange }[] = [];
  for (const { definition, later, indexes } of created) {
    if (later.length > 0 && indexes) worded.push({ collection: definition.name, change: { ...noChange, indexes } });
  }
  const switched: { collection: string; change: CollectionChange }[] = [];
  for (const { definition, options } of wanted) {
    const { name } = definition;
    const there = registry.find(name);
    if (!there) continue;
    const removed = new Set(keptNames(there.options).filter((each) => !keptNames(definition.options).includes(each)));
    for (const field of definition.fields) {
      const present = removed.has(field.name) ? undefined : there.byName.get(field.name);
      if (!present) added.push({ collection: name, field });
      else {
        const changes = differences(present, field, there, registry);
        if (Object.keys(changes).length > 0) changed.push({ collection: name, name: field.name, changes });
      }
    }
    const switches = switchesTo(definition.options, there);
    if (Object.keys(switches).length > 0) switched.push({ collection: name, change: { ...noChange, switches } });
    const change = wordChange(there, definition, options);
    if (change) worded.push({ collection: name, change });
  }
  return {
    switched,
    created: created.map((each) => each.definition),
    added: added.sort((one, other) => rank(one.field) - rank(other.field)),
    changed,
    worded,
  };
}

/** Foreign keys are made by belongsTo where both sides name one; joins need both of theirs. */
function rank({ type }: FieldDefinition): number {
  return ['belongsTo', 'hasOne', 'hasMany', 'belongsToMany'].indexOf(type);
}

interface Creation {
  readonly definition: CollectionDefinition;
  readonly later: readonly FieldDefinition[];
  readonly indexes: readonly IndexDefinition[] | undefined;
}

/** New collections, each after those that its belongsTo fields name; what cannot wait for its target is added later. */
function inOrder(fresh: readonly CollectionDefinition[]): Creation[] {
  const result: Creation[] = [];
  const made = new Set<string>();
  const waiting = [...fresh];
  const targets = (definition: CollectionDefinition): string[] =>
    definition.fields.filter((field) => field.type === 'belongsTo').map((field) => field.target!);
  const isMade = (name: string, self: string): boolean =>
    name === self || made.has(name) || !fresh.some((each) => each.name === name);
  while (waiting.length > 0) {
    const ready = waiting.findIndex((each) => targets(each).every((target) => isMade(target, each.name)));
    const [definition] = waiting.splice(Math.max(0, ready), 1) as [CollectionDefinition];
    const now = (field: FieldDefinition): boolean =>
      !isRelation(field) || (field.type === 'belongsTo' && isMade(field.target!, definition.name));
    const later = definition.fields.filter((field) => !now(field));
    result.push(creation(definition, definition.fields.filter(now), later));
    made.add(definition.name);
  }
  return result;
}

function creation(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  later: readonly FieldDefinition[],
): Creation {
  if (later.length === 0) return { definition, later, indexes: undefined };
  const { indexes, ...options } = definition.options;
  return { definition: { ...definition, fields, options }, later, indexes };
}

function isRelation({ type }: FieldDefinition): boolean {
  return fieldTypes.get(type)?.relation ?? false;
}

/** Properties that a definition gives and the field does not have so. */
function differences(
  field: Field,
  wanted: FieldDefinition,
  collection: Collection,
  registry: Registry,
): Record<string, unknown> {
  const present = fieldInForce(field, collection, registry);
  return Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => key !== 'name' && !sameProperty(key, value, present[key])),
  );
}

const noChange: CollectionChange = { title: undefined, description: undefined, indexes: undefined, switches: {} };

/** The options that a definition has otherwise. A system collection has its own. */
function switchesTo(options: CollectionOptions, there: Collection): Switches {
  const moved = switchNames.filter((name) => options[name] !== there.options[name]);
  return Object.fromEntries(moved.map((name) => [name, options[name]]));
}

function wordChange(
  there: Collection,
  { title, description, options }: CollectionDefinition,
  given: ReadonlySet<string>,
): CollectionChange | null {
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  const change = {
    title: title === there.title ? undefined : title,
    description: description === there.description ? undefined : description,
    indexes: given.has('indexes') && !same(options.indexes, there.options.indexes ?? []) ? options.indexes : undefined,
  };
  const changes = Object.values(change).some((value) => value !== undefined);
  return changes ? { ...change, switches: {} } : null;
}

/** Tables of today that the plan touches, also at the far ends of relations. */
function tablesOf(registry: Registry, { created, added, changed, worded, switched }: Plan): string[] {
  const relations = [...created.flatMap((each) => each.fields), ...added.map((each) => each.field)];
  const names = [
    ...[...added, ...changed, ...worded, ...switched].map((each) => each.collection),
    ...relations.flatMap(({ target, through }) => [target, through]),
  ];
  const tables = names.flatMap((name) => (name === undefined ? [] : (registry.find(name)?.table ?? [])));
  return [...new Set(tables)];
}

/** A change of type, a plain field that becomes a foreign key, and a removed option may need the table to be rebuilt. */
function mayRebuild({ created, added, changed, switched }: Plan): boolean {
  const relations = [...created.flatMap((each) => each.fields), ...added.map((each) => each.field)].filter(isRelation);
  return changed.length > 0 || relations.length > 0 || switched.length > 0;
}

/** Tells an error of one definition at its place in the set, such as `[3].fields[1].target`. */
class Places {
  readonly #wanted: readonly WantedCollection[];

  constructor(wanted: readonly WantedCollection[]) {
    this.#wanted = wanted;
  }

  /** @param made the definition as far as it was made: its fields have other numbers than those of the set. */
  inCollection(made: CollectionDefinition | null, name = made!.name): (error: unknown) => never {
    const renumbered = (path: string): string =>
      path.replace(/^fields\[(\d+)\]/, (_, index) => {
        const field = made?.fields.filter((each) => !isAddedKey(each))[Number(index)];
        return field ? this.#field(name, field.name) : path;
      });
    return this.#rethrow((path) => `${this.#collection(name)}.${renumbered(path)}`);
  }

  inField(collection: string, name: string): (error: unknown) => never {
    return this.#rethrow((path) => `${this.#collection(collection)}.${this.#field(collection, name)}.${path}`);
  }

  #collection(name: string): string {
    return `[${this.#wanted.findIndex(({ definition }) => definition.name === name)}]`;
  }

  #field(collection: string, name: string): string {
    const { definition } = this.#wanted.find((each) => each.definition.name === collection)!;
    const given = definition.fields.filter((each) => !isAddedKey(each));
    return `fields[${given.findIndex((each) => each.name === name)}]`;
  }

  #rethrow(place: (path: string) => string): (error: unknown) => never {
    return (error) => {
      if (!(error instanceof ApiError) || error.code !== 'DEFINITION_INVALID') throw error;
      const details = Object.entries(error.details ?? {}).map(([path, text]) => [place(path), text]);
      throw invalidDefinition(Object.fromEntries(details) as Record<string, string>);
    };
  }
}
