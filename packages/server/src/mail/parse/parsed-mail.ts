/** What becomes of the raw bytes of a message: all that is stored of it, safe to show. */
export interface ParsedMail {
  /** SHA-256 of the raw bytes, in hexadecimal: the identity of a message where its server gives none. */
  readonly sha256: string;
  /** Bytes of the raw message. */
  readonly size: number;
  /** Without angle brackets; null where there is none. */
  readonly messageId: string | null;
  /** Message-IDs, without angle brackets. */
  readonly inReplyTo: readonly string[];
  /** Message-IDs, oldest first; of more than 100 the first and the last 99. */
  readonly references: readonly string[];
  readonly subject: string;
  readonly from: readonly MailAddress[];
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  /** The Date header as ISO 8601 UTC; null where it is missing or no date. Senders forge it. */
  readonly sentAt: string | null;
  /** The time of the newest Received header; null where none has one. */
  readonly tracedAt: string | null;
  /** The first words of the text, at most 200 code points, on one line. */
  readonly snippet: string;
  /** Plain text; made from the HTML where the message has HTML alone. */
  readonly text: string;
  /** The first 10,000 words of the text, by which a search finds it: folding 2 MB takes up to 0.3 s, so it is done with the parsing. */
  readonly bodyWords: readonly string[];
  /** Sanitised HTML; null where the message has none. Images of other places stand in it with `data-src`, not `src`. */
  readonly html: string | null;
  /** All headers in their order, names as they were written, values unfolded and decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly attachments: readonly ParsedAttachment[];
  /** Mailing lists, newsletters, automatic replies: List-Id, List-Unsubscribe, Precedence, Auto-Submitted. */
  readonly bulk: boolean;
  /** What the receiving server says of SPF, DKIM and DMARC; null where it says nothing. */
  readonly authentication: Readonly<Record<'spf' | 'dkim' | 'dmarc', string | null>> | null;
  /** What a reader is to be told: names in docs/mail.md. */
  readonly warnings: readonly string[];
  /**
   * `raw`: a multipart has no part that can be told apart, so the text holds its body as it is written. `unparsable`: headers as far as they
   * could be read, the raw bytes are kept, the text says why.
   */
  readonly bodyState: 'complete' | 'truncated' | 'raw' | 'unparsable';
}

export interface MailAddress {
  readonly name: string;
  /** As written, but for a domain in lower case; empty where nothing like an address was found. */
  readonly address: string;
}

export interface ParsedAttachment {
  /** Without path, control characters and direction marks; null where the message gives none. */
  readonly filename: string | null;
  /** What the message declares; application/octet-stream where that cannot be read. */
  readonly contentType: string;
  /** What the bytes say, of the kinds that may be shown inline; null where they say nothing. */
  readonly sniffedType: string | null;
  readonly size: number;
  readonly disposition: 'attachment' | 'inline';
  /** Without angle brackets; `cid:` addresses in the HTML name it. */
  readonly contentId: string | null;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}
