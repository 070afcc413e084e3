import type { MailAddress } from '../mail.ts';

/** `Ada <ada@example.com>, bob@example.com` as the API takes it. What is no address is sent as it stands: the server names it. */
export function parseAddresses(text: string): (MailAddress | string)[] {
  return split(text).map((each) => {
    const named = /^"?([^"<>]*?)"?\s*<([^<>]*)>$/.exec(each);
    return named ? { name: named[1]!.trim(), address: named[2]!.trim() } : each;
  });
}

export function addressText({ name, address }: MailAddress): string {
  if (!name) return address;
  return /[,;"<>]/.test(name) ? `"${name.replaceAll('"', '')}" <${address}>` : `${name} <${address}>`;
}

/** At commas and semicolons that stand in no quotation. */
function split(text: string): string[] {
  return [...text.matchAll(/(?:"[^"]*"|[^,;"])+/g)].map(([each]) => each.trim()).filter(Boolean);
}
