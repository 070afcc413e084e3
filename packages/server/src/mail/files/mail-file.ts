/** A message as it lies in a file, with what the file says beside it. */
export interface FileMessage {
  /** RFC 5322, line ends as they lie there. Of a message that is too long only its beginning. */
  readonly raw: Uint8Array;
  readonly flags?: readonly MailFlag[];
  /** ISO 8601 UTC. */
  readonly receivedAt?: string;
  /** Path of the mailbox, its parts joined by `/`. */
  readonly mailbox?: string;
  /** Where the message was read, for people: the path of its file, and its number there. */
  readonly origin?: string;
  /** The program that wrote the file has removed the message from its folder; it is not to be stored. */
  readonly expunged?: boolean;
  /** Labels that the user gave the message. */
  readonly labels?: readonly string[];
  /** Bytes of a message that passes `mailLimits.rawBytes`; it is not to be stored. */
  readonly tooLong?: number;
  /** Lines inside the message that may begin another one. */
  readonly doubts?: AmbiguousSeparators;
}

/** Lines of an mbox file that look like separators but cannot be told from text. */
export interface AmbiguousSeparators {
  readonly count: number;
  /** Byte offsets in the file of the first ones. */
  readonly offsets: readonly number[];
}

/** A sentence about lines that may begin another message. */
export function describeAmbiguousSeparators({ count, offsets }: AmbiguousSeparators): string {
  const lines = count === 1 ? 'A line in it may begin' : `${count} lines in it may each begin`;
  const more = count > offsets.length ? ', …' : '';
  return `${lines} another message; it was not split there. Byte offsets in the file: ${offsets.join(', ')}${more}.`;
}

/** Flags as IMAP names them, without the backslash, in lower case. */
export type MailFlag = 'seen' | 'answered' | 'flagged' | 'deleted' | 'draft';
