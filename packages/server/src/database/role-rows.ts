/** Statements about roles, and about which users hold them. */
import type { Database, Transaction } from './database.ts';
import { createReader, createRunner, createTxRunner, readNumberInTx, runInTransaction } from './run-statement.ts';
import { identifier, listValue, type Sql, sql, value } from './sql.ts';

/** All roles. @param transaction null: reads the committed roles. */
export async function readRoles(
  database: Database,
  transaction: Transaction | null = null,
): Promise<{ name: string; allowConfigure: boolean; builtIn: boolean }[]> {
  const run = createRunner(database, transaction);
  const rows = await run<[name: string, allowConfigure: unknown, builtIn: unknown]>(
    sql`SELECT name,"allowConfigure","builtIn" FROM roles`,
  );
  return rows.map(([name, allowConfigure, builtIn]) => ({
    name,
    allowConfigure: Boolean(allowConfigure),
    builtIn: Boolean(builtIn),
  }));
}

/** A role as schema files describe it. */
export interface RoleDefinition {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly allowConfigure: boolean;
  readonly default: boolean;
  readonly builtIn: boolean;
}

/**
 * All roles with their descriptions, by name. @param transaction reads the roles that it sees; null: reads the
 * committed ones.
 */
export async function readRoleDefinitions(
  database: Database,
  transaction: Transaction | null,
): Promise<RoleDefinition[]> {
  const run = createRunner(database, transaction);
  const rows = await run<[string, string | null, string | null, unknown, unknown, unknown]>(
    sql`SELECT name,title,description,"allowConfigure","default","builtIn" FROM roles`,
  );
  return rows.map(([name, title, description, allowConfigure, isDefault, builtIn]) => ({
    name,
    title,
    description,
    allowConfigure: Boolean(allowConfigure),
    default: Boolean(isDefault),
    builtIn: Boolean(builtIn),
  }));
}

/** A column that holds names of roles. */
export interface RoleColumn {
  readonly table: string;
  readonly column: string;
}

/** Renames a role wherever it is named. @param columns of the role itself, and those of other tables that name roles. */
export async function renameRole(
  database: Database,
  transaction: Transaction,
  { from, to }: { readonly from: string; readonly to: string },
  columns: { readonly own: readonly string[]; readonly referring: readonly RoleColumn[] },
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const rest = columns.own.filter((name) => name !== 'name');
  const names = rest.map(identifier).join(',');
  const old = sql`name=${value('text', from)}`;
  // Foreign keys refer to the name, so the new row exists before they change.
  await run(sql`INSERT INTO roles (name,${names}) SELECT ${value('text', to)},${names} FROM roles WHERE ${old}`);
  for (const { table, column } of columns.referring) {
    const name = identifier(column);
    await run(sql`UPDATE ${identifier(table)} SET ${name}=${value('text', to)} WHERE ${name}=${value('text', from)}`);
    transaction.touch(table);
  }
  await run(sql`DELETE FROM roles WHERE ${old}`);
  transaction.touch('roles');
}

/** The titles of roles by name, null for a role without a title. Unknown names are left out. */
export async function readRoleTitles(
  database: Database,
  names: readonly string[],
): Promise<Record<string, string | null>> {
  const wanted = database.dialect.isIn(sql`name`, listValue('text', names));
  const rows = await createReader(database)<[name: string, title: string | null]>(
    sql`SELECT name,title FROM roles WHERE ${wanted}`,
  );
  return Object.fromEntries(rows);
}

/** The names of the roles that new users get by default. */
export async function readDefaultRoles(database: Database, transaction: Transaction): Promise<string[]> {
  const select = sql`SELECT name FROM roles WHERE "default"=${value('boolean', true)} ORDER BY name`;
  const rows = await runInTransaction<[name: string]>(database, transaction, select);
  return rows.map(([name]) => name);
}

/** Whether new users get by default one of the named roles, or a role that may configure. */
export async function hasPrivilegedDefaultRole(
  database: Database,
  transaction: Transaction,
  roles: readonly string[],
): Promise<boolean> {
  const yes = value('boolean', true);
  const isPrivileged = sql`"allowConfigure"=${yes} OR ${database.dialect.isIn(sql`name`, listValue('text', roles))}`;
  const run = createTxRunner(database, transaction);
  const rows = await run(sql`SELECT name FROM roles WHERE "default"=${yes} AND (${isPrivileged})`);
  return rows.length > 0;
}

/** Creates a built-in role. @returns false if the role already exists. */
export async function insertRole(
  database: Database,
  transaction: Transaction,
  role: { readonly name: string; readonly title: string; readonly allowConfigure: boolean },
  createdAt: string,
): Promise<boolean> {
  const time = value('datetime', createdAt);
  const names = sql`${value('text', role.name)},${value('text', role.title)}`;
  const switches = sql`${value('boolean', role.allowConfigure)},${value('boolean', false)},${value('boolean', true)}`;
  const insert = sql`INSERT INTO roles (name,title,"allowConfigure","default","builtIn","createdAt","updatedAt")
VALUES (${names},${switches},${time},${time}) ON CONFLICT (name) DO NOTHING RETURNING name`;
  const rows = await runInTransaction(database, transaction, insert);
  return rows.length > 0;
}

/** Replaces the roles that a user holds. */
export async function setUserRoles(
  database: Database,
  transaction: Transaction,
  userId: number,
  roles: readonly string[],
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const user = value('integer', userId);
  await run(sql`DELETE FROM "usersRoles" WHERE "userId"=${user}`);
  for (const role of roles)
    await run(sql`INSERT INTO "usersRoles" ("userId",role) VALUES (${user},${value('text', role)})`);
}

/** The names of all roles that at least one of the users holds. */
export async function readUserRoles(
  database: Database,
  transaction: Transaction,
  userIds: readonly unknown[],
): Promise<string[]> {
  const isGiven = database.dialect.isIn(sql`"userId"`, listValue('integer', userIds));
  const select = sql`SELECT DISTINCT role FROM "usersRoles" WHERE ${isGiven}`;
  const rows = await runInTransaction<[role: string]>(database, transaction, select);
  return rows.map(([role]) => role);
}

/** The number of users and API keys that have one of the roles. */
export async function countRoleHolders(
  database: Database,
  transaction: Transaction,
  roles: readonly unknown[],
): Promise<number> {
  const { dialect } = database;
  const isHeld = (column: Sql): Sql => dialect.isIn(column, listValue('text', roles));
  const keys = sql`SELECT count(*) FROM "apiKeys" WHERE ${isHeld(sql`role`)}`;
  const users = sql`SELECT count(*) FROM "usersRoles" WHERE ${isHeld(sql`role`)}`;
  return readNumberInTx(database, transaction, sql`SELECT (${keys})+(${users})`);
}

/**
 * The number of users that hold a role and can sign in, as the transaction sees it.
 *
 * @param except ids of users that do not count.
 */
export async function countActiveHolders(
  database: Database,
  transaction: Transaction,
  role: string,
  except: readonly unknown[] = [],
): Promise<number> {
  const isOther = sql`NOT ${database.dialect.isIn(sql`u.id`, listValue('integer', except))}`;
  const canSignIn = sql`u.status='active' AND u.password IS NOT NULL
AND (u.email IS NOT NULL OR u.username IS NOT NULL)`;
  const holders = sql`"usersRoles" r JOIN users u ON u.id=r."userId" WHERE r.role=${value('text', role)}`;
  const select = sql`SELECT count(*) FROM ${holders} AND ${canSignIn} AND ${isOther}`;
  return readNumberInTx(database, transaction, select);
}
