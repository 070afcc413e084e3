import { addMailbox, mailboxesOf, type StoredMailbox } from '../../database/mail/account-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { tell } from '../../records/mail-changes.ts';
import { type RecordContext, together } from '../../records/record-context.ts';
import { type MailboxRole, mailboxRoles } from '../../schema/mailbox-roles.ts';
import type { MailboxPlace } from './incoming-mail.ts';

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
export function roleOfPath(path: string): MailboxRole | null {
  const name = path.split(/[/.]/).at(-1)!.trim().toLowerCase();
  return mailboxRoles.find((role) => roleNames[role].includes(name)) ?? null;
}

/** The mailbox that has a role in an account, inside a transaction; made as `path` where there is none. */
export async function rolePlace(
  inside: RecordContext,
  account: number,
  role: MailboxRole,
  path: string,
): Promise<MailboxPlace> {
  const all = await mailboxesOf(inside.database, account, inside.inside!);
  const there = all.find((each) => each.role === role);
  if (there) return placeOf(there);
  const place = await made(inside, account, path, role);
  if (place) return place;
  throw new ApiError(
    'DEPENDANTS_EXIST',
    `A mailbox "${path}" is there and has another role; give it the role ${role}.`,
  );
}

/** The mailbox of an account by its path, its role or a common name of its role (`Spam`); made where there is none. */
export async function mailboxPlace(context: RecordContext, account: number, name: string): Promise<MailboxPlace> {
  const found = named(await mailboxesOf(context.database, account), name);
  if (found) return placeOf(found);
  // Whoever else wants one of that role or path waits, on every node; all that is asked here is asked of the transaction, since
  // others that hold a connection each would wait for one more.
  return together(context, (inside) => placeMade(inside, account, name), { turn: `mail ${account}` });
}

async function placeMade(inside: RecordContext, account: number, name: string): Promise<MailboxPlace> {
  const all = await mailboxesOf(inside.database, account, inside.inside!);
  const found = named(all, name);
  if (found) return placeOf(found);
  const role = roleOfPath(name);
  return (await made(inside, account, name, all.some((each) => each.role === role) ? null : role))!;
}

/** A new mailbox, told of; null where one of that path is there. */
async function made(
  inside: RecordContext,
  account: number,
  path: string,
  role: MailboxRole | null,
): Promise<MailboxPlace | null> {
  const id = await addMailbox(inside.database, inside.inside!, account, path, role);
  if (id === null) return null;
  await tell(inside, inside.inside!, 'mailboxes.created', 'mailboxes', [id]);
  return placeOf({ id, path, role });
}

export function placeOf({ id, path, role }: StoredMailbox): MailboxPlace {
  return { id, folder: role ?? path };
}

function named(mailboxes: readonly StoredMailbox[], name: string): StoredMailbox | undefined {
  const named = name.toLowerCase();
  const role = /[/.]/.test(name) ? null : roleOfPath(name);
  return (
    mailboxes.find((each) => each.path === name) ??
    mailboxes.find((each) => each.role === named) ??
    mailboxes.find((each) => role !== null && each.role === role)
  );
}
