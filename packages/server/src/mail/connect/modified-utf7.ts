/** Decodes a mailbox name of IMAP (RFC 3501, section 5.1.3): `Entw&APw-rfe` is `Entwürfe`. */
export function fromModifiedUtf7(text: string): string {
  return text.replace(/&([A-Za-z0-9+,]*)-/g, (whole, packed: string) => {
    if (packed === '') return '&';
    const bytes = Buffer.from(packed.replaceAll(',', '/'), 'base64');
    return bytes.length >= 2
      ? bytes
          .subarray(0, bytes.length & ~1)
          .swap16()
          .toString('utf16le')
      : whole;
  });
}
