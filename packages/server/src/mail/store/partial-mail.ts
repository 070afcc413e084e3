/** E-mails that are stored with headers and structure only: their body is read from the mail server later. */
import type { NewAttachment } from '../../database/mail/mail-writer.ts';
import type { ParsedMail } from '../parse/parsed-mail.ts';

/** A file of a message whose bytes are still on the mail server. */
export interface RemoteAttachment {
  /** Number of the part in the message, as IMAP counts: "2.1". */
  readonly partId: string;
  readonly filename: string | null;
  readonly contentType: string;
  /** Bytes, as BODYSTRUCTURE counts them. */
  readonly size: number;
  readonly disposition: 'attachment' | 'inline';
  /** Without angle brackets. */
  readonly contentId: string | null;
}

/** What is known of a message whose body is still on the mail server, besides its headers. */
export interface PartialFacts {
  /** RFC822.SIZE in bytes. */
  readonly size: number;
  readonly attachments: readonly RemoteAttachment[];
  /** The first words of its text, where they were read. */
  readonly snippet?: string;
}

/** A message as far as its headers say it. */
export function toPartialMail(headers: ParsedMail, { size, snippet = '' }: PartialFacts): ParsedMail {
  return {
    ...headers,
    size,
    snippet,
    text: '',
    html: null,
    bodyWords: [],
    attachments: [],
    warnings: [],
    bodyState: 'partial',
  };
}

/** A file as it is stored until its bytes are read. */
export function toNewAttachment({ contentId, ...each }: RemoteAttachment): NewAttachment {
  const { partId, filename, contentType, size, disposition } = each;
  return { partId, filename, contentType, size, disposition, contentId, sniffedType: null, sha256: null };
}
