import { addMailbox, readMailboxes, type StoredMailbox } from '../../database/mail/account-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import { type MailboxRole, mailboxRoles } from '../collections/mailbox-roles.ts';
import type { MailboxRef } from './incoming-mail.ts';
import { emitMailEvent } from './mail-events.ts';

/** Names that mail programs give to the mailbox with a role. */
const roleNames: Readonly<Record<MailboxRole, readonly string[]>> = {
  inbox: ['inbox'],
  sent: ['sent', 'sent items', 'sent mail', 'sent messages'],
  drafts: ['drafts', 'draft'],
  outbox: ['outbox'],
  trash: ['trash', 'deleted items', 'deleted messages', 'bin'],
  junk: ['junk', 'spam', 'junk e-mail', 'junk email', 'bulk mail'],
  archive: ['archive', 'archives'],
  all: ['all', 'all mail'],
};

/** The role that the last part of a path names; null for other names. */
export function parseMailboxRole(path: string): MailboxRole | null {
  const name = (path.split(/[/.]/).at(-1) ?? '').trim().toLowerCase();
  return mailboxRoles.find((role) => roleNames[role].includes(name)) ?? null;
}

/**
 * The mailbox with a role in an account, inside a transaction. Creates it as `path` where no mailbox has the role.
 *
 * @throws ApiError `DEPENDANTS_EXIST` where the mailbox `path` has another role.
 */
export async function resolveRoleMailbox(
  tx: TransactionContext,
  account: number,
  role: MailboxRole,
  path: string,
): Promise<MailboxRef> {
  const all = await readMailboxes(tx.database, account, tx.tx);
  const existing = all.find((each) => each.role === role);
  if (existing) return toMailboxRef(existing);
  const created = await createMailbox(tx, account, path, role);
  if (created) return created;
  throw new ApiError(
    'DEPENDANTS_EXIST',
    `The mailbox "${path}" has another role. Give it the role ${role}, or rename it.`,
  );
}

/** The mailbox of an account by its path, its role, or a common name of its role (`Spam`). Creates it where it does not exist. */
export async function resolveMailbox(context: RecordContext, account: number, name: string): Promise<MailboxRef> {
  const found = findNamedMailbox(await readMailboxes(context.database, account), name);
  if (found) return toMailboxRef(found);
  // Other requests for a mailbox of the account wait for the lock, on every node. Everything is read in the transaction, because a
  // request that held two connections could wait for others that do the same.
  return inTransaction(context, (tx) => findOrCreateMailbox(tx, account, name), { lockKey: `mail ${account}` });
}

/** The same inside a transaction that holds the lock `mail <account>`. */
export async function findOrCreateMailbox(tx: TransactionContext, account: number, name: string): Promise<MailboxRef> {
  const all = await readMailboxes(tx.database, account, tx.tx);
  const found = findNamedMailbox(all, name);
  if (found) return toMailboxRef(found);
  const role = parseMailboxRole(name);
  const created = await createMailbox(tx, account, name, all.some((each) => each.role === role) ? null : role);
  if (created) return created;
  throw new Error(`mailbox ${name} of account ${account} was found and then not found`);
}

/** Creates a mailbox and emits the event; null where the account already has a mailbox with this path. */
async function createMailbox(
  tx: TransactionContext,
  account: number,
  path: string,
  role: MailboxRole | null,
): Promise<MailboxRef | null> {
  const id = await addMailbox(tx.database, tx.tx, account, { path, role });
  if (id === null) return null;
  await emitMailEvent(tx, tx.tx, { name: 'mailboxes.created', keys: [id] });
  return toMailboxRef({ id, path, role });
}

/** A stored mailbox as e-mails refer to it. */
export function toMailboxRef({ id, path, role }: StoredMailbox): MailboxRef {
  return { id, folder: role ?? path };
}

function findNamedMailbox(mailboxes: readonly StoredMailbox[], name: string): StoredMailbox | undefined {
  const lowerName = name.toLowerCase();
  const role = /[/.]/.test(name) ? null : parseMailboxRole(name);
  return (
    mailboxes.find((each) => each.path === name) ??
    mailboxes.find((each) => each.role === lowerName) ??
    mailboxes.find((each) => role !== null && each.role === role)
  );
}
