import type { MailAddress } from '../mail-types.ts';

/**
 * Parses an address such as `Ada <ada@example.com>` for the API. An invalid address is sent unchanged, so that the
 * server reports it.
 */
export function parseAddress(text: string): MailAddress | string {
  const named = /^"?([^"<>]*?)"?\s*<([^<>]*)>$/.exec(text.trim());
  if (!named) return text.trim();
  const [, name = '', address = ''] = named;
  return { name: name.trim(), address: address.trim() };
}

/** Whether a text can be an e-mail address. The server makes the final check. */
export function isAddress(text: string): boolean {
  const parsed = parseAddress(text);
  return /^[^\s@<>",;]+@[^\s@<>",;]+$/.test(typeof parsed === 'string' ? parsed : parsed.address);
}

/** The text of an address in an input. Names with separators are quoted. */
export function addressText({ name, address }: MailAddress): string {
  if (!name) return address;
  return /[,;"<>]/.test(name) ? `"${name.replaceAll(/["<>]/g, '')}" <${address}>` : `${name} <${address}>`;
}

/** Splits a list of addresses at commas, semicolons and line breaks outside of quotes. */
export function splitAddresses(text: string): string[] {
  return [...text.matchAll(/(?:"[^"]*"|[^,;"\n])+/g)].map(([each]) => each.trim()).filter(Boolean);
}
