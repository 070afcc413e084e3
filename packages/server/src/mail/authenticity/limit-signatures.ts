/** Prepares raw bytes for the check of signatures: line ends, and a bounded number of signatures. */
import { mailLimits } from '../../protocol/mail-limits.ts';
import { isAligned } from './mail-authentication.ts';
import { readKey, selectSignatures } from './signature-keys.ts';
import { maxSeals } from './signature-report.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * The message with CRLF line ends, as it was signed. Files store messages with LF. Signatures that are not checked are removed from
 * the headers: each one that differs in its algorithm or length needs a pass over the whole body.
 *
 * @param sender the domain of the sender.
 */
export function prepareSignedMessage(raw: Uint8Array, sender: string | null): Buffer {
  const message = withCrLf(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength));
  const end = message.indexOf('\r\n\r\n');
  const headerEnd = Math.min(end === -1 ? message.length : end + 2, mailLimits.headerBytes * 2);
  const fields = splitFields(message.subarray(0, headerEnd).toString('latin1'));
  const isKind = (field: string, kind: RegExp): boolean => kind.test(field.slice(0, 40));
  const signatures = fields.filter((field) => isKind(field, /^dkim-signature\s*:/i));
  const checked = new Set(
    selectSignatures(signatures, (field) =>
      isAligned(readKey(field.slice(field.indexOf(':') + 1))?.domain ?? null, sender),
    ),
  );
  const hasTooManySeals = fields.filter((field) => isKind(field, /^arc-seal\s*:/i)).length > maxSeals;
  const remaining = fields.filter(
    (field) =>
      (!isKind(field, /^dkim-signature\s*:/i) || checked.has(field)) &&
      !(hasTooManySeals && isKind(field, /^arc-[a-z-]+\s*:/i)),
  );
  if (remaining.length === fields.length) return message;
  return Buffer.concat([Buffer.from(remaining.join(''), 'latin1'), message.subarray(headerEnd)]);
}

/** Header fields with their continuation lines and line ends. */
function splitFields(block: string): string[] {
  return block.split(/(?<=\r\n)(?![ \t])/);
}

/** Copies only where a line feed has no carriage return before it. */
function withCrLf(bytes: Buffer): Buffer {
  let missing = 0;
  for (let index = bytes.indexOf(lineFeed); index !== -1; index = bytes.indexOf(lineFeed, index + 1))
    if (bytes[index - 1] !== carriageReturn) missing += 1;
  if (missing === 0) return bytes;
  const result = Buffer.allocUnsafe(bytes.length + missing);
  let length = 0;
  let from = 0;
  for (let index = bytes.indexOf(lineFeed); index !== -1; index = bytes.indexOf(lineFeed, index + 1)) {
    if (bytes[index - 1] === carriageReturn) continue;
    length += bytes.copy(result, length, from, index);
    result[length++] = carriageReturn;
    from = index;
  }
  bytes.copy(result, length, from);
  return result;
}
