import type { Database, Transaction } from '../../database/database.ts';
import { addMailbox, mailboxesOf, type StoredMailbox } from '../../database/mail/account-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { MailboxPlace } from './incoming-mail.ts';

/** Names by which mail programs call the mailboxes that everybody has. */
const roleNames: Readonly<Record<string, readonly string[]>> = {
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
export function roleOfPath(path: string): string | null {
  const name = path.split(/[/.]/).at(-1)!.trim().toLowerCase();
  return Object.entries(roleNames).find(([, names]) => names.includes(name))?.[0] ?? null;
}

/** The mailbox that has a role in an account, inside a transaction; made as `path` where there is none. */
export async function rolePlace(
  database: Database,
  transaction: Transaction,
  account: number,
  role: string,
  path: string,
): Promise<MailboxPlace> {
  const find = async (): Promise<StoredMailbox | undefined> =>
    (await mailboxesOf(database, account, transaction)).find((each) => each.role === role);
  const there = await find();
  if (there) return placeOf(there);
  await addMailbox(database, transaction, account, path, role);
  const made = await find();
  if (made) return placeOf(made);
  throw new ApiError(
    'DEPENDANTS_EXIST',
    `A mailbox "${path}" is there and has another role; give it the role ${role}.`,
  );
}

/** The mailbox of an account by its path or its role; made where there is none. */
export async function mailboxPlace(database: Database, account: number, name: string): Promise<MailboxPlace> {
  const found = named(await mailboxesOf(database, account), name);
  if (found) return placeOf(found);
  const role = roleOfPath(name);
  await database.write(async (transaction) => {
    const taken = (await mailboxesOf(database, account)).some((each) => each.role === role);
    await addMailbox(database, transaction, account, name, taken ? null : role);
  });
  return placeOf(named(await mailboxesOf(database, account), name)!);
}

export function placeOf({ id, path, role }: StoredMailbox): MailboxPlace {
  return { id, folder: role ?? path };
}

function named(mailboxes: readonly StoredMailbox[], name: string): StoredMailbox | undefined {
  const role = name.toLowerCase();
  return mailboxes.find((each) => each.path === name) ?? mailboxes.find((each) => each.role === role);
}
