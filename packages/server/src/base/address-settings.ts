/** The settings that are lists of hosts, addresses or origins. */
import { isIP } from 'node:net';
import { OutboundAllow } from './outbound-address.ts';
import { ConfigError } from './setting.ts';

/** The entries of a list that is separated by commas. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** @throws ConfigError naming the setting. */
export function outboundAllow(name: string, text: string): readonly string[] {
  const entries = splitList(text);
  try {
    new OutboundAllow(entries);
  } catch (error) {
    throw new ConfigError(
      `${name}: ${(error as Error).message}. Write for example mail.internal, 10.1.2.3 or 10.0.0.0/8.`,
    );
  }
  return entries;
}

/** Null: any origin. @throws ConfigError */
export function corsOrigins(text: string): ReadonlySet<string> | null {
  const origins = splitList(text);
  if (origins.includes('*')) return null;
  for (const origin of origins)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new ConfigError(
        `CORS_ORIGINS contains "${origin}", which is not an origin. Write origins such as https://app.example.com, or *.`,
      );
  return new Set(origins);
}

/** Only addresses and ranges: a mistyped host name must not become a trusted proxy. */
export function trustedProxies(text: string | null): string | null {
  for (const each of text === null ? [] : splitList(text)) {
    const [address = '', range, more] = each.split('/');
    const bits = isIP(address) === 6 ? 128 : 32;
    const fits = range === undefined || (/^\d{1,3}$/.test(range) && Number(range) <= bits);
    const named = ['loopback', 'linklocal', 'uniquelocal'].includes(each);
    if (!named && (isIP(address) === 0 || !fits || more !== undefined))
      throw new ConfigError(
        `TRUSTED_PROXIES contains "${each}", which is not an address or range. Write for example 10.0.0.0/8.`,
      );
  }
  return text;
}
