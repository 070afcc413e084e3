/** What changes of mail need inside a transaction, whoever makes them. */
import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { findMemberAccounts, findServerAccounts } from '../../database/mail/account-server-rows.ts';
import { formatActor } from '../../identity/caller.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { MailAccount } from './incoming-mail.ts';
import type { MailEventSource } from './mail-events.ts';

/** A transaction that changes mail. */
export interface MailTransaction extends MailEventSource {
  readonly database: Database;
  readonly transaction: Transaction;
  /** Reports that operations of an account wait to be sent. Called after the commit. */
  readonly wakeOperations: (account: number) => void;
  /** Reports that push messages wait. Called after the commit. Absent: they are found soon. */
  readonly wakePush?: () => void;
}

/** The transaction of a request. */
export function toMailTransaction(context: RecordContext, transaction: Transaction): MailTransaction {
  const { database, changes, clock, caller, requestId, mail } = context;
  return {
    database,
    transaction,
    changes,
    clock,
    actor: formatActor(caller),
    requestId,
    wakeOperations: (account) => mail.wakeOperations(account),
    wakePush: () => mail.wakePush(),
  };
}

/** What work on behalf of mail servers needs. */
export interface ServerParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly wakeOperations: (account: number) => void;
}

/**
 * The locks for a local change of e-mails: changes by users and what the mail server reports are written one after the other. Two
 * transactions that each see the state before the other one could leave a flag that nothing sends and nothing corrects.
 */
export async function findEmailLocks(database: Database, emails: readonly number[]): Promise<string[]> {
  return (await findServerAccounts(database, emails)).map((id) => `mail ${id}`);
}

/** The same for a change of any e-mails that a user can see. */
export async function findMemberLocks(database: Database, user: number): Promise<string[]> {
  return (await findMemberAccounts(database, user)).map((id) => `mail ${id}`);
}

/** Runs a transaction on behalf of the mail server of an account. Other writers of the account's mail wait. */
export function runServerTransaction<T>(
  { database, changes, clock, wakeOperations }: ServerParts,
  { id }: MailAccount,
  work: (mail: MailTransaction) => Promise<T>,
): Promise<T> {
  return database.write(
    (transaction) => work({ database, transaction, changes, clock, wakeOperations, actor: null, requestId: null }),
    { lockKey: `mail ${id}` },
  );
}

/** The present, ISO 8601. */
export function readNow({ clock }: MailTransaction): string {
  return isoTime(clock.now());
}
