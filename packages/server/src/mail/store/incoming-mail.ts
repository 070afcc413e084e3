/** A raw message to store, and its mailbox. */
export interface IncomingMail {
  readonly raw: Uint8Array;
  readonly mailbox: MailboxRef;
  /** When the account's server received it, ISO 8601; null where that is unknown: then its Date header counts, if plausible. */
  readonly receivedAt: string | null;
  readonly flags: MailFlags;
  readonly labels?: readonly string[];
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
