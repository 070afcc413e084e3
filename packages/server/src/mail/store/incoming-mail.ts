/** A raw message on its way into an account, and where it lies there. */
export interface IncomingMail {
  readonly raw: Uint8Array;
  readonly mailbox: MailboxRef;
  /** When the account's server received it, ISO 8601; null where nobody says: then its own Date counts, as far as it can be. */
  readonly receivedAt: string | null;
  readonly flags: MailFlags;
  readonly labels?: readonly string[];
}

export interface MailboxRef {
  readonly id: number;
  /** The role of the mailbox, else its path. */
  readonly folder: string;
}

export interface MailFlags {
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
}

/** What became of a message. */
export interface IngestResult {
  /** `duplicate`: the account has it already; a mailbox in which it was not is added. `failed`: nothing of it was stored. */
  readonly outcome: 'stored' | 'unparsable' | 'duplicate' | 'failed';
  readonly emailId: number | null;
  /** Why it failed, or could not be read. */
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
