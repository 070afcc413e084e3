/** What a mailbox is used for. An account has at most one mailbox with each role. */
export const mailboxRoles = ['inbox', 'sent', 'drafts', 'outbox', 'trash', 'junk', 'archive', 'all'] as const;
export type MailboxRole = (typeof mailboxRoles)[number];

const roleNames: ReadonlySet<string> = new Set(mailboxRoles);

/** Whether a value is the name of a role. */
export function isMailboxRole(name: unknown): name is MailboxRole {
  return roleNames.has(name as string);
}
