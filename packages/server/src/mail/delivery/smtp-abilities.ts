/** What an SMTP server offers and allows, as it says in its reply to EHLO. Pure: no input or output. */
import { domainToASCII } from 'node:url';
import type { SmtpClient } from '../connect/open-smtp.ts';

/** What an SMTP server offers and allows. */
export interface SmtpAbilities {
  /** Bytes of a message (RFC 1870); null: not limited. */
  readonly maxBytes: number | null;
  /** Recipients of one transaction. */
  readonly maxRecipients: number;
  /** Addresses and headers beyond ASCII (RFC 6531). */
  readonly smtpUtf8: boolean;
  /** Bodies beyond ASCII (RFC 6152). */
  readonly eightBitMime: boolean;
  /** Delivery reports on request (RFC 3461). */
  readonly dsn: boolean;
}

/** Every server must accept at least this many (RFC 5321, 4.5.3.1.8). */
const minRecipients = 100;

/** What a connection says of its server. */
export function readSmtpAbilities({
  extensions,
  maxSize,
  maxRecipients,
}: Pick<SmtpClient, 'extensions' | 'maxSize' | 'maxRecipients'>): SmtpAbilities {
  return {
    maxBytes: maxSize,
    maxRecipients: maxRecipients ?? minRecipients,
    smtpUtf8: extensions.has('SMTPUTF8'),
    eightBitMime: extensions.has('8BITMIME'),
    dsn: extensions.has('DSN'),
  };
}

/** Whether an address can only be named to a server that offers SMTPUTF8. A domain beyond ASCII has an ASCII form. */
export function needsSmtpUtf8(address: string): boolean {
  return /[^\x20-\x7e]/.test(address.slice(0, address.lastIndexOf('@')));
}

/** An address as the envelope names it: its domain in ASCII. */
export function toEnvelopeAddress(address: string): string {
  const split = address.lastIndexOf('@');
  if (split < 0) return address;
  const domain = address.slice(split + 1);
  if (!/[^\x20-\x7e]/.test(domain)) return address;
  return `${address.slice(0, split)}@${domainToASCII(domain) || domain}`;
}

/** Where a message has bytes beyond ASCII. */
export interface EightBit {
  readonly inHeaders: boolean;
  readonly inBody: boolean;
}

/** Finds bytes beyond ASCII in a message. */
export function findEightBit(raw: Uint8Array): EightBit {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  const end = bytes.indexOf('\r\n\r\n');
  const isEightBit = (part: Uint8Array): boolean => part.some((byte) => byte > 0x7f);
  return {
    inHeaders: isEightBit(end === -1 ? bytes : bytes.subarray(0, end)),
    inBody: end !== -1 && isEightBit(bytes.subarray(end)),
  };
}
