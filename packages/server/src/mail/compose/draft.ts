/** A message as somebody writes it, before it becomes bytes. */
import type { MailAddress } from '../parse/parsed-mail.ts';

export interface Draft {
  /** Without angle brackets; the same from the first save until it is sent. */
  readonly messageId: string;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly subject: string;
  readonly text: string | null;
  /** As it was written: what is shown of it has been made safe. */
  readonly html: string | null;
  /** The message that it answers, without angle brackets. */
  readonly inReplyTo: string | null;
  /** Oldest first, without angle brackets. */
  readonly references: readonly string[];
  readonly files: readonly DraftFile[];
}

/** A file of a draft; its bytes lie in the account's blobs. */
export interface DraftFile {
  readonly filename: string | null;
  readonly contentType: string;
  readonly sha256: string;
  readonly size: number;
  /** Without angle brackets; the HTML names it by `cid:`. */
  readonly contentId: string | null;
}

/** What a draft is before anything is written. */
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
