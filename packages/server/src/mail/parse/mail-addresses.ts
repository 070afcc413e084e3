import addressparser from 'nodemailer/lib/addressparser';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanName } from './clean-text.ts';
import { decodeWords } from './encoded-words.ts';
import type { MailAddress } from './parsed-mail.ts';

/** One addr-spec: a local part without spaces or brackets, or quoted, and one domain. */
const addressPattern = /^(?:"[^"\\\r\n]{1,64}"|[^\s@<>(),;:"[\]\\]{1,64})@([^\s@<>(),;:"\\]{1,253})$/u;

/**
 * Parses the mailboxes of an address header; groups are expanded. Text without an address becomes a name with an empty
 * address, so that it is shown but never used as a recipient. Encoded words (RFC 2047) are only decoded in names, after the
 * header was split at its commas.
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
