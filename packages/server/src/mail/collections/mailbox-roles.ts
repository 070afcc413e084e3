/** What a mailbox is for; an account has one of each at most. */
export const mailboxRoles = ['inbox', 'sent', 'drafts', 'outbox', 'trash', 'junk', 'archive', 'all'] as const;
export type MailboxRole = (typeof mailboxRoles)[number];

const roleNames: ReadonlySet<string> = new Set(mailboxRoles);

export function isMailboxRole(name: unknown): name is MailboxRole {
  return roleNames.has(name as string);
}
