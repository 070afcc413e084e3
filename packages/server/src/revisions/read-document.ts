/** Reads the schema of an application as a document, and gives portable ids to definitions that have none. */
import { randomInt } from 'node:crypto';
import { getEffectiveDefinition } from '../collections/field-differences.ts';
import { listVisibleFields } from '../collections/serialise-definition.ts';
import type { Database, Transaction } from '../database/database.ts';
import { readPermissions, readPermissionsInTx, type StoredPermission } from '../database/permission-rows.ts';
import { type RoleDefinition, readRoleDefinitions } from '../database/role-rows.ts';
import { type PortableId, type PortableKind, readPortableIds, replacePortableIds } from '../database/schema-rows.ts';
import { readWebhooks, type StoredWebhook } from '../database/webhook-rows.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import {
  type CollectionEntry,
  documentFormat,
  normaliseDocument,
  type RoleEntry,
  type SchemaDocument,
  type WebhookEntry,
} from './document.ts';

/** The present definitions of an application. */
export interface StoredSchema {
  readonly registry: Registry;
  readonly roles: readonly RoleDefinition[];
  readonly permissions: readonly StoredPermission[];
  readonly webhooks: readonly StoredWebhook[];
  readonly ids: PortableIds;
}

/** The portable ids of a store. */
export class PortableIds {
  readonly rows: readonly PortableId[];
  readonly #byItem: ReadonlyMap<string, string>;

  constructor(rows: readonly PortableId[]) {
    this.rows = rows;
    this.#byItem = new Map(rows.map(({ kind, item, id }) => [`${kind} ${item}`, id]));
  }

  find(kind: PortableKind, item: string | number): string | null {
    return this.#byItem.get(`${kind} ${item}`) ?? null;
  }
}

/**
 * Reads the definitions. @param transaction null: reads the committed state.
 */
export async function readStoredSchema(
  database: Database,
  registry: Registry,
  transaction: Transaction | null,
): Promise<StoredSchema> {
  return {
    registry,
    roles: await readRoleDefinitions(database, transaction),
    permissions: transaction ? await readPermissionsInTx(database, transaction) : await readPermissions(database),
    webhooks: await readWebhooks(database, transaction),
    ids: new PortableIds(await readPortableIds(database, transaction)),
  };
}

/** The collections that documents describe: those of users, and system collections with fields that users have added. */
export function listDescribed(registry: Registry): Collection[] {
  const all = registry.all().filter(({ internal }) => !internal);
  return all.filter((each) => !each.system || listDescribedFields(each).length > 0);
}

/** The fields that documents describe: neither those of the server nor, in a system collection, its core. */
export function listDescribedFields(collection: Collection): Field[] {
  return listVisibleFields(collection).filter(
    ({ serverManaged, core, primaryKey }) => !serverManaged && !core && !(collection.system && primaryKey),
  );
}

/** The document of a state. Definitions without a portable id have an empty one. */
export function toDocument({ registry, roles, permissions, webhooks, ids }: StoredSchema): SchemaDocument {
  return normaliseDocument({
    format: documentFormat,
    collections: listDescribed(registry).map((each) => toCollectionEntry(each, registry, ids)),
    roles: roles.map((role) => toRoleEntry(role, permissions, ids)),
    webhooks: webhooks.map(({ id, url, events, filter, role, enabled }): WebhookEntry => {
      return { id: ids.find('webhook', id) ?? '', url, events, filter, role, enabled };
    }),
  });
}

function toCollectionEntry(collection: Collection, registry: Registry, ids: PortableIds): CollectionEntry {
  const { id, name, title, description, options, system } = collection;
  const fields = listDescribedFields(collection).map((field) => ({
    ...getEffectiveDefinition(field, collection, registry),
    id: ids.find('field', field.id) ?? '',
    name: field.name,
    type: field.definition.type,
  }));
  const shared = { id: system ? name : (ids.find('collection', id) ?? ''), name, fields };
  if (system) return { ...shared, system: true };
  return { ...shared, ...(title !== null && { title }), ...(description !== null && { description }), options };
}

function toRoleEntry(role: RoleDefinition, permissions: readonly StoredPermission[], ids: PortableIds): RoleEntry {
  const { name, title, description, allowConfigure, builtIn } = role;
  return {
    id: builtIn ? name : (ids.find('role', name) ?? ''),
    name,
    ...(title !== null && { title }),
    ...(description !== null && { description }),
    allowConfigure,
    default: role.default,
    ...(builtIn && { builtIn }),
    permissions: permissions
      .filter((each) => each.role === name)
      .map(({ resource, actions, filter, fields, exceptFields }) => ({
        resource,
        actions,
        filter,
        ...(fields && { fields }),
        ...(exceptFields && { exceptFields }),
      })),
  };
}

/** A definition that needs a portable id in the store. */
interface Item {
  readonly kind: PortableKind;
  readonly item: string;
}

function listItems({ registry, roles, webhooks }: Omit<StoredSchema, 'ids'>): Item[] {
  const collections = listDescribed(registry);
  return [
    ...collections.filter(({ system }) => !system).map(({ id }) => ({ kind: 'collection', item: String(id) }) as const),
    ...collections.flatMap(listDescribedFields).map(({ id }) => ({ kind: 'field', item: String(id) }) as const),
    ...roles.filter(({ builtIn }) => !builtIn).map(({ name }) => ({ kind: 'role', item: name }) as const),
    ...webhooks.map(({ id }) => ({ kind: 'webhook', item: String(id) }) as const),
  ];
}

/** A random portable id: letters and digits, without those that are easily confused. */
export function generatePortableId(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
  return Array.from({ length: 12 }, () => letters[randomInt(letters.length)]).join('');
}

/** Gives portable ids to definitions that have none. @returns the state with them. */
export async function withPortableIds(database: Database, schema: StoredSchema): Promise<StoredSchema> {
  const isComplete = listItems(schema).every(({ kind, item }) => schema.ids.find(kind, item) !== null);
  return isComplete ? schema : database.write((transaction) => addPortableIds(database, transaction, schema));
}

/** The same in a transaction. */
export async function addPortableIds(
  database: Database,
  transaction: Transaction,
  schema: StoredSchema,
): Promise<StoredSchema> {
  const stored = new PortableIds(await readPortableIds(database, transaction)); // another request may have added some
  const added = listItems(schema)
    .filter(({ kind, item }) => stored.find(kind, item) === null)
    .map((each) => ({ ...each, id: generatePortableId() }));
  await replacePortableIds(database, transaction, [], added);
  return { ...schema, ids: new PortableIds([...stored.rows, ...added]) };
}

/** Stores the portable ids of a document for the definitions of the same names, and deletes those of definitions that no longer exist. */
export async function storePortableIds(
  database: Database,
  transaction: Transaction,
  schema: StoredSchema,
  { document, webhooks }: { readonly document: SchemaDocument; readonly webhooks: ReadonlyMap<string, number> },
): Promise<void> {
  const wanted = new Map<string, PortableId>();
  const add = (kind: PortableKind, item: string | number | undefined, id: string): void => {
    if (item !== undefined) wanted.set(`${kind} ${item}`, { kind, item: String(item), id });
  };
  for (const { id, name, system, fields } of document.collections) {
    const collection = schema.registry.find(name);
    if (!system) add('collection', collection?.id, id);
    for (const field of fields) add('field', collection?.byName.get(field.name)?.id, field.id);
  }
  for (const { id, name, builtIn } of document.roles) if (!builtIn) add('role', name, id);
  for (const { id } of document.webhooks) add('webhook', webhooks.get(id), id);
  const isStored = (row: PortableId): boolean => wanted.get(`${row.kind} ${row.item}`)?.id === row.id;
  const removed = schema.ids.rows.filter((row) => !isStored(row));
  const added = [...wanted.values()].filter(({ kind, item, id }) => schema.ids.find(kind, item) !== id);
  await replacePortableIds(database, transaction, removed, added);
}
