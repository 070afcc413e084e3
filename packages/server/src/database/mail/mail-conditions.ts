/** SQL about mail that conditions of lists are made of: the folders of e-mails, and the accounts that a user can see. */
import { type Param, type Sql, sql } from '../sql.ts';

/** The tables that a condition about a folder reads, besides the table of e-mails. */
export const placementTables = ['mailPlacements', 'mailboxes'] as const;

/** The table of placements: it contains which e-mail is in which mailbox. */
export const placementTable: Sql = sql`"mailPlacements"`;

/** A query for the ids of the accounts whose mail a user can see. @param user the key of the user. */
export function selectVisibleAccounts(user: Param): Sql {
  return sql`SELECT "accountId" FROM "accountMembers" WHERE "userId"=${user}`;
}

/** The same query with its column named `a`, as the full-text index takes it. */
export function selectIndexedAccounts(user: Param): Sql {
  return sql`SELECT "accountId" AS a FROM "accountMembers" WHERE "userId"=${user}`;
}

/**
 * A query for the ids of the mailboxes with a role or path, one column `group_key`.
 *
 * @param folder role of a mailbox, or the path of a mailbox without a role.
 */
export function selectMailboxes(folder: Param, user: Param): Sql {
  return sql`SELECT id AS group_key FROM mailboxes WHERE coalesce(role,path)=${folder} AND "accountId" IN (${selectVisibleAccounts(user)})`;
}

/** The parts of a condition about folders. */
export interface FolderTest {
  /** The id of the e-mail. */
  readonly email: Sql;
  /** A quoted name that no other table of the statement has. */
  readonly alias: string;
  /** A query for the ids of mailboxes, one column. */
  readonly mailboxes: Sql;
  /** `probe` looks up each e-mail; `list` reads all e-mails of the mailboxes. */
  readonly by: 'probe' | 'list';
}

/** Whether an e-mail is in one of some mailboxes. */
export function isInMailboxes({ email, alias, mailboxes, by }: FolderTest): Sql {
  const isPlaced = sql`${alias}."mailboxId" IN (${mailboxes})`;
  if (by === 'list')
    return sql`${email} IN (SELECT ${alias}."emailId" FROM ${placementTable} ${alias} WHERE ${isPlaced})`;
  return sql`EXISTS (SELECT 1 FROM ${placementTable} ${alias} WHERE ${alias}."emailId"=${email} AND ${isPlaced})`;
}
