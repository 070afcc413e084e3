/** Statements about credentials, users and roles: the system tables whose columns are named like their fields. */

import { isWellFormedText } from '../base/well-formed.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { type Collection, listColumnFields } from '../schema/registry.ts';
import type { Database, Row, Transaction } from './database.ts';
import { parseRecordJson } from './json-column.ts';
import { readRows, runInTransaction } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

export interface StoredLogin {
  readonly id: number;
  readonly userId: number;
  readonly expiresAt: string;
}

type RunStatement = (statement: Sql) => Promise<Row[]>;

/** Runs a statement outside of any transaction. */
export const createReader =
  (database: Database): RunStatement =>
  (statement) =>
    readRows(database, statement);
export const createTxRunner =
  (database: Database, transaction: Transaction): RunStatement =>
  (statement) =>
    runInTransaction(database, transaction, statement);

export async function findLogin(database: Database, tokenHashes: readonly string[]): Promise<StoredLogin | null> {
  const { dialect } = database;
  const wanted = dialect.isIn(sql`"tokenHash"`, listValue('text', tokenHashes));
  const [row] = await createReader(database)(
    sql`SELECT id,"userId",${dialect.scalar('datetime', sql`"expiresAt"`)} FROM logins WHERE ${wanted}`,
  );
  return row ? { id: Number(row[0]), userId: Number(row[1]), expiresAt: row[2] as string } : null;
}

/** Every field of a user that is no secret, and the names of the roles held; null for nobody. */
export async function loadUser(
  database: Database,
  users: Collection,
  id: number,
): Promise<(Record<string, unknown> & { roles: string[] }) | null> {
  const { dialect } = database;
  const fields = listColumnFields(users).filter((field) => !field.type.secret && !field.hidden);
  const doubles = fields.filter(({ type }) => type.storage === 'double').map(({ name }) => name);
  const members = fields.map((field) => dialect.member(field.name, field.type.storage!, sql`users."${field.column}"`));
  const [row] = await createReader(database)(
    sql`SELECT ${dialect.object(members)} FROM users WHERE id=${value('integer', id)}`,
  );
  if (!row) return null;
  const roles = await createReader(database)(
    sql`SELECT role FROM "usersRoles" WHERE "userId"=${value('integer', id)} ORDER BY id`,
  );
  return { ...parseRecordJson(row[0] as string, doubles), roles: roles.map(([role]) => role as string) };
}

/** What sign-in looks at. */
export interface StoredAccount {
  readonly id: number;
  readonly passwordHash: string | null;
  readonly status: string;
}

/** The user with this e-mail address, else the one with this user name; one statement, whatever it finds. */
export async function findAccount(
  database: Database,
  email: string | null,
  username: string | null,
): Promise<StoredAccount | null> {
  if (![email, username].every((text) => text === null || isWellFormedText(text))) return null;
  const byEmail = sql`email=${value('text', email)}`;
  const [row] = await createReader(database)(
    sql`SELECT id,password,status FROM users WHERE ${byEmail} OR username=${value('text', username)} ORDER BY CASE WHEN ${byEmail} THEN 0 ELSE 1 END LIMIT 1`,
  );
  return row ? { id: Number(row[0]), passwordHash: row[1] as string | null, status: row[2] as string } : null;
}

export async function insertLogin(
  database: Database,
  transaction: Transaction,
  login: {
    readonly userId: number;
    readonly tokenHash: string;
    readonly createdAt: string;
    readonly expiresAt: string;
  },
): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO logins ("userId","tokenHash","createdAt","expiresAt") VALUES (${value('integer', login.userId)},${value('text', login.tokenHash)},${value('datetime', login.createdAt)},${value('datetime', login.expiresAt)})`,
  );
}

export async function extendLogin(database: Database, id: number, expiresAt: string): Promise<void> {
  await database.write((transaction) =>
    createTxRunner(
      database,
      transaction,
    )(sql`UPDATE logins SET "expiresAt"=${value('datetime', expiresAt)} WHERE id=${value('integer', id)}`),
  );
}

export async function deleteLogin(database: Database, transaction: Transaction, id: number): Promise<void> {
  await createTxRunner(database, transaction)(sql`DELETE FROM logins WHERE id=${value('integer', id)}`);
}

/** Notes when keys, or logins, were last used. */
export async function setLastUsedTimes(
  database: Database,
  table: 'apiKeys' | 'logins',
  used: ReadonlyMap<number, string>,
): Promise<void> {
  if (used.size === 0) return;
  await database.write(async (transaction) => {
    transaction.touch(table);
    for (const [id, time] of used) {
      const set = sql`"lastUsedAt"=${value('datetime', time)}`;
      await createTxRunner(
        database,
        transaction,
      )(sql`UPDATE ${`"${table}"`} SET ${set} WHERE id=${value('integer', id)}`);
    }
  });
}

export async function readRoles(
  database: Database,
): Promise<{ name: string; allowConfigure: boolean; builtIn: boolean }[]> {
  const rows = await createReader(database)(sql`SELECT name,"allowConfigure","builtIn" FROM roles`);
  return rows.map(([name, allowConfigure, builtIn]) => ({
    name: name as string,
    allowConfigure: Boolean(allowConfigure),
    builtIn: Boolean(builtIn),
  }));
}

/** The titles of roles by their names, null for a role without one. Names of no role are left out. */
export async function readRoleTitles(
  database: Database,
  names: readonly string[],
): Promise<Record<string, string | null>> {
  const wanted = database.dialect.isIn(sql`name`, listValue('text', names));
  const rows = await createReader(database)(sql`SELECT name,title FROM roles WHERE ${wanted}`);
  return Object.fromEntries(rows.map(([name, title]) => [name as string, title as string | null]));
}

export interface StoredPermission {
  readonly id: number;
  readonly role: string;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly filter: unknown;
  readonly fields: readonly string[] | null;
  readonly exceptFields: readonly string[] | null;
}

const permissionColumns = sql`id,role,resource,actions,filter,fields,"exceptFields"`;

export async function readPermissions(database: Database): Promise<StoredPermission[]> {
  const rows = await createReader(database)(sql`SELECT ${permissionColumns} FROM permissions ORDER BY id`);
  return rows.map((row) => toStoredPermission(row));
}

/** One that was just written. */
export async function findPermission(
  database: Database,
  transaction: Transaction,
  id: unknown,
): Promise<StoredPermission> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT ${permissionColumns} FROM permissions WHERE id=${value('integer', id)}`);
  return toStoredPermission(row!);
}

/** The other permissions of a role on a resource, as the transaction sees them. */
export async function readPermissionsOn(
  database: Database,
  transaction: Transaction,
  role: string,
  resource: string,
): Promise<StoredPermission[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT ${permissionColumns} FROM permissions WHERE role=${value('text', role)} AND resource=${value('text', resource)}`,
  );
  return rows.map((row) => toStoredPermission(row));
}

/** Every permission of every role. */
export async function readPermissionsInTx(database: Database, transaction: Transaction): Promise<StoredPermission[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT ${permissionColumns} FROM permissions ORDER BY id`);
  return rows.map((row) => toStoredPermission(row));
}

/** Names of fields in a permission, after a field was renamed or destroyed. */
export async function updatePermissionNames(
  database: Database,
  transaction: Transaction,
  { id, filter, fields, exceptFields }: Pick<StoredPermission, 'id' | 'filter' | 'fields' | 'exceptFields'>,
): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE permissions SET filter=${value('json', filter)},fields=${value('json', fields)},"exceptFields"=${value('json', exceptFields)} WHERE id=${value('integer', id)}`,
  );
}

export async function deletePermissionsOn(
  database: Database,
  transaction: Transaction,
  resource: string,
): Promise<void> {
  await createTxRunner(database, transaction)(sql`DELETE FROM permissions WHERE resource=${value('text', resource)}`);
}

/** Replaces the roles that a user holds. */
export async function setUserRoles(
  database: Database,
  transaction: Transaction,
  userId: number,
  roles: readonly string[],
): Promise<void> {
  const run = createTxRunner(database, transaction);
  await run(sql`DELETE FROM "usersRoles" WHERE "userId"=${value('integer', userId)}`);
  for (const role of roles)
    await run(
      sql`INSERT INTO "usersRoles" ("userId",role) VALUES (${value('integer', userId)},${value('text', role)})`,
    );
}

/** Names of the roles that new users get when none is named. */
export async function readDefaultRoles(database: Database, transaction: Transaction): Promise<string[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT name FROM roles WHERE "default"=${value('boolean', true)} ORDER BY name`);
  return rows.map(([name]) => name as string);
}

/** Whether a role of those named, or one that may configure, is given by default. */
export async function hasPrivilegedDefaultRole(
  database: Database,
  transaction: Transaction,
  roles: readonly string[],
): Promise<boolean> {
  const yes = value('boolean', true);
  const isPrivileged = sql`"allowConfigure"=${yes} OR ${database.dialect.isIn(sql`name`, listValue('text', roles))}`;
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT name FROM roles WHERE "default"=${yes} AND (${isPrivileged})`);
  return rows.length > 0;
}

/** How many other users hold the role and can sign in, as the transaction sees it. */
export async function countActiveHolders(
  database: Database,
  transaction: Transaction,
  role: string,
  except: readonly unknown[] = [],
): Promise<number> {
  const isOther = sql`NOT ${database.dialect.isIn(sql`u.id`, listValue('integer', except))}`;
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT count(*) FROM "usersRoles" r JOIN users u ON u.id=r."userId" WHERE r.role=${value('text', role)} AND u.status='active' AND u.password IS NOT NULL AND (u.email IS NOT NULL OR u.username IS NOT NULL) AND ${isOther}`,
  );
  return Number(row![0]);
}

export async function readUserRoles(
  database: Database,
  transaction: Transaction,
  userIds: readonly unknown[],
): Promise<string[]> {
  const { dialect } = database;
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT DISTINCT role FROM "usersRoles" WHERE ${dialect.isIn(sql`"userId"`, listValue('integer', userIds))}`);
  return rows.map(([role]) => role as string);
}

export async function countRoleHolders(
  database: Database,
  transaction: Transaction,
  roles: readonly unknown[],
): Promise<number> {
  const { dialect } = database;
  const isHeld = (column: Sql): Sql => dialect.isIn(column, listValue('text', roles));
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT (SELECT count(*) FROM "apiKeys" WHERE ${isHeld(sql`role`)})+(SELECT count(*) FROM "usersRoles" WHERE ${isHeld(sql`role`)})`,
  );
  return Number(row![0]);
}

function toStoredPermission(row: Row): StoredPermission {
  const [id, role, resource, actions, filter, fields, exceptFields] = row;
  const json = (text: unknown): unknown => (text === null ? null : parseExactJson(text as string));
  return {
    id: Number(id),
    role: role as string,
    resource: resource as string,
    actions: json(actions) as string[],
    filter: json(filter),
    fields: json(fields) as string[] | null,
    exceptFields: json(exceptFields) as string[] | null,
  };
}

export async function countUsers(database: Database, transaction: Transaction): Promise<number> {
  const [row] = await createTxRunner(database, transaction)(sql`SELECT count(*) FROM users`);
  return Number(row![0]);
}

export async function hasAnyUser(database: Database): Promise<boolean> {
  const rows = await createReader(database)(sql`SELECT 1 FROM users LIMIT 1`);
  return rows.length > 0;
}

/** Who can sign in, as one application hands a user to another. */
export interface NewUser {
  readonly email: string | null;
  readonly username: string | null;
  readonly nickname: string | null;
  readonly passwordHash: string | null;
}

export async function insertUser(
  database: Database,
  transaction: Transaction,
  user: NewUser & { readonly at: string },
): Promise<number> {
  const time = value('datetime', user.at);
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO users (email,username,nickname,password,status,"createdAt","updatedAt") VALUES (${value('text', user.email)},${value('text', user.username)},${value('text', user.nickname)},${value('text', user.passwordHash)},'active',${time},${time}) RETURNING id`,
  );
  return Number(row![0]);
}

/** Makes a user active, under another password. */
export async function activateUser(
  database: Database,
  transaction: Transaction,
  id: number,
  passwordHash: string | null,
): Promise<void> {
  const password = value('text', passwordHash);
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE users SET status='active',password=${password},_v=_v+1 WHERE id=${value('integer', id)}`);
}

/** A user with the password's hash, to be made anew in another application; null for nobody. */
export async function readUser(database: Database, id: number): Promise<NewUser | null> {
  const [row] = await createReader(database)(
    sql`SELECT email,username,nickname,password FROM users WHERE id=${value('integer', id)}`,
  );
  if (!row) return null;
  const [email, username, nickname, passwordHash] = row as (string | null)[];
  return { email: email!, username: username!, nickname: nickname!, passwordHash: passwordHash! };
}

/** Deletes logins that are over; returns when the next one will be, or null when none is left. */
export async function deleteExpiredLogins(database: Database, now: string): Promise<string | null> {
  const { dialect } = database;
  const time = value('datetime', now);
  const over = sql`SELECT id FROM logins WHERE "expiresAt"<=${time} LIMIT 1`;
  if ((await createReader(database)(over)).length > 0)
    await database.write((transaction) =>
      createTxRunner(database, transaction)(sql`DELETE FROM logins WHERE "expiresAt"<=${time}`),
    );
  const [row] = await createReader(database)(
    sql`SELECT ${dialect.scalar('datetime', sql`min("expiresAt")`)} FROM logins`,
  );
  return row![0] as string | null;
}

/** Whether the role was not there before. */
export async function insertRole(
  database: Database,
  transaction: Transaction,
  role: { readonly name: string; readonly title: string; readonly allowConfigure: boolean },
  createdAt: string,
): Promise<boolean> {
  const time = value('datetime', createdAt);
  const yes = value('boolean', true);
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO roles (name,title,"allowConfigure","default","builtIn","createdAt","updatedAt") VALUES (${value('text', role.name)},${value('text', role.title)},${value('boolean', role.allowConfigure)},${value('boolean', false)},${yes},${time},${time}) ON CONFLICT (name) DO NOTHING RETURNING name`,
  );
  return rows.length > 0;
}

export async function insertPermission(
  database: Database,
  transaction: Transaction,
  permission: { readonly role: string; readonly resource: string; readonly actions: readonly string[] },
  createdAt: string,
): Promise<void> {
  const time = value('datetime', createdAt);
  await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO permissions (role,resource,actions,"createdAt","updatedAt") VALUES (${value('text', permission.role)},${value('text', permission.resource)},${value('json', permission.actions)},${time},${time})`,
  );
}
