/** The types of mail records, with the properties that the inbox uses. */
import type { Participant } from '@tablinum/client';
import type { HistoryEntry, Note, TeamFields } from './team/team-types.ts';

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

/** A problem with the mail server of an account. */
export interface AccountProblem {
  /** The kind of problem, such as `wrongPassword` or `tokenRevoked`. */
  readonly code: string;
  readonly message: string;
  readonly cure: string;
  /** ISO 8601. */
  readonly at: string;
}

/** An address that an account sends as. */
export interface Identity {
  readonly address: string;
  readonly name: string | null;
  /** When the account proved that it receives mail at an alias; null: not yet, or the address of the account. */
  readonly verifiedAt: string | null;
  /** Null: that of the account. */
  readonly signature?: { readonly text: string | null; readonly html: string | null } | null;
}

export interface Account {
  readonly id: number;
  readonly name: string | null;
  readonly address: string;
  /** Further addresses of the account. */
  readonly aliases?: readonly string[] | null;
  readonly identities?: readonly Identity[] | null;
  readonly status: string;
  readonly statusReason: string | null;
  /** Why the account does not synchronise or send, and what helps; null if nothing is wrong. */
  readonly problem?: AccountProblem | null;
  readonly signature: string | null;
  readonly ownerId: number | null;
  readonly mailboxes: readonly Mailbox[];
}

/** A conversation in the list, with counts of its e-mails and a snippet of the last one. */
export interface Conversation extends TeamFields {
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
  /** The labels of its e-mails, each once; null for none. Absent where the role may not read them. */
  readonly labels?: readonly string[] | null;
  /** The number of internal notes. */
  readonly notes: number;
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

/** One result of the check of an e-mail's sender. */
export interface AuthenticationResult {
  readonly method: string;
  readonly result: string;
  readonly domain: string | null;
  readonly reason: string | null;
  /** `message`: from a header that anybody can have written. */
  readonly source: string;
}

/** Whether an e-mail was really sent by its sender. */
export interface MailAuthentication {
  /** Null until the e-mail is checked, and for those that are not checked. */
  readonly verdict: string | null;
  /** The domain of the sender. */
  readonly domain: string | null;
  readonly results: readonly AuthenticationResult[];
}

/** What became of a message that was sent here. `retrying`: some recipients are tried again. */
export type DeliveryStatus = 'queued' | 'retrying' | 'sent' | 'partlySent' | 'failed' | 'unknown' | 'cancelled';

/** The outcome for one recipient of a sent message. */
export interface DeliveryRecipient {
  readonly address: string;
  readonly status: 'queued' | 'deferred' | 'accepted' | 'delayed' | 'delivered' | 'failed' | 'unknown' | 'cancelled';
  /** What the mail server said. */
  readonly reply: string | null;
  /** When a report said that the message was displayed. */
  readonly readAt?: string;
}

/** The state of sending a message. Times are ISO 8601. */
export interface Delivery {
  readonly sendAt: string;
  readonly lastAttemptAt: string | null;
  /** Null: no further attempt is made. */
  readonly nextAttemptAt: string | null;
  /** What prevents sending as a whole; null: nothing does. */
  readonly problem: Pick<AccountProblem, 'message' | 'cure'> | null;
  readonly recipients: readonly DeliveryRecipient[];
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
  readonly labels?: readonly string[] | null;
  readonly draft: boolean;
  readonly outgoing: boolean;
  readonly warnings: readonly string[] | null;
  readonly authentication?: MailAuthentication | null;
  /** Null for messages that were not sent here. */
  readonly deliveryStatus?: DeliveryStatus | null;
  readonly delivery?: Delivery | null;
  readonly bodyState: string | null;
  /** Names and values, in the order of the message. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | null;
  readonly text?: string | null;
  readonly html?: string | null;
  readonly attachments?: readonly Attachment[];
}

export interface Thread extends Conversation {
  /** Oldest first. */
  readonly emails: readonly Email[];
  /** Internal notes and the changes of the conversation, as far as the role may read them. */
  readonly team: { readonly notes: readonly Note[]; readonly history: readonly HistoryEntry[] };
}

/** The flags that users can set. */
export interface Flags {
  readonly read?: boolean;
  readonly starred?: boolean;
}
