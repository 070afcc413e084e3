/** The types of mail records, with the properties that the inbox uses. */
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
  /** Further addresses of the account. */
  readonly aliases?: readonly string[] | null;
  readonly status: string;
  readonly statusReason: string | null;
  readonly signature: string | null;
  readonly ownerId: number | null;
  readonly mailboxes: readonly Mailbox[];
}

/** A conversation in the list, with counts of its e-mails and a snippet of the last one. */
export interface Conversation {
  readonly id: number;
  readonly accountId: number;
  readonly subject: string | null;
  /** Authors come first. */
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
  /** The detected media type, if the file may be shown. */
  readonly sniffedType: string | null;
  readonly size: number | null;
  readonly disposition: string | null;
  readonly contentId: string | null;
}

export interface Email {
  readonly id: number;
  readonly accountId: number;
  readonly mailboxId: number | null;
  /** The role of its folder, else the path. */
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
  /** Oldest first. */
  readonly emails: readonly Email[];
}

/** The flags that users can set. */
export interface Flags {
  readonly read?: boolean;
  readonly starred?: boolean;
}
