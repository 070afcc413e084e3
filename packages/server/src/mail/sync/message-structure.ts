/** The files of a message, as the server's BODYSTRUCTURE names them. They are those that the parser finds in the whole message. */
import type { MessageStructureObject } from 'imapflow';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanFilename } from '../parse/attachment-name.ts';
import { cleanLine } from '../parse/clean-text.ts';
import { resolveContentType } from '../parse/mail-body.ts';
import type { RemoteAttachment } from '../store/partial-mail.ts';

const readableTypes: ReadonlySet<string> = new Set(['text/plain', 'text/html', 'message/delivery-status']);
/** 57 bytes become a line of base64. */
const base64Line = { bytes: 57, length: 78 };

/** The files of a message; null where it has more parts than the parser reads. */
export function listRemoteAttachments(root: MessageStructureObject): RemoteAttachment[] | null {
  const files: RemoteAttachment[] = [];
  let parts = 0;
  const read = (part: MessageStructureObject, parent: MessageStructureObject | null, isEmbedded: boolean): void => {
    parts += 1;
    if (parts > mailLimits.parts) return;
    const children = part.childNodes ?? [];
    if (part.type.startsWith('multipart/')) {
      for (const each of children) read(each, part, isEmbedded);
      return;
    }
    const [message] = isShownMessage(part, parent) ? children : [];
    const isText = readableTypes.has(part.type) && isInline(part);
    if (message) {
      if (!isEmbedded) files.push({ ...toRemoteAttachment(part, parent), disposition: 'inline' });
      read(message, part, true);
    } else if (!isText || isNamedFile(part, parent)) files.push(toRemoteAttachment(part, parent));
  };
  read(root, null, false);
  return parts > mailLimits.parts ? null : files;
}

/** The first part that is shown as text; null where a file or an embedded message comes first. */
export function findFirstText(part: MessageStructureObject): MessageStructureObject | null {
  if (!part.type.startsWith('multipart/'))
    return (part.type === 'text/plain' || part.type === 'text/html') && isInline(part) ? part : null;
  const [first] = part.childNodes ?? [];
  return first ? findFirstText(first) : null;
}

/** Without a disposition, or with that of a part that is shown. */
function isInline({ disposition }: MessageStructureObject): boolean {
  return !disposition || disposition === 'inline';
}

/** Whether an embedded message is shown in the text of its message. */
function isShownMessage(part: MessageStructureObject, parent: MessageStructureObject | null): boolean {
  if (part.type !== 'message/rfc822') return false;
  return part.disposition === 'inline' || (!part.disposition && parent?.type === 'multipart/digest');
}

/** Whether a shown part is also a file: it has a name, and is not the body of the message itself. */
function isNamedFile(part: MessageStructureObject, parent: MessageStructureObject | null): boolean {
  if (findName(part) === null || part.type === 'message/delivery-status') return false;
  return part.disposition === 'inline' || (parent !== null && parent.type !== 'multipart/alternative');
}

function findName({ dispositionParameters, parameters }: MessageStructureObject): string | null {
  return dispositionParameters?.['filename'] || parameters?.['name'] || null;
}

function toRemoteAttachment(part: MessageStructureObject, parent: MessageStructureObject | null): RemoteAttachment {
  const { type, disposition, size = 0, encoding } = part;
  const filename = findName(part);
  const contentId =
    cleanLine(part.id ?? '')
      .replace(/^\s*<|>\s*$/g, '')
      .trim() || null;
  const isRelated = parent?.type === 'multipart/related' && contentId !== null;
  return {
    partId: (part.part ?? '1').slice(0, 60),
    filename: cleanFilename(filename),
    contentType: cleanLine(resolveContentType({ type, filename })).slice(0, 255),
    // The server may name any size. A larger message is not stored.
    size: Math.min(
      encoding === 'base64' ? Math.floor((size / base64Line.length) * base64Line.bytes) : size,
      mailLimits.rawBytes,
    ),
    disposition: disposition === 'inline' || isRelated ? 'inline' : 'attachment',
    contentId: contentId === null ? null : contentId.slice(0, 998),
  };
}
