import { addMailbox, readMailboxes, type StoredMailbox } from '../../database/mail/account-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import { type MailboxRole, mailboxRoles } from '../collections/mailbox-roles.ts';
import type { MailboxRef } from './incoming-mail.ts';
import { emitMailEvent } from './mail-events.ts';

/** Names by which mail programs call the mailboxes that everybody has. */
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

/** The role of a mailbox by the last part of its path; null for one that somebody named. */
export function parseMailboxRole(path: string): MailboxRole | null {
  const name = path.split(/[/.]/).at(-1)!.trim().toLowerCase();
  return mailboxRoles.find((role) => roleNames[role].includes(name)) ?? null;
}

/** The mailbox that has a role in an account, inside a transaction; made as `path` where there is none. */
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
    `A mailbox "${path}" is there and has another role; give it the role ${role}.`,
  );
}

/** The mailbox of an account by its path, its role or a common name of its role (`Spam`); made where there is none. */
export async function resolveMailbox(context: RecordContext, account: number, name: string): Promise<MailboxRef> {
  const found = findNamedMailbox(await readMailboxes(context.database, account), name);
  if (found) return toMailboxRef(found);
  // Whoever else wants one of that role or path waits, on every node; all that is asked here is asked of the transaction, since
  // others that hold a connection each would wait for one more.
  return inTransaction(context, (tx) => findOrCreateMailbox(tx, account, name), { lockKey: `mail ${account}` });
}

async function findOrCreateMailbox(tx: TransactionContext, account: number, name: string): Promise<MailboxRef> {
  const all = await readMailboxes(tx.database, account, tx.tx);
  const found = findNamedMailbox(all, name);
  if (found) return toMailboxRef(found);
  const role = parseMailboxRole(name);
  return (await createMailbox(tx, account, name, all.some((each) => each.role === role) ? null : role))!;
}

/** A new mailbox, told of; null where one of that path is there. */
async function createMailbox(
  tx: TransactionContext,
  account: number,
  path: string,
  role: MailboxRole | null,
): Promise<MailboxRef | null> {
  const id = await addMailbox(tx.database, tx.tx, account, path, role);
  if (id === null) return null;
  await emitMailEvent(tx, tx.tx, { name: 'mailboxes.created', keys: [id] });
  return toMailboxRef({ id, path, role });
}

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
