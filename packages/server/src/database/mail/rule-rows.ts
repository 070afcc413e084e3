/** Statements about rules for arriving mail. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createRunner, createTxRunner } from '../run-statement.ts';
import { sql, value } from '../sql.ts';

/** A stored rule. Its conditions and actions were checked when it was saved. */
export interface StoredRuleRow {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly matches: 'all' | 'any';
  readonly conditions: unknown;
  readonly actions: unknown;
  readonly stop: boolean;
  /** The user with whose permissions the rule acts, and the role; null if the user was deleted. */
  readonly ownerId: number | null;
  readonly role: string | null;
  readonly problem: string | null;
}

const columns = sql`id,"accountId",name,matches,conditions,actions,stop,"ownerId",role,problem`;

/** The enabled rules of an account, in their order. */
export async function readEnabledRules(database: Database, account: number): Promise<StoredRuleRow[]> {
  const rows = await createReader(database)(
    sql`SELECT ${columns} FROM "mailRules" WHERE "accountId"=${value('integer', account)} AND ${database.dialect.isTrue(sql`enabled`)} ORDER BY position,id`,
  );
  return rows.map(toRule);
}

/** A rule; null if it does not exist. @param transaction null: outside of a transaction. */
export async function readRule(
  database: Database,
  transaction: Transaction | null,
  id: number,
): Promise<StoredRuleRow | null> {
  const run = createRunner(database, transaction);
  const [row] = await run(sql`SELECT ${columns} FROM "mailRules" WHERE id=${value('integer', id)}`);
  return row ? toRule(row) : null;
}

/** The number of rules of an account. */
export async function countRules(database: Database, transaction: Transaction, account: number): Promise<number> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT count(*) FROM "mailRules" WHERE "accountId"=${value('integer', account)}`);
  return Number(row?.[0]);
}

/** Sets the user and role with whose permissions a rule acts, and removes its problem. */
export async function setRuleOwner(
  database: Database,
  transaction: Transaction,
  id: number,
  { user, role }: { readonly user: number; readonly role: string },
): Promise<void> {
  transaction.touch('mailRules');
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "mailRules" SET "ownerId"=${value('integer', user)},role=${value('text', role)},problem=NULL WHERE id=${value('integer', id)}`,
  );
}

/** Stores why a rule could not be applied; null: it was applied. @returns whether that changed. */
export async function setRuleProblem(
  database: Database,
  transaction: Transaction,
  id: number,
  problem: string | null,
): Promise<boolean> {
  transaction.touch('mailRules');
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "mailRules" SET problem=${value('text', problem)},_v=_v+1 WHERE id=${value('integer', id)} AND problem IS DISTINCT FROM ${value('text', problem)} RETURNING id`,
  );
  return rows.length > 0;
}

/** Whether a user is a member of an account. @param transaction null: outside of a transaction. */
export async function isAccountMember(
  database: Database,
  transaction: Transaction | null,
  account: number,
  user: number,
): Promise<boolean> {
  const run = createRunner(database, transaction);
  const rows = await run(
    sql`SELECT 1 FROM "accountMembers" WHERE "accountId"=${value('integer', account)} AND "userId"=${value('integer', user)}`,
  );
  return rows.length > 0;
}

/** The stored vacation reply of an account, and its address; null if the account does not exist. */
export async function readVacation(
  database: Database,
  account: number,
): Promise<{ readonly address: string; readonly vacation: unknown } | null> {
  const [row] = await createReader(database)(
    sql`SELECT address,vacation FROM accounts WHERE id=${value('integer', account)}`,
  );
  return row ? { address: row[0] as string, vacation: parseJsonColumn(row[1]) } : null;
}

function toRule(row: readonly unknown[]): StoredRuleRow {
  const [id, accountId, name, matches, conditions, actions, stop, ownerId, role, problem] = row;
  return {
    id: Number(id),
    accountId: Number(accountId),
    name: name as string,
    matches: matches as 'all' | 'any',
    conditions: parseJsonColumn(conditions),
    actions: parseJsonColumn(actions),
    stop: Boolean(stop),
    ownerId: ownerId === null ? null : Number(ownerId),
    role: role as string | null,
    problem: problem as string | null,
  };
}
