/** Creates and migrates the system parts of an application: catalogue, system collections, built-in roles, first admin. */
import { randomUUID } from 'node:crypto';
import { adminRole, publicRole } from '../access/access-table.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { StartFailure } from '../base/start-failure.ts';
import { addSystemField, defineCollection } from '../collections/define-collection.ts';
import { runDefinitionSteps } from '../collections/definition-change.ts';
import type { DefinitionContext } from '../collections/definition-context.ts';
import { defaultFieldFacts, type NewField } from '../collections/new-field.ts';
import {
  findNewLists,
  findOtherPatterns,
  type IndexedSystemCollection,
  needsIndexes,
  setSystemIndexes,
  setSystemPattern,
  setSystemType,
} from '../collections/system-indexes.ts';
import { findApplication, insertMainApplication } from '../database/application-rows.ts';
import {
  bumpVersion,
  createCatalogue,
  hasCatalogue,
  isCurrentStore,
  readUserCollections,
} from '../database/catalogue.ts';
import type { Database } from '../database/database.ts';
import { insertPermission, readPermissions } from '../database/permission-rows.ts';
import { insertRole, readRoles, setUserRoles } from '../database/role-rows.ts';
import { countUsers, hasAnyUser, insertUser, type NewUser } from '../database/user-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { CollectionDefinition, FieldDefinition } from '../protocol/definition.ts';
import type { StoredRelation } from '../schema/load-registry.ts';
import type { SystemCollection, SystemField } from '../schema/system-collections.ts';
import type { Migration } from '../upgrades/migration.ts';
import { type Application, mainApplicationName } from './application.ts';
import { systemCollections, systemRelations } from './system-definitions.ts';

const recordActions = ['list', 'get', 'create', 'update', 'destroy', 'export', 'import', 'history'];

/** What a role may do with system collections from the start. */
function listSystemPermissions(role: string): { resource: string; actions: readonly string[] }[] {
  return systemCollections.flatMap(({ name, builtInPermissions }) => {
    const actions = builtInPermissions?.[role];
    return actions ? [{ resource: name, actions }] : [];
  });
}

const builtInRoles: readonly {
  name: string;
  title: string;
  allowConfigure: boolean;
  permissions: readonly { resource: string; actions: readonly string[] }[];
}[] = [
  { name: adminRole, title: 'Administrator', allowConfigure: true, permissions: [] },
  {
    name: 'developer',
    title: 'Developer',
    allowConfigure: false,
    permissions: [
      { resource: '*', actions: recordActions },
      { resource: 'collections', actions: ['list', 'get', 'create', 'update', 'destroy'] },
      { resource: 'fields', actions: ['list', 'get', 'create', 'update', 'destroy'] },
      ...listSystemPermissions('developer'),
    ],
  },
  {
    name: 'editor',
    title: 'Editor',
    allowConfigure: false,
    permissions: [{ resource: '*', actions: recordActions }, ...listSystemPermissions('editor')],
  },
  {
    name: 'viewer',
    title: 'Viewer',
    allowConfigure: false,
    permissions: [{ resource: '*', actions: ['list', 'get'] }, ...listSystemPermissions('viewer')],
  },
  { name: publicRole, title: 'Without a credential', allowConfigure: false, permissions: [] },
];

/** What {@link prepareStore} needs to know of an application. */
export interface StorePreparation {
  readonly name: string;
  readonly mayCreate: boolean;
  /** Whether the store of an earlier version may be changed. */
  readonly mayUpgrade: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Copies the store before it is changed. @param version its version. @returns where the copy is; null: copies are off. */
  readonly saveStore: (version: number) => Promise<string | null>;
}

/**
 * Creates the catalogue if it does not exist and `mayCreate` is true, and upgrades that of an earlier version. An interrupted
 * bootstrap is started again, because no data can exist yet.
 *
 * @returns whether the catalogue exists.
 * @throws StartFailure if a newer version of the server has written the store, or it may not be upgraded.
 */
export async function prepareStore(database: Database, preparation: StorePreparation): Promise<boolean> {
  const { name, mayCreate, clock } = preparation;
  if (await isCurrentStore(database)) return true;
  const exists = await hasCatalogue(database);
  if (!exists && !mayCreate) return false;
  const { migrations } = await import('../upgrades/migrations.ts');
  const { recordAll } = await import('../upgrades/upgrade-store.ts');
  if (exists) await upgrade(database, migrations, preparation);
  else
    await createCatalogue(database, { application: name, epoch: randomUUID() }, (transaction) =>
      recordAll(database, transaction, migrations, isoTime(clock.now())),
    );
  return true;
}

/** Names of resources without a collection that earlier versions left to users. */
const addedResources = ['backups', 'serverActivity'];

/** @throws ApiError if users have defined a collection with the name of a system collection that this version of the server adds. */
export function requireFreeNames(name: string, userCollections: readonly string[]): void {
  const own = new Set(userCollections);
  const taken = [...listWanted(name).map((each) => each.name), ...addedResources].find((each) => own.has(each));
  if (!taken) return;
  throw new ApiError(
    'COLLECTION_EXISTS',
    `The application "${name}" has a collection "${taken}", and this version of the server needs the name. Nothing was changed. Start the previous version, move the records to a collection with another name, destroy "${taken}", and start this version again.`,
  );
}

/** The system collections of an application. */
export function listWanted(name: string): readonly IndexedSystemCollection[] {
  return systemCollections.filter((each) => !each.mainOnly || name === mainApplicationName);
}

async function upgrade(
  database: Database,
  all: readonly Migration[],
  { name, mayUpgrade, clock, logger, saveStore }: StorePreparation,
): Promise<void> {
  const { planUpgrade, upgradeStore } = await import('../upgrades/upgrade-store.ts');
  const plan = await planUpgrade(database, name, all);
  requireFreeNames(name, await readUserCollections(database));
  const { from, to, tables } = plan;
  if (!mayUpgrade)
    throw new StartFailure(
      `The data of the application "${name}" is of an earlier version: its store has version ${from}, and this one is ${to}. Start the server, which upgrades it; "tablinum start --dry-run" says what changes. Nothing was changed.`,
    );
  const backup = await saveStore(from);
  const titles = plan.migrations.map(({ number, title }) => `${number}: ${title}`);
  logger.info({ application: name, from, to, migrations: titles, tables, backup }, 'The store is upgraded.');
  await upgradeStore(database, plan, isoTime(clock.now()));
}

/**
 * Adds missing system collections, fields, relations and indexes, for example after an update of the server. Runs at every
 * opening; if nothing is missing, it only reads.
 */
export async function migrateSystemCollections(application: Application): Promise<void> {
  const { registry, name } = application;
  const existing = new Set(registry.all().map((each) => each.name));
  const wanted = listWanted(name);
  requireFreeNames(
    name,
    registry.all().flatMap((each) => (each.system ? [] : [each.name])),
  );
  const collections = wanted.filter((each) => !existing.has(each.name));
  const relations = systemRelations.filter(
    ({ collection, field }) =>
      wanted.some((each) => each.name === collection) &&
      !(existing.has(collection) && registry.get(collection).byName.has(field.name)),
  );
  const fields = wanted
    .filter((each) => existing.has(each.name))
    .flatMap((each) => each.fields.map((field) => ({ collection: each.name, field })))
    .filter(({ collection, field }) => !registry.get(collection).byName.has(field.name));
  const indexed = wanted.filter((each) => existing.has(each.name) && needsIndexes(registry.get(each.name), each));
  const patterns = wanted
    .filter((each) => existing.has(each.name))
    .flatMap((each) => findOtherPatterns(registry.get(each.name), each).map((field) => ({ name: each.name, field })));
  const lists = wanted
    .filter((each) => existing.has(each.name))
    .flatMap((each) => findNewLists(registry.get(each.name), each).map((field) => ({ name: each.name, field })));
  if (lists.length + collections.length + relations.length + fields.length + indexed.length + patterns.length > 0) {
    const context = application.definitionContext(null, null);
    // The tables may be large: indexes are built outside of the event loop, and writers wait for them.
    const tables = indexed.map((each) => registry.get(each.name).table);
    await runDefinitionSteps(context, { subject: name, tables }, async (step) => {
      for (const each of collections) await step((tx) => defineSystemCollection(tx, each));
      for (const { collection, field } of fields)
        await step((tx) => addSystemField(tx, collection, buildSystemField(field)));
      for (const { collection, field } of relations)
        await step((tx) => addSystemField(tx, collection, buildSystemRelationField(field)));
      for (const { name, field } of lists) await step((tx) => setSystemType(tx, name, field));
      for (const { name, field } of patterns) await step((tx) => setSystemPattern(tx, name, field));
      for (const each of indexed) await step((tx) => setSystemIndexes(tx, each));
    });
  }
  await addSystemPermissions(application, collections);
  await addRoles(application);
  if (name === mainApplicationName) await addMainRow(application);
}

/** Adds `main` to the list of applications. */
async function addMainRow({ database, clock }: Application): Promise<void> {
  if (await findApplication(database, mainApplicationName)) return;
  await database.write((transaction) =>
    insertMainApplication(database, transaction, mainApplicationName, isoTime(clock.now())),
  );
}

async function defineSystemCollection(context: DefinitionContext, system: SystemCollection): Promise<void> {
  const definition: CollectionDefinition = {
    name: system.name,
    title: system.title,
    fields: system.fields.map(({ notNull: _, ...field }) => field),
    options: {
      timestamps: system.timestamps,
      paranoid: false,
      logging: system.logging ?? false,
      authors: false,
      ...(system.indexes && { indexes: system.indexes }),
    },
  };
  const namesWith = (of: 'hidden' | 'notNull'): Set<string> =>
    new Set(system.fields.filter((field) => field[of]).map((field) => field.name));
  const [hidden, notNull] = [namesWith('hidden'), namesWith('notNull')];
  await defineCollection(context, definition, {
    system: true,
    internal: system.internal ?? false,
    hidden: (field) => hidden.has(field.name),
    notNull: (field) => notNull.has(field.name),
  });
}

function buildSystemRelationField({ hidden = false, ...definition }: SystemField): NewField {
  return { definition, facts: { ...defaultFieldFacts, core: true, hidden, relation: buildSystemRelation(definition) } };
}

function buildSystemField({ hidden = false, ...definition }: SystemField): NewField {
  return { definition, facts: { ...defaultFieldFacts, core: true, base: definition.name, hidden } };
}

/** Adds the first admin. @returns false if there are users already. */
export async function addFirstAdmin(application: Application, admin: NewUser): Promise<boolean> {
  const { database, clock } = application;
  return database.write(async (transaction) => {
    if ((await countUsers(database, transaction)) > 0) return false;
    const id = await insertUser(database, transaction, { ...admin, at: isoTime(clock.now()) });
    await setUserRoles(database, transaction, id, [adminRole]);
    return true;
  });
}

/** Whether there are users. Only a read: `auth:resume` calls it for anonymous callers while there are none. */
export function applicationHasUsers({ database }: Application): Promise<boolean> {
  return hasAnyUser(database);
}

/** Gives the built-in roles of an older store the permissions on new system collections that a new store has. */
async function addSystemPermissions(
  { database, clock }: Application,
  collections: readonly SystemCollection[],
): Promise<void> {
  const granted = new Set(collections.filter((each) => each.builtInPermissions).map(({ name }) => name));
  if (granted.size === 0) return;
  const existing = new Set((await readRoles(database)).map((role) => role.name));
  const covered = new Set((await readPermissions(database)).map(({ role, resource }) => `${role} ${resource}`));
  const missing = builtInRoles
    .filter((role) => existing.has(role.name))
    .flatMap((role) => role.permissions.map((permission) => ({ role: role.name, ...permission })))
    .filter(({ role, resource }) => granted.has(resource) && !covered.has(`${role} ${resource}`));
  if (missing.length === 0) return;
  const time = isoTime(clock.now());
  await database.write(async (transaction) => {
    for (const each of missing) await insertPermission(database, transaction, each, time);
    await bumpVersion(transaction);
  });
}

async function addRoles(application: Application): Promise<void> {
  const { database, clock } = application;
  const existing = new Set((await readRoles(database)).map((role) => role.name));
  const missing = builtInRoles.filter((role) => !existing.has(role.name));
  if (missing.length === 0) return;
  const time = isoTime(clock.now());
  await database.write(async (transaction) => {
    for (const role of missing) {
      if (!(await insertRole(database, transaction, role, time))) continue;
      for (const permission of role.permissions)
        await insertPermission(database, transaction, { role: role.name, ...permission }, time);
    }
    await bumpVersion(transaction);
  });
  await application.refresh();
}

function buildSystemRelation(definition: FieldDefinition): StoredRelation {
  const { target, foreignKey, otherKey, sourceKey = 'id', targetKey = 'id', through } = definition;
  const relation = { many: true, target: target!, sourceField: sourceKey } as const;
  if (through === undefined) return { ...relation, kind: 'hasMany', targetField: foreignKey!, through: null };
  const join = { collection: through, sourceField: foreignKey!, targetField: otherKey! };
  return { ...relation, kind: 'belongsToMany', targetField: targetKey, through: join };
}
