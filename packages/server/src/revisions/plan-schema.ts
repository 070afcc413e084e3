/**
 * Plans how one schema becomes another: a pure function from two documents to ordered steps. Entries are the same if
 * their ids are; an entry whose id is unknown is the same as the one of its name, and takes over its id.
 */
import { rankField, sortByDependency } from '../collections/apply-definitions.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { switchNames } from '../schema/collection-options-check.ts';
import {
  type CollectionEntry,
  compareText,
  type FieldEntry,
  isEqual,
  type Members,
  type RoleEntry,
  type SchemaDocument,
  toCollectionDefinition,
  toFieldDefinition,
  type WebhookEntry,
} from './document.ts';
import { type DocumentMatch, matchDocuments, type Pair } from './match-documents.ts';

export type StepAction = 'adopt' | 'rename' | 'create' | 'change' | 'destroy';
export type StepKind = 'collection' | 'field' | 'role' | 'permission' | 'webhook';

/** One change. Steps run in their order; all of them are one transaction. */
export interface SchemaStep {
  readonly action: StepAction;
  readonly kind: StepKind;
  /** The collection, role or webhook, by its name or id before the step; of a rename, after it. */
  readonly of: string;
  /** The field, or the resource of a permission; absent for others. */
  readonly name?: string;
  /** The former name of what is renamed. */
  readonly from?: string;
  /** The values of what is created, or the new values of the members that change. */
  readonly values?: Members;
  /** The former values of the members that change, or the destroyed permission. */
  readonly before?: Members;
  /** Data or a secret is lost. The data of fields and collections can be restored for some time. */
  readonly destructive: boolean;
}

/** A plan, and the document that it leads to: the wanted one with all ids. */
export interface SchemaPlan {
  readonly steps: readonly SchemaStep[];
  readonly result: SchemaDocument;
}

/** @param current with ids. @param wanted may lack ids. */
export function planSchema(current: SchemaDocument, wanted: SchemaDocument): SchemaPlan {
  const match = matchDocuments(current, wanted);
  const { collections, roles, webhooks } = match;
  const changed = collections.flatMap(({ before, after }) => (before && after ? [{ before, after }] : []));
  const created = collections.flatMap(({ before, after }) => (!before && after ? [after] : []));
  const destroyed = collections.flatMap(({ before, after }) => (before && !after ? [before] : []));
  const isSecurityStep = ({ kind }: SchemaStep): boolean => kind === 'permission' || kind === 'webhook';
  const roleSteps = roles.flatMap((each) => planRole(each, match.renamed));
  const webhookSteps = webhooks.flatMap((each) => planWebhook(renameInWebhook(each, match)));
  const early = [...roleSteps, ...webhookSteps].filter((step) => isSecurityStep(step) && step.action === 'destroy');
  const destroyedRoles = roleSteps.filter(({ kind, action }) => kind === 'role' && action === 'destroy');
  const late = [...roleSteps, ...webhookSteps].filter(
    (step) => !early.includes(step) && !destroyedRoles.includes(step),
  );
  const isRename = ({ action }: SchemaStep): boolean => action === 'rename' || action === 'adopt';
  const fields = changed.flatMap((each) => planFields(each, match.fields(each)));
  const destroyedFields = fields.filter(({ action }) => action === 'destroy').sort(relationsFirst);
  return {
    steps: [
      ...changed.flatMap(planCollectionNames),
      ...fields.filter(isRename),
      ...late.filter(isRename),
      ...early,
      ...destroyedFields,
      ...destroyed.map(
        (each): SchemaStep => ({ action: 'destroy', kind: 'collection', of: each.name, destructive: true }),
      ),
      ...changed.flatMap(planSwitches),
      ...planCreations(created, fields),
      ...fields.filter(({ action }) => action === 'change'),
      ...changed.flatMap(planMetadata),
      ...late.filter((step) => !isRename(step) && step.kind === 'role'),
      ...late.filter((step) => !isRename(step) && step.kind !== 'role'),
      ...destroyedRoles,
    ],
    result: match.result,
  };
}

const relationTypes: ReadonlySet<string> = new Set(['belongsTo', 'hasOne', 'hasMany', 'belongsToMany']);
const isRelation = ({ type }: { readonly type: string }): boolean => relationTypes.has(type);

/** Relations are destroyed before the foreign keys that they need. */
function relationsFirst(one: SchemaStep, other: SchemaStep): number {
  const rank = ({ before }: SchemaStep): number => (isRelation(before as FieldEntry) ? 0 : 1);
  return rank(one) - rank(other);
}

interface Change<Entry> {
  readonly before: Entry;
  readonly after: Entry;
}

function planCollectionNames({ before, after }: Change<CollectionEntry>): SchemaStep[] {
  const shared = { kind: 'collection', of: after.name, destructive: false } as const;
  return [
    ...(before.id === after.id ? [] : [{ ...shared, action: 'adopt', values: { id: after.id } } as const]),
    ...(before.name === after.name ? [] : [{ ...shared, action: 'rename', from: before.name } as const]),
  ];
}

function planSwitches({ before, after }: Change<CollectionEntry>): SchemaStep[] {
  if (after.system) return [];
  const names = switchNames.filter((name) => before.options?.[name] !== after.options?.[name]);
  if (names.length === 0) return [];
  const pick = (entry: CollectionEntry): Members =>
    Object.fromEntries(names.map((name) => [name, entry.options?.[name]]));
  const destructive = names.some((name) => before.options?.[name] === true);
  return [
    { action: 'change', kind: 'collection', of: after.name, values: pick(after), before: pick(before), destructive },
  ];
}

const metadata = ['title', 'description', 'indexes', 'search'] as const;

function planMetadata({ before, after }: Change<CollectionEntry>): SchemaStep[] {
  if (after.system) return [];
  const read = ({ title, description, options }: CollectionEntry): Record<(typeof metadata)[number], unknown> => ({
    title: title ?? null,
    description: description ?? null,
    indexes: options?.indexes ?? [],
    search: options?.search ?? [],
  });
  const [old, wanted] = [read(before), read(after)];
  const names = metadata.filter((name) => !isEqual(old[name], wanted[name]));
  if (names.length === 0) return [];
  const pick = (from: Members): Members => Object.fromEntries(names.map((name) => [name, from[name]]));
  const shared = { action: 'change', kind: 'collection', of: after.name, destructive: false } as const;
  return [{ ...shared, values: pick(wanted), before: pick(old) }];
}

/** Properties of a relation that can change; others need another relation. */
const changeable: ReadonlySet<string> = new Set(['title', 'description', 'uiSchema', 'required', 'unique']);

function planFields({ after: collection }: Change<CollectionEntry>, pairs: readonly Pair<FieldEntry>[]): SchemaStep[] {
  return pairs.flatMap(({ before, after }): SchemaStep[] => {
    const shared = { kind: 'field', of: collection.name, destructive: false } as const;
    if (!before)
      return after
        ? [{ ...shared, action: 'create', name: after.name, values: toFieldDefinition(after) as never }]
        : [];
    const destroy = { ...shared, action: 'destroy', name: before.name, before } as const;
    if (!after) return [{ ...destroy, destructive: !isRelation(before) }];
    const names: SchemaStep[] = [
      ...(before.id === after.id
        ? []
        : [{ ...shared, action: 'adopt', name: after.name, values: { id: after.id } } as const]),
      ...(before.name === after.name
        ? []
        : [{ ...shared, action: 'rename', name: after.name, from: before.name } as const]),
    ];
    const changes = findChanges(before, after);
    if (!changes) return names;
    const isReplaced =
      isRelation(before) !== isRelation(after) ||
      (isRelation(before) && Object.keys(changes.values).some((key) => !changeable.has(key)));
    // A foreign key keeps the values that are keys of records of its new target.
    const isDataLost = !isRelation(before) || (before.type !== 'belongsToMany' && before['target'] !== after['target']);
    return isReplaced
      ? [
          ...names,
          { ...destroy, name: after.name, destructive: isDataLost },
          { ...shared, action: 'create', name: after.name, values: toFieldDefinition(after) as never },
        ]
      : [...names, { ...shared, action: 'change', name: after.name, ...changes }];
  });
}

/** The members in which two fields differ; null marks an absent one. */
function findChanges(
  before: FieldEntry,
  after: FieldEntry,
): { readonly values: Members; readonly before: Members } | null {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (key) => key !== 'id' && key !== 'name' && !isEqual(before[key], after[key]),
  );
  if (names.length === 0) return null;
  const pick = (entry: FieldEntry): Members => Object.fromEntries(names.map((name) => [name, entry[name] ?? null]));
  return { values: pick(after), before: pick(before) };
}

/** New collections in the order of their references, then new fields, relations last. */
function planCreations(created: readonly CollectionEntry[], fields: readonly SchemaStep[]): SchemaStep[] {
  const sorted = sortByDependency(created.map(toCollectionDefinition));
  const later = sorted.flatMap(({ definition, later: relations }) =>
    relations.map((field): SchemaStep => {
      const shared = { action: 'create', kind: 'field', of: definition.name, destructive: false } as const;
      return { ...shared, name: field.name, values: field as never };
    }),
  );
  const rank = ({ values }: SchemaStep): number => {
    const field = values as unknown as FieldDefinition;
    return field.type === 'sort' ? -0.5 : rankField(field); // the scope of a sort field may be another new field
  };
  return [
    ...sorted.map(({ definition }): SchemaStep => {
      return {
        action: 'create',
        kind: 'collection',
        of: definition.name,
        values: definition as never,
        destructive: false,
      };
    }),
    ...[...later, ...fields.filter(({ action }) => action === 'create')].sort((one, other) => rank(one) - rank(other)),
    ...sorted.flatMap(({ definition, indexes }): SchemaStep[] => {
      const shared = { action: 'change', kind: 'collection', of: definition.name, destructive: false } as const;
      return indexes ? [{ ...shared, values: { indexes }, before: { indexes: [] } }] : [];
    }),
  ];
}

/** @param renamed the new names of collections by their former ones: permissions move with a collection. */
function planRole({ before, after }: Pair<RoleEntry>, renamed: ReadonlyMap<string, string>): SchemaStep[] {
  const of = after?.name ?? before?.name ?? '';
  const shared = { of, destructive: false } as const;
  const old = (before?.permissions ?? []).map((each) => ({
    ...each,
    resource: renamed.get(each.resource) ?? each.resource,
  }));
  const wanted = after?.permissions ?? [];
  const permissions: SchemaStep[] = [
    ...old
      .filter((each) => !wanted.some((other) => isEqual(each, other)))
      .map(
        (each) =>
          ({ ...shared, action: 'destroy', kind: 'permission', name: each.resource, before: each as never }) as const,
      ),
    ...wanted
      .filter((each) => !old.some((other) => isEqual(each, other)))
      .map(
        (each) =>
          ({ ...shared, action: 'create', kind: 'permission', name: each.resource, values: each as never }) as const,
      ),
  ];
  if (!after) return [...permissions, { ...shared, action: 'destroy', kind: 'role', destructive: true }];
  const read = ({ title, description, allowConfigure, ...rest }: RoleEntry): Members => ({
    title: title ?? null,
    description: description ?? null,
    allowConfigure,
    default: rest.default,
  });
  if (!before) return [{ ...shared, action: 'create', kind: 'role', values: read(after) }, ...permissions];
  const [from, to] = [read(before), read(after)];
  const names = Object.keys(to).filter((name) => !isEqual(from[name], to[name]));
  const pick = (members: Members): Members => Object.fromEntries(names.map((name) => [name, members[name]]));
  return [
    ...(before.id === after.id
      ? []
      : [{ ...shared, action: 'adopt', kind: 'role', values: { id: after.id } } as const]),
    ...(before.name === after.name ? [] : [{ ...shared, action: 'rename', kind: 'role', from: before.name } as const]),
    ...(names.length === 0
      ? []
      : [{ ...shared, action: 'change', kind: 'role', values: pick(to), before: pick(from) } as const]),
    ...permissions,
  ];
}

/** The present webhook with the names that its role and collections have after all renames. */
function renameInWebhook(pair: Pair<WebhookEntry>, { collections, roles }: DocumentMatch): Pair<WebhookEntry> {
  const { before, after } = pair;
  if (!before || !after) return pair;
  // Something else may take the name of a destroyed definition, so a destroyed name gets a mark and equals no present
  // name.
  const findName = (pairs: readonly Pair<CollectionEntry | RoleEntry>[], name: string): string => {
    const found = pairs.find((each) => each.before?.name === name);
    const isReused = pairs.some((each) => each.before && each.after?.name === name);
    return found ? (found.after?.name ?? (isReused ? `${name} (destroyed)` : name)) : name;
  };
  const former = new Map(collections.flatMap(({ before: old, after: now }) => (old ? [[old.name, now] as const] : [])));
  const events = before.events.map((pattern) => {
    const [resource = '', ...rest] = pattern.split('.');
    return former.has(resource) ? [findName(collections, resource), ...rest].join('.') : pattern;
  });
  return { before: { ...before, role: findName(roles, before.role), events: events.sort(compareText) }, after };
}

function planWebhook({ before, after }: Pair<SchemaDocument['webhooks'][number]>): SchemaStep[] {
  const shared = { kind: 'webhook', of: before?.id ?? after?.id ?? '', destructive: false } as const;
  if (!after) return [{ ...shared, action: 'destroy', destructive: true, before: { url: before?.url } }];
  const read = ({ url, events, filter, role, enabled }: typeof after): Members => ({
    url,
    events,
    filter: filter ?? null,
    role,
    enabled,
  });
  if (!before) return [{ ...shared, action: 'create', values: read(after) }];
  const [from, to] = [read(before), read(after)];
  const names = Object.keys(to).filter((name) => !isEqual(from[name], to[name]));
  const pick = (members: Members): Members => Object.fromEntries(names.map((name) => [name, members[name]]));
  return names.length === 0 ? [] : [{ ...shared, action: 'change', values: pick(to), before: pick(from) }];
}
