/** A message as it lies in a file, with what the file says beside it. */
export interface FileMessage {
  /** RFC 5322, line ends as they lie there. Of a message that is too long only its beginning. */
  readonly raw: Uint8Array;
  readonly flags?: readonly MailFlag[];
  /** ISO 8601 UTC. */
  readonly receivedAt?: string;
  /** Path of the mailbox, its parts joined by `/`. */
  readonly mailbox?: string;
  /** Bytes of a message that passes `mailLimits.rawBytes`; it is not to be stored. */
  readonly tooLong?: number;
}

/** Flags as IMAP names them, without the backslash, in lower case. */
export type MailFlag = 'seen' | 'answered' | 'flagged' | 'deleted' | 'draft';
