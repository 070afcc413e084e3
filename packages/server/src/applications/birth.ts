/** What a new application is born with: the catalogue, the system collections, built-in roles, its first admin. */
import { randomUUID } from 'node:crypto';
import { adminRole, publicRole } from '../access/access-table.ts';
import { isoTime } from '../base/clock.ts';
import { addSystemField, defineCollection } from '../collections/define-collection.ts';
import { createCatalogue, hasCatalogue } from '../database/catalogue.ts';
import type { Database } from '../database/database.ts';
import { insertPermission, insertRole, insertUser, setUserRoles, userCount } from '../database/identity-store.ts';
import { hashPassword } from '../identity/password.ts';
import type { CollectionDefinition } from '../schema/definition.ts';
import type { StoredRelation } from '../schema/load-registry.ts';
import { systemCollections, systemRelations } from '../schema/system-collections.ts';
import type { Application } from './application.ts';

const everyAction = ['list', 'get', 'create', 'update', 'destroy', 'export', 'import', 'history'];

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
      { resource: '*', actions: everyAction },
      { resource: 'collections', actions: ['list', 'get', 'create', 'update', 'destroy'] },
      { resource: 'fields', actions: ['list', 'get', 'create', 'update', 'destroy'] },
    ],
  },
  { name: 'editor', title: 'Editor', allowConfigure: false, permissions: [{ resource: '*', actions: everyAction }] },
  {
    name: 'viewer',
    title: 'Viewer',
    allowConfigure: false,
    permissions: [{ resource: '*', actions: ['list', 'get'] }],
  },
  { name: publicRole, title: 'Without a credential', allowConfigure: false, permissions: [] },
];

/** Makes the catalogue where there is none. A birth that was cut short is started over: nothing can be in it. */
export async function prepareStore(database: Database, name: string): Promise<boolean> {
  if (await hasCatalogue(database)) return false;
  await createCatalogue(database, name, randomUUID());
  return true;
}

/** Completes an application whose catalogue is there; safe to run at every start. */
export async function completeBirth(application: Application): Promise<void> {
  for (const system of systemCollections) {
    if (application.registry.all().some((each) => each.name === system.name)) continue;
    const definition: CollectionDefinition = {
      name: system.name,
      title: system.title,
      fields: system.fields,
      options: { timestamps: system.timestamps, paranoid: false, logging: false },
    };
    const hidden = new Set(system.fields.filter((field) => field.hidden).map((field) => field.name));
    await defineCollection(application.definitionContext(null, null), definition, {
      system: true,
      internal: system.internal ?? false,
      hidden: (field) => hidden.has(field.name),
    });
  }
  for (const { collection, field } of systemRelations) {
    if (application.registry.get(collection).byName.has(field.name)) continue;
    const facts = {
      base: null,
      notNull: false,
      kept: false,
      hidden: false,
      core: true,
      references: null,
      relation: systemRelation(field.name),
    };
    await addSystemField(application.definitionContext(null, null), collection, { definition: field, facts });
  }
  await addRoles(application);
  await application.refresh();
}

/** The first admin, where nobody is there yet. */
export async function addFirstAdmin(application: Application, email: string, password: string): Promise<boolean> {
  const hash = await hashPassword(password);
  const { database, clock } = application;
  return database.write(async (transaction) => {
    if ((await userCount(database, transaction)) > 0) return false;
    const id = await insertUser(database, transaction, {
      email: email.trim().toLowerCase(),
      nickname: 'Admin',
      passwordHash: hash,
      at: isoTime(clock.now()),
    });
    await setUserRoles(database, transaction, id, [adminRole]);
    return true;
  });
}

export async function hasUsers({ database }: Application): Promise<boolean> {
  return database.write(async (transaction) => (await userCount(database, transaction)) > 0);
}

async function addRoles({ database, clock }: Application): Promise<void> {
  const at = isoTime(clock.now());
  await database.write(async (transaction) => {
    for (const role of builtInRoles) {
      if (!(await insertRole(database, transaction, role, at))) continue;
      for (const permission of role.permissions)
        await insertPermission(database, transaction, { role: role.name, ...permission }, at);
    }
  });
}

function systemRelation(name: string): StoredRelation {
  if (name === 'permissions') {
    return {
      kind: 'hasMany',
      many: true,
      target: 'permissions',
      sourceField: 'name',
      targetField: 'role',
      through: null,
    };
  }
  const through = { collection: 'usersRoles', sourceField: 'userId', targetField: 'role' };
  return { kind: 'belongsToMany', many: true, target: 'roles', sourceField: 'id', targetField: 'name', through };
}
