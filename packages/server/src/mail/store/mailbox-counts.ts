import type { EmailPlacement } from '../../database/mail/email-rows.ts';

/** Collects how the counts of mailboxes change, to be written once for each mailbox. */
export class MailboxCounts {
  readonly changes = new Map<number, { messages: number; unread: number }>();

  /** Counts an e-mail that is added to a mailbox (1) or removed from it (-1). */
  addEmail(mailbox: number, { read }: Pick<EmailPlacement, 'read'>, messages: 1 | -1): void {
    this.add(mailbox, messages, read ? 0 : messages);
  }

  /** Adds to the counts of a mailbox. */
  add(mailbox: number, messages: number, unread: number): void {
    const before = this.changes.get(mailbox) ?? { messages: 0, unread: 0 };
    this.changes.set(mailbox, { messages: before.messages + messages, unread: before.unread + unread });
  }
}
