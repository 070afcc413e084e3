import type { MailAddress } from '../mail-types.ts';

/** `Ada <ada@example.com>` as the API takes it. What is no address is sent as it stands: the server names it. */
export function parseAddress(text: string): MailAddress | string {
  const named = /^"?([^"<>]*?)"?\s*<([^<>]*)>$/.exec(text.trim());
  if (!named) return text.trim();
  const [, name = '', address = ''] = named;
  return { name: name.trim(), address: address.trim() };
}

/** Whether it may be one; the server has the last word. */
export function isAddress(text: string): boolean {
  const parsed = parseAddress(text);
  return /^[^\s@<>",;]+@[^\s@<>",;]+$/.test(typeof parsed === 'string' ? parsed : parsed.address);
}

/** As it stands in a field; a name that a list of addresses would break at is quoted. */
export function addressText({ name, address }: MailAddress): string {
  if (!name) return address;
  return /[,;"<>]/.test(name) ? `"${name.replaceAll(/["<>]/g, '')}" <${address}>` : `${name} <${address}>`;
}

/** Several that were typed or pasted at once: parted at commas, semicolons and line ends that stand in no quotation. */
export function splitAddresses(text: string): string[] {
  return [...text.matchAll(/(?:"[^"]*"|[^,;"\n])+/g)].map(([each]) => each.trim()).filter(Boolean);
}
