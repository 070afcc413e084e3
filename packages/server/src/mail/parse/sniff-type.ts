/** Signatures of the types that may be shown inline. `null` matches any byte. */
const signatures: readonly (readonly [type: string, bytes: readonly (number | null)[]])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38, 0x37, 0x61]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38, 0x39, 0x61]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46, null, null, null, null, 0x57, 0x45, 0x42, 0x50]],
  ['application/pdf', [0x25, 0x50, 0x44, 0x46, 0x2d]],
];

const maxSniffedBytes = 4096;
/** Control characters that text does not contain. */
const controls = /[\p{Cc}--[\s\u0080-\u009f]]/v;
/** The escape character, which occurs in ISO 2022 text. */
const shift = '\u001b';

/** Detects the type of bytes, if it may be shown inline; null for all other types, such as SVG and HTML. */
export function sniffType(bytes: Uint8Array): string | null {
  for (const [type, signature] of signatures)
    if (signature.every((byte, index) => byte === null || bytes[index] === byte)) return type;
  return isPlainText(bytes.subarray(0, maxSniffedBytes)) ? 'text/plain' : null;
}

/**
 * Whether bytes are UTF-8 text without control characters. Markup does not count as text, because a browser could
 * execute it.
 */
function isPlainText(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return false;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return !controls.test(text.replaceAll(shift, '')) && !/^\s*<[!?a-z]/i.test(text);
  } catch {
    return false;
  }
}
