import MailComposer from 'nodemailer/lib/mail-composer';
import type { Sender } from '../../database/mail/draft-rows.ts';
import type { Draft, DraftFile } from './draft.ts';

/** A file with its bytes. */
export interface LoadedFile extends DraftFile {
  readonly bytes: Uint8Array;
}

/** How a message is composed. */
export interface Composition {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /**
   * The message is sent: HTML without text gets a plain-text alternative. For a draft, which is saved often, the text is made
   * where it is parsed, in a worker thread.
   */
  readonly isOutgoing: boolean;
}

/**
 * Composes the bytes of a message. This is done once: the stored bytes are sent. No header names the Bcc recipients. No
 * file and no URL in the message is read. Addresses are passed as objects, so that their text is never parsed.
 */
export async function composeMessage(
  draft: Draft,
  sender: Sender,
  files: readonly LoadedFile[],
  { now, isOutgoing }: Composition,
): Promise<Buffer> {
  const { html } = draft;
  const plainAlternative = html === null ? '' : isOutgoing ? await renderPlainText(html) : undefined;
  const composer = new MailComposer({
    from: { name: readSenderName(sender), address: sender.address },
    to: draft.to.map(toPlainAddress),
    cc: draft.cc.map(toPlainAddress),
    subject: draft.subject,
    text: draft.text ?? plainAlternative,
    html: html === null ? undefined : restoreImageSources(html),
    messageId: `<${draft.messageId}>`,
    inReplyTo: draft.inReplyTo === null ? undefined : `<${draft.inReplyTo}>`,
    references: draft.references.map((id) => `<${id}>`),
    date: new Date(now),
    attachments: files.map(toAttachment),
    headers: { ...(draft.automatic === true && automaticHeaders), ...buildListHeaders(draft) },
    newline: '\r\n',
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

/**
 * These headers tell the recipient's programs not to reply automatically (RFC 3834, and the header that Exchange reads
 * instead).
 */
const automaticHeaders = { 'Auto-Submitted': 'auto-replied', 'X-Auto-Response-Suppress': 'All' };

/** The recipient's program shows a button that unsubscribes with one click. `Precedence` prevents vacation replies. */
function buildListHeaders({ unsubscribeUrl }: Draft): Record<string, string> {
  if (unsubscribeUrl === undefined) return {};
  return {
    'List-Unsubscribe': `<${unsubscribeUrl}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    Precedence: 'bulk',
  };
}

const toPlainAddress = ({ name, address }: { name: string; address: string }) => ({ name, address });

/** The display name of an account, without characters that would end a header. */
function readSenderName({ name }: Sender): string {
  return (name ?? '').replaceAll(/\p{Cc}+/gu, ' ').trim();
}

function toAttachment({ filename, contentType, contentId, bytes }: LoadedFile) {
  // A forwarded file can have any type. A type that is not an image would become part of the text.
  const isInline = contentId !== null && contentType.startsWith('image/') && /^[\w.@+$=-]{1,200}$/.test(contentId);
  const embedded = contentType === 'message/rfc822' && contentId === null ? findEmbeddedEncoding(bytes) : null;
  // Other messages and multiparts would be written unencoded, with headers of their own.
  const type =
    embedded === null && /^(?:message|multipart)\//.test(contentType) ? 'application/octet-stream' : contentType;
  return {
    filename: filename ?? (false as const),
    content: Buffer.from(bytes),
    contentType: contentType === 'text/calendar' ? buildCalendarType(bytes) : type,
    contentTransferEncoding: embedded ?? 'base64',
    ...(isInline ? { cid: contentId, contentDisposition: 'inline' } : { contentDisposition: 'attachment' }),
  };
}

/**
 * A message about a calendar names its method in the type too (RFC 6047). Programs recognise invitations and answers by
 * it.
 */
function buildCalendarType(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, calendarHead)).toString('latin1');
  const method = /^METHOD:([A-Za-z-]{1,40})\s*$/m.exec(head)?.[1];
  return `text/calendar; charset=utf-8${method === undefined ? '' : `; method=${method.toUpperCase()}`}`;
}

/** The bytes of a calendar in which its method is looked for. */
const calendarHead = 4000;

/**
 * How a forwarded message is embedded (RFC 2046, section 5.2.1: never in base64).
 *
 * @returns null if writing it unencoded would change its bytes; it is then a file like any other.
 */
function findEmbeddedEncoding(bytes: Uint8Array): '7bit' | '8bit' | null {
  const text = Buffer.from(bytes).toString('latin1');
  const isCanonical =
    !/\r(?!\n)|(?<!\r)\n|\0|[^\r\n]{999}/.test(text) && /^[!-9;-~]+:/.test(text) && text.endsWith('\r\n');
  if (!isCanonical) return null;
  const isAscii = Buffer.byteLength(text) === text.length;
  return isAscii ? '7bit' : '8bit';
}

/** The plain-text alternative of HTML; none if the HTML is so long that converting it would block other requests. */
async function renderPlainText(html: string): Promise<string | undefined> {
  if (html.length > 100_000) return undefined;
  const { htmlToMessageText } = await import('../html/html-to-text.ts'); // loaded on demand: it is large, and few messages need it
  return htmlToMessageText(html);
}

/** Restores the image addresses that were replaced for displaying the message. */
function restoreImageSources(html: string): string {
  return html.replace(
    /(<img\b[^<>]*?\s)data-(cid|src)="/gi,
    (_, before: string, kind: string) => `${before}src="${kind.toLowerCase() === 'cid' ? 'cid:' : ''}`,
  );
}
