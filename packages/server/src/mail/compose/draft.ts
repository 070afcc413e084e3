/** A message as the user writes it, before it is composed. */
import type { MailAddress } from '../parse/parsed-mail.ts';

export interface Draft {
  /** Without angle brackets; the same from the first save until it is sent. */
  readonly messageId: string;
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
