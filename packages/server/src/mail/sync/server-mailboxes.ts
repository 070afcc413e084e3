/** The mailboxes of an account on its server: which ones are synchronised, under which roles, and in which order. */
import type { ListResponse } from 'imapflow';
import type { MailboxRole } from '../collections/mailbox-roles.ts';
import { isServerName, isServerPath } from '../connect/server-text.ts';
import type { ServerMailbox } from '../store/server-mail.ts';

/** Counters of a mailbox, as LIST or STATUS report them. */
export interface MailboxStatus {
  readonly messages: number | null;
  readonly uidnext: number | null;
  readonly uidvalidity: string | null;
  readonly unseen: number | null;
  readonly highestmodseq: string | null;
}

/** A mailbox of the server with its counters. */
export interface ListedMailbox extends ServerMailbox {
  readonly status: MailboxStatus | null;
}

const roleBySpecialUse: Readonly<Record<string, MailboxRole>> = {
  '\\inbox': 'inbox',
  '\\sent': 'sent',
  '\\drafts': 'drafts',
  '\\trash': 'trash',
  '\\junk': 'junk',
  '\\archive': 'archive',
  '\\all': 'all',
};

/** Mailboxes with these uses only show messages of others. */
const viewUses: ReadonlySet<string> = new Set(['\\flagged', '\\important']);

/**
 * The mailboxes to synchronise. Those whose name cannot be stored and sent back to the server as it is are left out. Each role is given to
 * one mailbox: first to those that the server declares, then to those whose name suggests the role.
 *
 * @param isGmail labels of Gmail appear as mailboxes. Only those with a role are synchronised; the others become labels of e-mails.
 */
export function readServerMailboxes(all: readonly ListResponse[], isGmail: boolean): ListedMailbox[] {
  const list = selectExisting(all.filter(({ path }) => isServerPath(path)));
  const taken = new Set<MailboxRole>();
  const byCertainty = [...list].sort((one, other) => rateCertainty(one) - rateCertainty(other));
  const roles = new Map<ListResponse, MailboxRole | null>();
  for (const each of byCertainty) {
    const role = findRole(each);
    roles.set(each, role !== null && !taken.has(role) ? role : null);
    if (role !== null) taken.add(role);
  }
  return list
    .filter((each) => each.listed !== false && !viewUses.has((each.specialUse ?? '').toLowerCase()))
    .map((each) => toListedMailbox(each, roles.get(each) ?? null))
    .filter(({ role }) => !isGmail || role !== null);
}

/**
 * Each existing mailbox once. A server that reports changes (NOTIFY) may have named a mailbox before it replied to LIST: then the reply is the
 * last entry, and only the reply declares its use. A mailbox that was deleted is named as one that does not exist; so are the parents of
 * others, which the list needs.
 */
function selectExisting(list: readonly ListResponse[]): ListResponse[] {
  const byPath = new Map<string, ListResponse>();
  for (const each of list) {
    const former = byPath.get(each.path);
    byPath.set(each.path, former?.specialUse && !each.specialUse ? { ...each, ...pickUse(former) } : each);
  }
  const entries = [...byPath.values()];
  const isParent = ({ path, delimiter }: ListResponse): boolean =>
    entries.some((each) => each.path.startsWith(path + (delimiter || '/')));
  return entries.filter((each) => !hasFlag(each, 'nonexistent') || isParent(each));
}

function pickUse({ specialUse, specialUseSource }: ListResponse): Partial<ListResponse> {
  return { specialUse, specialUseSource } as Partial<ListResponse>;
}

/** @param names alternatives, such as `noselect|nonexistent`. */
function hasFlag({ flags }: ListResponse, names: string): boolean {
  return [...flags].some((flag) => new RegExp(`^\\\\(${names})$`, 'i').test(flag));
}

/** The order in which mailboxes are synchronised for the first time. */
export function compareByImportance(
  one: { readonly role: string | null; readonly path: string },
  other: { readonly role: string | null; readonly path: string },
): number {
  return rateImportance(one.role) - rateImportance(other.role) || (one.path < other.path ? -1 : 1);
}

const importance: readonly (string | null)[] = [
  'inbox',
  'drafts',
  'sent',
  null,
  'archive',
  'all',
  'outbox',
  'trash',
  'junk',
];

function rateImportance(role: string | null): number {
  return importance.indexOf(role);
}

function findRole({ path, specialUse }: ListResponse): MailboxRole | null {
  if (path.toUpperCase() === 'INBOX') return 'inbox';
  return roleBySpecialUse[(specialUse ?? '').toLowerCase()] ?? null;
}

/** The server's own declaration counts before a guess by the name. */
function rateCertainty({ path, specialUseSource }: ListResponse): number {
  if (path.toUpperCase() === 'INBOX') return 0;
  return specialUseSource === 'extension' || specialUseSource === 'user' ? 1 : 2;
}

function toListedMailbox(each: ListResponse, role: MailboxRole | null): ListedMailbox {
  const { delimiter, status } = each;
  const isSelectable = !hasFlag(each, 'noselect|nonexistent');
  return {
    path: delimiter && delimiter !== '/' ? each.path.split(delimiter).join('/') : each.path,
    rawPath: each.path,
    delimiter: isServerName(delimiter, 1) ? delimiter : null,
    role: isSelectable ? role : null,
    selectable: isSelectable,
    status: status && isSelectable ? toMailboxStatus(status) : null,
    ...(status?.uidValidity !== undefined && { uidvalidity: String(status.uidValidity) }),
    ...(status?.uidNext !== undefined && { uidnext: status.uidNext }),
  };
}

function toMailboxStatus(status: NonNullable<ListResponse['status']>): MailboxStatus {
  return {
    messages: status.messages ?? null,
    uidnext: status.uidNext ?? null,
    uidvalidity: status.uidValidity === undefined ? null : String(status.uidValidity),
    unseen: status.unseen ?? null,
    highestmodseq: status.highestModseq === undefined ? null : String(status.highestModseq),
  };
}
