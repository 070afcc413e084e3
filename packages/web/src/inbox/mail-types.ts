/** Mail as the API tells of it, as far as the inbox reads it. */
import type { Participant } from '@tablinum/client';

export interface MailAddress {
  readonly name: string;
  readonly address: string;
}

export type MailboxRole = 'inbox' | 'sent' | 'drafts' | 'trash' | 'junk' | 'archive' | 'all' | 'outbox';

export interface Mailbox {
  readonly id: number;
  readonly accountId: number;
  readonly path: string;
  readonly role: MailboxRole | null;
  readonly messages: number;
  readonly unread: number;
}

export interface Account {
  readonly id: number;
  readonly name: string | null;
  readonly address: string;
  /** Further addresses of it. */
  readonly aliases?: readonly string[] | null;
  readonly status: string;
  readonly statusReason: string | null;
  readonly signature: string | null;
  readonly ownerId: number | null;
  readonly mailboxes: readonly Mailbox[];
}

/** A row of the list: counts of its e-mails, and what the last one begins with. */
export interface Conversation {
  readonly id: number;
  readonly accountId: number;
  readonly subject: string | null;
  /** Those who wrote come first. */
  readonly participants: readonly Participant[] | null;
  readonly messages: number;
  readonly unread: number;
  readonly starred: number;
  readonly attachments: number;
  readonly lastAt: string | null;
  readonly snippet: string | null;
}

export interface Attachment {
  readonly id: number;
  readonly filename: string | null;
  readonly contentType: string | null;
  /** What its bytes are, where they are something that may be shown. */
  readonly sniffedType: string | null;
  readonly size: number | null;
  readonly disposition: string | null;
  readonly contentId: string | null;
}

export interface Email {
  readonly id: number;
  readonly accountId: number;
  readonly mailboxId: number | null;
  /** The role of its mailbox, else the mailbox's path. */
  readonly folder: string | null;
  readonly subject: string | null;
  readonly from: readonly MailAddress[] | null;
  readonly to: readonly MailAddress[] | null;
  readonly cc: readonly MailAddress[] | null;
  readonly bcc?: readonly MailAddress[] | null;
  readonly receivedAt: string | null;
  readonly snippet: string | null;
  readonly read: boolean;
  readonly starred: boolean;
  readonly draft: boolean;
  readonly outgoing: boolean;
  readonly warnings: readonly string[] | null;
  readonly bodyState: string | null;
  readonly text?: string | null;
  readonly html?: string | null;
  readonly attachments?: readonly Attachment[];
}

export interface Thread extends Conversation {
  /** The oldest first. */
  readonly emails: readonly Email[];
}

/** Flags that people set. */
export interface Flags {
  readonly read?: boolean;
  readonly starred?: boolean;
}
