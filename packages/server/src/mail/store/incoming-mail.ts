import type { ServerPosition } from '../../database/mail/server-placement-rows.ts';
import type { PartialFacts } from './partial-mail.ts';

/** A raw message to store, and its mailbox. */
export interface IncomingMail {
  readonly raw: Uint8Array;
  readonly mailbox: MailboxRef;
  /** When the account's server received it, ISO 8601; null where that is unknown: then its Date header counts, if plausible. */
  readonly receivedAt: string | null;
  readonly flags: MailFlags;
  readonly labels?: readonly string[];
  /** What the mail server says about it; absent for a message that no server has. */
  readonly server?: ServerFacts;
  /** The bytes are only the headers, the empty line after them included; absent for a whole message. */
  readonly partial?: PartialFacts;
  /** It has just arrived in the inbox: rules and vacation replies apply to it. Default: false, as for imports and old mail. */
  readonly isNew?: boolean;
}

/** What a mail server says about a message besides its bytes. */
export interface ServerFacts {
  /** Where it is on the server. */
  readonly position: ServerPosition;
  readonly forwarded: boolean;
  readonly deleted: boolean;
  readonly keywords: readonly string[];
  readonly providerId: string | null;
  readonly providerThreadId: string | null;
}

export interface MailboxRef {
  readonly id: number;
  /** The role of the mailbox; the path of a mailbox without a role. */
  readonly folder: string;
}

export interface MailFlags {
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
}

/** The result of storing a message. */
export interface IngestResult {
  /** `duplicate`: the account already has it; a new mailbox is added to the e-mail. `failed`: nothing was stored. */
  readonly outcome: 'stored' | 'unparsable' | 'duplicate' | 'failed';
  readonly emailId: number | null;
  /** Why it failed, or could not be parsed; else null. */
  readonly reason: string | null;
}

/** On whose behalf messages are stored. */
export interface IngestActor {
  readonly actor: string | null;
  readonly requestId: string | null;
}

/** The account that messages are stored in. */
export interface MailAccount {
  readonly id: number;
  readonly address: string;
}
