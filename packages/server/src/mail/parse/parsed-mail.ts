import type { ReceiverResults } from './authentication.ts';
import type { MailReport } from './mail-report.ts';

/** A parsed message: everything that is stored of it, safe to show. */
export interface ParsedMail {
  /** SHA-256 of the raw bytes, in hexadecimal. */
  readonly sha256: string;
  /** Bytes of the raw message. */
  readonly size: number;
  /** `computePartialIdentity`; absent for a message that is too small to be stored by its headers first. */
  readonly partialIdentity?: string;
  /** Without angle brackets; null if there is none. */
  readonly messageId: string | null;
  /** Message-IDs, without angle brackets. */
  readonly inReplyTo: readonly string[];
  /** Message-IDs, oldest first; the first and the last 99 of more than 100. */
  readonly references: readonly string[];
  readonly subject: string;
  readonly from: readonly MailAddress[];
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  /** The Date header as ISO 8601 in UTC; null if it is missing or invalid. It may be forged. */
  readonly sentAt: string | null;
  /** The time of the newest Received header; null if none has a time. */
  readonly tracedAt: string | null;
  /** The first words of the text, at most 200 code points, on one line. */
  readonly snippet: string;
  /** Plain text; converted from the HTML if the message only has HTML. */
  readonly text: string;
  /**
   * The first 10,000 words of the text for the full-text index. Folding 2 MB takes up to 0.3 s, so the parser does it.
   */
  readonly bodyWords: readonly string[];
  /** Sanitised HTML; null if the message has none. Remote images have `data-src` instead of `src`. */
  readonly html: string | null;
  /** All headers in their order: names as written, values unfolded and decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly attachments: readonly ParsedAttachment[];
  /** Mailing lists, newsletters, automatic replies: List-Id, List-Unsubscribe, Precedence, Auto-Submitted. */
  readonly bulk: boolean;
  /** The topmost Authentication-Results header, which anybody can have written; null if there is none. */
  readonly authentication: ReceiverResults | null;
  /** Names of warnings, as docs/mail-safety.md lists them. */
  readonly warnings: readonly string[];
  /**
   * `raw`: the parts of a multipart cannot be separated, so the text contains its body as received. `unparsable`: the
   * headers that could be read; the raw bytes are stored, and the text gives the reason. `partial`: the body is still
   * on the mail server.
   */
  readonly bodyState: 'complete' | 'truncated' | 'raw' | 'unparsable' | 'partial';
  /** What a delivery report or a read receipt says about a sent message; absent for other messages. */
  readonly deliveryReport?: MailReport;
}

export interface MailAddress {
  readonly name: string;
  /** As written, with the domain in lower case; empty if there was no address. */
  readonly address: string;
}

export interface ParsedAttachment {
  /** Without path, control characters and direction marks; null if the message has none. */
  readonly filename: string | null;
  /** The declared type; application/octet-stream if it cannot be parsed. */
  readonly contentType: string;
  /** The type detected from the bytes, if it may be shown inline; otherwise null. */
  readonly sniffedType: string | null;
  readonly size: number;
  readonly disposition: 'attachment' | 'inline';
  /** Without angle brackets; `cid:` addresses in the HTML name it. */
  readonly contentId: string | null;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}
