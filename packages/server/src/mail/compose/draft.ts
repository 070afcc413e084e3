/** A message as the user writes it, before it is composed. */
import type { MailAddress } from '../parse/parsed-mail.ts';

export interface Draft {
  /** Without angle brackets; the same from the first save until it is sent. */
  readonly messageId: string;
  /** One of the account's verified addresses; null or absent: its own address. An empty name: that of the identity. */
  readonly from?: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly subject: string;
  readonly text: string | null;
  /** As the user wrote it; it is sanitised when it is shown. */
  readonly html: string | null;
  /** The Message-ID of the message that it answers, without angle brackets. */
  readonly inReplyTo: string | null;
  /** Oldest first, without angle brackets. */
  readonly references: readonly string[];
  readonly files: readonly DraftFile[];
  /** The e-mail that it answers or forwards, which is marked when it is sent. */
  readonly original?: DraftOriginal;
  /** A rule or a vacation reply has written it (RFC 3834): its headers say so, and its envelope sender is empty. */
  readonly automatic?: boolean;
  /** A message of a campaign: the page on which its recipient unsubscribes (RFC 2369, RFC 8058). */
  readonly unsubscribeUrl?: string;
}

/** The e-mail that a message answers or forwards. */
export interface DraftOriginal {
  readonly id: number;
  readonly flag: 'answered' | 'forwarded';
  /** Whether this message has set the flag when it was sent. */
  readonly isMarked?: boolean;
}

/** A file of a draft. Its bytes are a blob of the account. */
export interface DraftFile {
  readonly filename: string | null;
  readonly contentType: string;
  readonly sha256: string;
  readonly size: number;
  /** Without angle brackets; the HTML names it by `cid:`. */
  readonly contentId: string | null;
}

/** An empty draft. */
export function emptyDraft(messageId: string): Draft {
  return {
    messageId,
    to: [],
    cc: [],
    bcc: [],
    subject: '',
    text: null,
    html: null,
    inReplyTo: null,
    references: [],
    files: [],
  };
}
