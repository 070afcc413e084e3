/** Statements about users. */
import { isWellFormedText } from '../base/well-formed.ts';
import { type Collection, listColumnFields } from '../schema/registry.ts';
import type { Database, Transaction } from './database.ts';
import { parseRecordJson } from './json-column.ts';
import { createReader, readNumberInTx, runInTransaction } from './run-statement.ts';
import { sql, value } from './sql.ts';

/** The properties of a user that sign-in needs. */
export interface StoredAccount {
  readonly id: number;
  readonly passwordHash: string | null;
  readonly status: string;
}

/** A user as one application copies it to another. */
export interface NewUser {
  readonly email: string | null;
  readonly username: string | null;
  readonly nickname: string | null;
  readonly passwordHash: string | null;
}

/** Every field of a user that is not secret, and the names of the roles that the user holds; null for an unknown id. */
export async function loadUser(
  database: Database,
  users: Collection,
  id: number,
): Promise<(Record<string, unknown> & { roles: string[] }) | null> {
  const { dialect } = database;
  const read = createReader(database);
  const fields = listColumnFields(users).filter((field) => !field.type.secret && !field.hidden);
  const doubles = fields.filter(({ type }) => type.storage === 'double').map(({ name }) => name);
  const members = fields.map(({ name, type, column }) => dialect.member(name, type.storage, sql`users."${column}"`));
  const [row] = await read<[json: string]>(
    sql`SELECT ${dialect.object(members)} FROM users WHERE id=${value('integer', id)}`,
  );
  if (!row) return null;
  const [json] = row;
  const roles = await read<[role: string]>(
    sql`SELECT role FROM "usersRoles" WHERE "userId"=${value('integer', id)} ORDER BY id`,
  );
  return { ...parseRecordJson(json, doubles), roles: roles.map(([role]) => role) };
}

/**
 * The user with this e-mail address, otherwise the one with this user name. Always one statement, so that its duration
 * reveals nothing.
 */
export async function findAccount(
  database: Database,
  email: string | null,
  username: string | null,
): Promise<StoredAccount | null> {
  if (![email, username].every((text) => text === null || isWellFormedText(text))) return null;
  const byEmail = sql`email=${value('text', email)}`;
  const matches = sql`${byEmail} OR username=${value('text', username)}`;
  const [row] = await createReader(database)<[id: number, passwordHash: string | null, status: string]>(
    sql`SELECT id,password,status FROM users WHERE ${matches} ORDER BY CASE WHEN ${byEmail} THEN 0 ELSE 1 END LIMIT 1`,
  );
  if (!row) return null;
  const [id, passwordHash, status] = row;
  return { id: Number(id), passwordHash, status };
}

/** The number of users. */
export async function countUsers(database: Database, transaction: Transaction): Promise<number> {
  return readNumberInTx(database, transaction, sql`SELECT count(*) FROM users`);
}

/** Whether the application has a user. */
export async function hasAnyUser(database: Database): Promise<boolean> {
  const rows = await createReader(database)(sql`SELECT 1 FROM users LIMIT 1`);
  return rows.length > 0;
}

/** A user with the hash of the password, to copy it to another application; null for an unknown id. */
export async function readUser(database: Database, id: number): Promise<NewUser | null> {
  const [row] = await createReader(database)<
    [email: string | null, username: string | null, nickname: string | null, passwordHash: string | null]
  >(sql`SELECT email,username,nickname,password FROM users WHERE id=${value('integer', id)}`);
  if (!row) return null;
  const [email, username, nickname, passwordHash] = row;
  return { email, username, nickname, passwordHash };
}

/** Creates an active user. @returns its id. */
export async function insertUser(
  database: Database,
  transaction: Transaction,
  user: NewUser & { readonly at: string },
): Promise<number> {
  const { email, username, nickname, passwordHash, at } = user;
  const time = value('datetime', at);
  const texts = sql`${value('text', email)},${value('text', username)},${value('text', nickname)}`;
  const values = sql`${texts},${value('text', passwordHash)},'active',${time},${time}`;
  const insert = sql`INSERT INTO users (email,username,nickname,password,status,"createdAt","updatedAt")
VALUES (${values}) RETURNING id`;
  return readNumberInTx(database, transaction, insert);
}

/** Activates a user and sets the password. */
export async function activateUser(
  database: Database,
  transaction: Transaction,
  id: number,
  passwordHash: string | null,
): Promise<void> {
  const set = sql`status='active',password=${value('text', passwordHash)},_v=_v+1`;
  await runInTransaction(database, transaction, sql`UPDATE users SET ${set} WHERE id=${value('integer', id)}`);
}
