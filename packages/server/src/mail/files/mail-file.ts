/** A message in a file, with the metadata that the file contains. */
export interface FileMessage {
  /** The bytes of the message with their original line ends; only the beginning of a message that is too long. */
  readonly raw: Uint8Array;
  readonly flags?: readonly MailFlag[];
  /** ISO 8601 UTC. */
  readonly receivedAt?: string;
  /** Path of the mailbox, its parts joined by `/`. */
  readonly mailbox?: string;
  /** The source of the message for reports: the path of its file, and its number in the file. */
  readonly origin?: string;
  /** Whether the program that wrote the file had deleted the message. It must not be stored. */
  readonly expunged?: boolean;
  /** Labels that the user gave the message. */
  readonly labels?: readonly string[];
  /** The size of a message beyond `mailLimits.rawBytes`. It must not be stored. */
  readonly tooLong?: number;
  /** Lines in the message that may be separators. */
  readonly doubts?: AmbiguousSeparators;
}

/** Lines of an mbox file that may be separators or text. */
export interface AmbiguousSeparators {
  readonly count: number;
  /** Byte offsets of the first of these lines. */
  readonly offsets: readonly number[];
}

/** Describes lines that may begin another message. */
export function describeAmbiguousSeparators({ count, offsets }: AmbiguousSeparators): string {
  const lines = count === 1 ? 'A line in it may begin' : `${count} lines in it may each begin`;
  const more = count > offsets.length ? ', …' : '';
  return `${lines} another message; it was not split there. Byte offsets in the file: ${offsets.join(', ')}${more}.`;
}

/** Flags as IMAP names them, without the backslash, in lower case. */
export type MailFlag = 'seen' | 'answered' | 'flagged' | 'deleted' | 'draft';
