import addressparser from 'nodemailer/lib/addressparser';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanName } from './clean-text.ts';
import { decodeWords } from './encoded-words.ts';
import type { MailAddress } from './parsed-mail.ts';

/** One addr-spec: a local part without spaces or brackets, or quoted, and one domain. */
const addressPattern = /^(?:"[^"\\\r\n]{1,64}"|[^\s@<>(),;:"[\]\\]{1,64})@([^\s@<>(),;:"\\]{1,253})$/u;

/**
 * The mailboxes of an address header, its groups taken apart. Where nothing like an address stands, what was written becomes the
 * name: nobody is written to by guess, and the reader still sees it. Words of RFC 2047 are decoded in names alone, never in
 * addresses, and only after the commas were read.
 */
export function parseAddresses(values: readonly string[]): MailAddress[] {
  const addresses: MailAddress[] = [];
  for (const value of values) {
    for (const entry of addressparser(value, { flatten: true })) {
      if (addresses.length >= mailLimits.addresses) return addresses;
      const address = toAddress(entry.name, entry.address ?? '');
      if (address.name || address.address) addresses.push(address);
    }
  }
  return addresses;
}

function toAddress(name: string, written: string): MailAddress {
  const displayName = cleanName(decodeWords(name));
  const address = written.trim();
  const domain = addressPattern.exec(address)?.[1];
  if (domain === undefined) return { name: cleanName([displayName, address].filter(Boolean).join(' ')), address: '' };
  return { name: displayName, address: address.slice(0, -domain.length) + domain.toLowerCase() };
}
