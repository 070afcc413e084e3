/** The list of a mail server's mailboxes, and how it is stored: new, renamed and vanished mailboxes, and their roles. */
import { EmailRows } from '../../database/mail/email-rows.ts';
import { type MailboxNames, type MailboxRow, MailboxRows, readMailboxRows } from '../../database/mail/mailbox-rows.ts';
import { isMailboxPath } from '../collections/mailbox-path.ts';
import { isMailboxRole, type MailboxRole } from '../collections/mailbox-roles.ts';
import type { MailAccount } from './incoming-mail.ts';
import type { LostMessages } from './lost-messages.ts';
import { appendMailEvent } from './mail-events.ts';
import type { MailTransaction } from './mail-transaction.ts';
import { OperationQueue } from './operation-queue.ts';

/** A mailbox as the server lists it. */
export interface ServerMailbox {
  /** Its name in Unicode, its parts joined by `/`. */
  readonly path: string;
  /** Its name as the server takes it in commands. */
  readonly rawPath: string;
  readonly delimiter: string | null;
  /** By its special use, or by its name; null: none. */
  readonly role: MailboxRole | null;
  /** False: it only contains other mailboxes. */
  readonly selectable: boolean;
  /** MAILBOXID of OBJECTID, by which a rename is recognised. */
  readonly objectId?: string | null;
  /**
   * From STATUS, for mailboxes that are not stored yet. Together, both values identify a renamed mailbox on servers
   * without OBJECTID.
   */
  readonly uidvalidity?: string | null;
  readonly uidnext?: number | null;
}

/** Stores the list of a server's mailboxes. */
export async function applyMailboxList(
  mail: MailTransaction,
  account: MailAccount,
  list: readonly ServerMailbox[],
  lost: LostMessages,
): Promise<void> {
  const { database, transaction } = mail;
  const stored = await readMailboxRows(database, transaction, account.id);
  const deleted = await findDeletedHere(mail, account.id);
  const listed = list.filter(({ rawPath }) => !deleted.has(rawPath));
  const matches = matchMailboxes(stored, listed);
  const matched = new Set(matches.values());
  const vanished = stored.filter(({ id, rawPath }) => rawPath !== null && !matched.has(id));
  const names = new NameChooser(stored, vanished);
  const rows = new Map(stored.map((row) => [row.id, row]));
  for (const each of listed) {
    const row = rows.get(matches.get(each) ?? 0);
    if (row) await updateMailbox(mail, row, names.choose(each, row));
    else await createMailbox(mail, account.id, names.choose(each, null));
  }
  for (const row of vanished) await lost.markVanishedMailbox(mail, account, row);
}

/** The server's names of mailboxes that were deleted here, while it still has them. */
async function findDeletedHere(mail: MailTransaction, account: number): Promise<ReadonlySet<string>> {
  const queue = await OperationQueue.ofKind(mail, account, 'deleteMailbox');
  return new Set(queue.all.flatMap(({ payload }) => payload?.rawPath ?? []));
}

/** The stored mailboxes of listed ones: by the server's name, by the server's id, by what is in them, then by path or role. */
function matchMailboxes(stored: readonly MailboxRow[], listed: readonly ServerMailbox[]): Map<ServerMailbox, number> {
  const matches = new Map<ServerMailbox, number>();
  const taken = new Set<number>();
  const add = (each: ServerMailbox, found: readonly MailboxRow[]): void => {
    const [row] = found;
    if (!row || found.length > 1) return;
    matches.set(each, row.id);
    taken.add(row.id);
  };
  const match = (isSame: (row: MailboxRow, each: ServerMailbox) => boolean): void => {
    const rows = stored.filter(({ id }) => !taken.has(id));
    for (const each of listed.filter((mailbox) => !matches.has(mailbox)))
      add(
        each,
        rows.filter((row) => isSame(row, each) && !taken.has(row.id)),
      );
  };
  // Most mailboxes have the same name as before, so these are not searched for one by one.
  const byRawPath = Map.groupBy(stored, ({ rawPath }) => rawPath);
  for (const each of listed) add(each, byRawPath.get(each.rawPath)?.filter(({ id }) => !taken.has(id)) ?? []);
  match((row, each) => row.objectId !== null && row.objectId === each.objectId);
  const [storedCounts, listedCounts] = [countValidities(stored), countValidities(listed)];
  match(
    (row, each) =>
      row.rawPath !== null &&
      isSameContent(row, each) &&
      storedCounts.get(row.uidvalidity) === 1 &&
      listedCounts.get(row.uidvalidity) === 1,
  );
  match((row, each) => row.rawPath === null && row.path === each.path && row.role !== 'outbox');
  match((row, each) => row.rawPath === null && row.role !== null && row.role === each.role);
  return matches;
}

/** Whether a UIDVALIDITY that no other mailbox has names the same mailbox: its UIDNEXT has not decreased. */
function isSameContent(row: MailboxRow, { uidvalidity, uidnext }: ServerMailbox): boolean {
  if (!uidvalidity || row.uidvalidity !== uidvalidity || row.uidnext === null) return false;
  return (uidnext ?? 0) >= row.uidnext;
}

/** How many mailboxes have each UIDVALIDITY. */
function countValidities(all: readonly { readonly uidvalidity?: string | null }[]): Map<string | null, number> {
  const groups = Map.groupBy(all, ({ uidvalidity }) => uidvalidity ?? null);
  return new Map([...groups].map(([uidvalidity, group]) => [uidvalidity, group.length]));
}

/** Chooses paths and roles that no other mailbox of the account has. */
class NameChooser {
  readonly #paths: Map<number, string>;
  /** The mailbox that has a path. */
  readonly #owners: Map<string, number>;
  readonly #roles: Map<number, string>;
  #created = 0;

  constructor(stored: readonly MailboxRow[], vanished: readonly MailboxRow[]) {
    const rest = stored.filter((row) => !vanished.includes(row));
    this.#paths = new Map(stored.map(({ id, path }) => [id, path]));
    this.#owners = new Map(stored.map(({ id, path }) => [path, id]));
    this.#roles = new Map(rest.flatMap(({ id, role }) => (role === null ? [] : [[id, role] as const])));
  }

  /** @param row the stored mailbox; null for a new one. A role that users have given stays. */
  choose(
    { path, rawPath, delimiter, role, selectable, objectId = null }: ServerMailbox,
    row: MailboxRow | null,
  ): MailboxNames {
    const key = row?.id ?? this.#nextKey();
    const isTaken = role !== null && [...this.#roles].some(([id, each]) => id !== key && each === role);
    const chosenRole = row?.role ?? (isTaken ? null : role);
    if (chosenRole !== null) this.#roles.set(key, chosenRole);
    // A rename that was made here and is not on the server yet is kept.
    const isRenamedHere = row !== null && row.rawPath === rawPath;
    const chosenPath = isRenamedHere ? row.path : this.#choosePath(path, chosenRole, key);
    this.#owners.delete(this.#paths.get(key) ?? '');
    this.#owners.set(chosenPath, key);
    this.#paths.set(key, chosenPath);
    return {
      path: chosenPath,
      role: chosenRole,
      rawPath,
      delimiter,
      selectable,
      objectId: objectId ?? row?.objectId ?? null,
    };
  }

  /** A key for a mailbox that has none yet. */
  #nextKey(): number {
    this.#created -= 1;
    return this.#created;
  }

  #choosePath(path: string, role: string | null, key: number): string {
    const clean = path.replaceAll(/\p{Cc}+/gu, ' ').toWellFormed();
    const short = isMailboxPath(clean) ? clean : [...clean].slice(0, 300).join('') || 'Mailbox';
    // The name of a role means the mailbox with that role.
    const base = isMailboxRole(short) && short !== role ? short[0]!.toUpperCase() + short.slice(1) : short;
    for (let number = 1; ; number += 1) {
      const candidate = number === 1 ? base : `${base} ${number}`;
      if ((this.#owners.get(candidate) ?? key) === key) return candidate;
    }
  }
}

async function createMailbox(mail: MailTransaction, account: number, names: MailboxNames): Promise<void> {
  const id = await new MailboxRows(mail.database, mail.transaction).add(account, names);
  await appendMailEvent(mail.transaction, mail, { name: 'mailboxes.created', keys: [id] });
}

async function updateMailbox(mail: MailTransaction, row: MailboxRow, names: MailboxNames): Promise<void> {
  const { database, transaction } = mail;
  if (row.rawPath === null) {
    const queue = await OperationQueue.ofMailbox(mail, row.accountId, row.id);
    for (const each of queue.all) if (each.kind === 'createMailbox' && each.status === 'queued') queue.remove(each);
    await queue.flush();
  }
  const changed = (Object.keys(names) as (keyof MailboxNames)[]).filter((name) => names[name] !== row[name]);
  if (changed.length === 0) return;
  await new MailboxRows(database, transaction).setNames(row.id, names);
  await appendMailEvent(transaction, mail, { name: 'mailboxes.updated', keys: [row.id], changed });
  const folder = names.role ?? names.path;
  if (folder === (row.role ?? row.path)) return;
  const rows = new EmailRows(database, transaction);
  const { emails } = await rows.renameFolder(row.id, folder);
  const relocated = await rows.updateSharedPlacements(row.id);
  const keys = [...new Set([...emails.map(({ id }) => id), ...relocated])];
  await appendMailEvent(transaction, mail, { name: 'emails.updated', keys, changed: ['mailboxId', 'folder'] });
}
