/** The settings that are lists of hosts, addresses or origins, and the port. */
import { isIP } from 'node:net';
import { OutboundAllow } from './outbound-address.ts';
import { ConfigError, parseInteger } from './setting.ts';

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

/** Ports of other protocols that browsers and `fetch` refuse to call: https://fetch.spec.whatwg.org/#port-blocking, without those below 1024. */
const blockedPorts: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** @throws ConfigError */
export function listeningPort(text: string): number {
  const port = parseInteger('PORT', text, 0, 65_535);
  if (blockedPorts.has(port))
    throw new ConfigError(
      `PORT must not be ${port}: browsers refuse to call this port. Choose another one, such as 4180.`,
    );
  return port;
}

/** On which nodes of a Citus cluster new applications are placed. */
export interface PlacementPolicy {
  /** Which node is preferred: the one with the fewest applications, or the one with the smallest database. */
  readonly order: 'fewest' | 'smallest';
  /** The only nodes to use, `host:port`; null: all. */
  readonly nodes: readonly string[] | null;
}

/** @param text `fewest`, `smallest`, or addresses such as `worker1:5432,worker2:5432`. @throws ConfigError */
export function placementPolicy(text: string): PlacementPolicy {
  if (text === 'fewest' || text === 'smallest') return { order: text, nodes: null };
  const nodes = text.split(',').map((each) => each.trim());
  if (nodes.every((each) => /^\S+:\d{1,5}$/.test(each))) return { order: 'fewest', nodes };
  throw new ConfigError(
    'CITUS_PLACEMENT must be fewest, smallest, or addresses of nodes such as worker1:5432, separated by commas.',
  );
}
