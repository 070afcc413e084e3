/** Statements about mail accounts and their mailboxes. */

import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createRunner, createTxRunner } from '../run-statement.ts';
import { sql, value } from '../sql.ts';
import { deletingStatus, threadsVersion } from './account-status.ts';

export interface StoredMailbox {
  readonly id: number;
  readonly path: string;
  readonly role: string | null;
}

/** @param transaction the one under way, where there is one. */
export async function readMailboxes(
  database: Database,
  account: number,
  transaction?: Transaction,
): Promise<StoredMailbox[]> {
  const run = createRunner(database, transaction);
  const rows = await run(
    sql`SELECT id,path,role FROM mailboxes WHERE "accountId"=${value('integer', account)} ORDER BY id`,
  );
  return rows.map(([id, path, role]) => ({ id: Number(id), path: path as string, role: role as string | null }));
}

/**
 * Creates a mailbox. @returns its key; null if the account already has a mailbox with this path, which is not changed.
 */
export async function addMailbox(
  database: Database,
  transaction: Transaction,
  account: number,
  { path, role }: Omit<StoredMailbox, 'id'>,
): Promise<number | null> {
  transaction.touch('mailboxes');
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`INSERT INTO mailboxes ("accountId",path,role,messages,unread,selectable) VALUES (${value('integer', account)},${value('text', path)},${value('text', role)},0,0,${value('boolean', true)}) ON CONFLICT ("accountId",path) DO NOTHING RETURNING id`,
  );
  return row ? Number(row[0]) : null;
}

/**
 * The address and the aliases of an account, in lower case; null if the account does not exist or is being deleted.
 *
 * @param transaction the open one, if any.
 */
export async function findOwnAddresses(
  database: Database,
  transaction: Transaction | null,
  account: number,
): Promise<ReadonlySet<string> | null> {
  const run = createRunner(database, transaction);
  const [row] = await run(
    sql`SELECT address,aliases FROM accounts WHERE id=${value('integer', account)} AND status<>${value('text', deletingStatus)}`,
  );
  if (!row) return null;
  const aliases = (parseJsonColumn(row[1]) ?? []) as readonly string[];
  return new Set([row[0] as string, ...aliases].map((address) => address.toLowerCase()));
}

/** Accounts whose conversations were built by an earlier server version. */
export async function findAccountsWithOldThreads(
  database: Database,
): Promise<{ readonly id: number; readonly address: string }[]> {
  const rows = await createReader(database)(
    sql`SELECT id,address FROM accounts WHERE coalesce("threadsVersion",0)<${threadsVersion} AND status<>${value('text', deletingStatus)} ORDER BY id`,
  );
  return rows.map(([id, address]) => ({ id: Number(id), address: address as string }));
}

/** Marks the conversations of an account as built by the rules of this version. */
export async function setThreadsVersion(database: Database, transaction: Transaction, account: number): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE accounts SET "threadsVersion"=${threadsVersion} WHERE id=${value('integer', account)} AND coalesce("threadsVersion",0)<${threadsVersion}`,
  );
}

/** The users who can see the mail of an account, including its owner. */
export async function readMembers(database: Database, transaction: Transaction, account: number): Promise<number[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT "userId" FROM "accountMembers" WHERE "accountId"=${value('integer', account)} ORDER BY "userId"`);
  return rows.map(([user]) => Number(user));
}

/** A member of an account, by the name that other members see. */
export interface MemberName {
  readonly id: number;
  readonly name: string;
}

/** The members of an account by name: the nickname of each, else the user name, else the e-mail address. */
export async function readMemberNames(database: Database, account: number): Promise<MemberName[]> {
  const rows = await createReader(database)(
    sql`SELECT u.id,coalesce(u.nickname,u.username,u.email) AS name FROM users u JOIN "accountMembers" m ON m."userId"=u.id WHERE m."accountId"=${value('integer', account)} ORDER BY name,u.id`,
  );
  return rows.map(([id, name]) => ({ id: Number(id), name: (name ?? `#${id}`) as string }));
}

/**
 * Sets the members of an account. The owner is always a member.
 *
 * @param members null: the current members.
 */
export async function setMembers(
  database: Database,
  transaction: Transaction,
  account: number,
  members: readonly number[] | null,
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const accountId = value('integer', account);
  transaction.touch('accountMembers');
  if (members !== null) {
    await run(sql`DELETE FROM "accountMembers" WHERE "accountId"=${accountId}`);
    for (const user of new Set(members))
      await run(
        sql`INSERT INTO "accountMembers" ("accountId","userId") VALUES (${accountId},${value('integer', user)})`,
      );
  }
  await run(
    sql`INSERT INTO "accountMembers" ("accountId","userId") SELECT id,"ownerId" FROM accounts WHERE id=${accountId} AND "ownerId" IS NOT NULL ON CONFLICT DO NOTHING`,
  );
}

/** The account that a mailbox belongs to. */
export async function readMailboxAccount(database: Database, transaction: Transaction, id: number): Promise<number> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT "accountId" FROM mailboxes WHERE id=${value('integer', id)}`);
  return Number(row![0]);
}

/** Stores encrypted secrets of an account and keeps the others; null deletes a secret. */
export async function setAccountSecrets(
  database: Database,
  transaction: Transaction,
  account: number,
  secrets: Readonly<Record<string, string | null>>,
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const accountId = value('integer', account);
  const [row] = await run(sql`SELECT secrets FROM accounts WHERE id=${accountId}`);
  const before: unknown = parseJsonColumn(row?.[0]) ?? {};
  const remaining = Object.entries({ ...(before as object), ...secrets }).filter(([, secret]) => secret !== null);
  transaction.touch('accounts');
  await run(sql`UPDATE accounts SET secrets=${value('json', Object.fromEntries(remaining))} WHERE id=${accountId}`);
}

/** The servers that the secrets of an account are for, as stored. */
export async function readServers(
  database: Database,
  transaction: Transaction,
  account: number,
): Promise<{ readonly imap: unknown; readonly smtp: unknown; readonly oauth: unknown }> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT imap,smtp,oauth FROM accounts WHERE id=${value('integer', account)}`);
  return { imap: parseJsonColumn(row?.[0]), smtp: parseJsonColumn(row?.[1]), oauth: parseJsonColumn(row?.[2]) };
}

/** Deletes all secrets of an account. */
export async function deleteAccountSecrets(
  database: Database,
  transaction: Transaction,
  account: number,
): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE accounts SET secrets=NULL WHERE id=${value('integer', account)}`);
}

/** The settings of an account by which it sends and receives. */
export interface ServerSettings {
  readonly address: string;
  readonly imap: unknown;
  readonly smtp: unknown;
  /** What the IMAP server offers. */
  readonly capabilities: readonly string[];
}

/** @returns null if the account does not exist or is being deleted. */
export async function readServerSettings(database: Database, account: number): Promise<ServerSettings | null> {
  const [row] = await createReader(database)(
    sql`SELECT address,imap,smtp,capabilities FROM accounts WHERE id=${value('integer', account)} AND status<>${value('text', deletingStatus)}`,
  );
  if (!row) return null;
  const [address, imap, smtp, capabilities] = row;
  return {
    address: address as string,
    imap: parseJsonColumn(imap),
    smtp: parseJsonColumn(smtp),
    capabilities: (parseJsonColumn(capabilities) ?? []) as readonly string[],
  };
}
