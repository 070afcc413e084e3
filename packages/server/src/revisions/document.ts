/** The schema of an application as one JSON document, which schema files contain in parts. It never contains secrets. */
import { hash } from 'node:crypto';
import type { CollectionDefinition, CollectionOptions, FieldDefinition } from '../protocol/definition.ts';
import { switchNames } from '../schema/collection-options-check.ts';

/** The version of the document format. A server reads its own version and all earlier ones. */
export const documentFormat = 1;

export type Members = Readonly<Record<string, unknown>>;

/** A field: its portable id, and its definition as `fields:create` takes it. */
export interface FieldEntry extends Members {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

export interface CollectionEntry {
  readonly id: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** A system collection, of which only the fields that users have added are listed. */
  readonly system?: true;
  /** Absent for a system collection. */
  readonly options?: CollectionOptions;
  readonly fields: readonly FieldEntry[];
}

export interface PermissionEntry {
  readonly resource: string;
  readonly actions: readonly string[];
  readonly filter?: unknown;
  readonly fields?: readonly string[];
  readonly exceptFields?: readonly string[];
}

export interface RoleEntry {
  readonly id: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly allowConfigure: boolean;
  readonly default: boolean;
  /** Every application has the role; it cannot be renamed or destroyed. */
  readonly builtIn?: true;
  readonly permissions: readonly PermissionEntry[];
}

export interface WebhookEntry {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter?: unknown;
  readonly role: string;
  readonly enabled: boolean;
}

export interface SchemaDocument {
  readonly format: number;
  readonly collections: readonly CollectionEntry[];
  readonly roles: readonly RoleEntry[];
  readonly webhooks: readonly WebhookEntry[];
}

/** JSON text with the members of objects in alphabetical order, so that equal values have equal texts. */
export function toCanonicalText(input: unknown): string {
  return JSON.stringify(input, (_, member: unknown) => {
    if (member === null || typeof member !== 'object' || Array.isArray(member)) return member;
    if (Object.isFrozen(member) && 'rawJSON' in member) return member; // a number with more digits than JavaScript has
    return Object.fromEntries(Object.entries(member).sort(([one], [other]) => compareText(one, other)));
  });
}

/** Whether two values have the same canonical text. */
export function isEqual(one: unknown, other: unknown): boolean {
  return toCanonicalText(one) === toCanonicalText(other);
}

/** Identifies a state: two documents have the same hash if they describe the same schema. */
export function hashDocument(document: SchemaDocument): string {
  return hash('sha256', toCanonicalText(document)).slice(0, 32);
}

/** The order of code units, which does not depend on a language. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The canonical form of a document: lists are sorted, and members that mean the same as an absent one are omitted. */
export function normaliseDocument({ format, collections, roles, webhooks }: SchemaDocument): SchemaDocument {
  return {
    format,
    collections: collections.map(normaliseCollection).sort(byName),
    roles: roles.map(normaliseRole).sort(byName),
    webhooks: webhooks.map(normaliseWebhook).sort((one, other) => compareText(one.id, other.id)),
  };
}

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  compareText(one.name, other.name);

function normaliseCollection(entry: CollectionEntry): CollectionEntry {
  const { id, name, title, description, system, options, fields } = entry;
  const byKey = (field: FieldEntry): number => (field['primaryKey'] === true ? 0 : 1);
  return {
    id,
    name,
    ...omitEmpty({ title, description }),
    ...(system && { system }),
    ...(!system && { options: normaliseOptions(options) }),
    fields: fields.map(normaliseField).sort((one, other) => byKey(one) - byKey(other) || byName(one, other)),
  } as CollectionEntry;
}

/** Timestamps are on by default, the other switches are off, as in `collections:create`. */
function normaliseOptions(options: Partial<CollectionOptions> = {}): CollectionOptions {
  const { indexes = [], search = [] } = options;
  const defaults = { timestamps: true, paranoid: false, logging: false, authors: false };
  const plainIndexes = indexes.map(({ fields, unique }) => ({ fields: [...fields], ...(unique && { unique }) }));
  return {
    ...(Object.fromEntries(switchNames.map((name) => [name, options[name] ?? defaults[name]])) as typeof defaults),
    ...(indexes.length > 0 && {
      indexes: plainIndexes.sort((one, other) => compareText(toCanonicalText(one), toCanonicalText(other))),
    }),
    ...(search.length > 0 && { search: [...search].sort(compareText) }),
  };
}

/** Properties that mean the same as an absent one are left out. */
function normaliseField({ id, name, type, ...properties }: FieldEntry): FieldEntry {
  const isNeutral = (key: string, value: unknown): boolean =>
    value === null ||
    value === undefined ||
    (key === 'allowNull' ? value === true : value === false && key !== 'defaultValue');
  const kept = Object.entries(properties).filter(([key, value]) => !isNeutral(key, value));
  return { id, name, type, ...Object.fromEntries(kept.sort(([one], [other]) => compareText(one, other))) };
}

function normaliseRole(entry: RoleEntry): RoleEntry {
  const { id, name, title, description, allowConfigure, builtIn, permissions } = entry;
  return {
    id,
    name,
    ...omitEmpty({ title, description }),
    allowConfigure,
    default: entry.default,
    ...(builtIn && { builtIn }),
    permissions: permissions
      .map(normalisePermission)
      .sort(
        (one, other) =>
          compareText(one.resource, other.resource) || compareText(toCanonicalText(one), toCanonicalText(other)),
      ),
  };
}

export function normalisePermission({
  resource,
  actions,
  filter,
  fields,
  exceptFields,
}: PermissionEntry): PermissionEntry {
  const sort = (names: readonly string[] | null | undefined): readonly string[] | null =>
    names ? [...new Set(names)].sort(compareText) : null;
  const named = actions.flatMap((action) => (action === 'view' ? ['list', 'get'] : [action]));
  return {
    resource,
    actions: sort(named) ?? [],
    ...omitEmpty({ filter, fields: sort(fields), exceptFields: sort(exceptFields) }),
  } as PermissionEntry;
}

function normaliseWebhook({ id, url, events, filter, role, enabled }: WebhookEntry): WebhookEntry {
  return { id, url, events: [...events].sort(compareText), ...omitEmpty({ filter }), role, enabled };
}

function omitEmpty(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
}

/** The definition of a field without its portable id. */
export function toFieldDefinition({ id: _id, ...definition }: FieldEntry): FieldDefinition {
  return definition;
}

/** The definition of a collection without portable ids. */
export function toCollectionDefinition({
  name,
  title,
  description,
  options,
  fields,
}: CollectionEntry): CollectionDefinition {
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    options: options as CollectionOptions,
    fields: fields.map(toFieldDefinition),
  };
}
