/** Which addresses the server may call: those of the public internet, and what the operator names. Pure. */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/** Where global IPv6 addresses lie; all else is for a site, a host, or for nobody yet (RFC 4291, IANA registry). */
const globalIpv6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** What `OUTBOUND_ALLOW` names: hosts by their exact names, addresses and ranges. */
export class OutboundAllow {
  readonly #hosts: ReadonlySet<string>;
  readonly #ranges: readonly Range[];

  /**
   * @param entries such as `hooks.internal`, `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
   * @throws Error naming the entry that is neither.
   */
  constructor(entries: readonly string[]) {
    const hosts = new Set<string>();
    const ranges: Range[] = [];
    for (const entry of entries) {
      const range = parseRange(entry);
      if (range) ranges.push(range);
      else if (/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i.test(entry) && !/^[\d.]+$/.test(entry))
        hosts.add(entry.toLowerCase());
      else throw new Error(`"${entry}" is neither a host, nor an address, nor a range`);
    }
    this.#hosts = hosts;
    this.#ranges = ranges;
  }

  /** @param host as {@link normalizeHost} gives it. */
  allowsHost(host: string): boolean {
    return this.#hosts.has(host);
  }

  /** Whether an address may be connected to. @param text as a resolver or a URL gives it. */
  allowsAddress(text: string): boolean {
    if (!ipaddr.isValid(text)) return false;
    const address = unmapIpv4(ipaddr.parse(text));
    return isPublic(address) || this.#ranges.some((range) => isInRange(address, range));
  }
}

/** What is wrong with a host that people name, before it is resolved; null: nothing. @param setting what may allow it. */
export function findHostProblem(host: string, allow: OutboundAllow, setting: string): string | null {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (!/^(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[?[0-9a-f:.]+\]?)$/.test(name) || name.length > 253)
    return 'Give the name of a host, such as imap.example.com.';
  if (allow.allowsHost(name)) return null;
  const address = name.replace(/^\[|\]$/g, '');
  const isPrivate =
    isLoopbackName(name) || (isAddress(address) ? !allow.allowsAddress(address) : /^[\d.x]+$/.test(name));
  return isPrivate ? `The host is none of the public internet; ${setting} may allow it.` : null;
}

/** The host of a URL in the one spelling that is compared: no brackets, no dot at the end. */
export function normalizeHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

export function isAddress(host: string): boolean {
  return ipaddr.isValid(host);
}

/** Names that stand for this host wherever they are asked for. */
export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** An IPv4 address that is written as an IPv6 one is meant. */
function unmapIpv4(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Spellings that carry another address (NAT64, 6to4, Teredo, IPv4-compatible) are none of the public ones. */
function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv6 && (address.zoneId || !address.match(globalIpv6))) return false;
  return address.range() === 'unicast';
}

function isInRange(address: Address, [network, bits]: Range): boolean {
  return address.kind() === network.kind() && address.match(network as ipaddr.IPv4 & ipaddr.IPv6, bits);
}

function parseRange(entry: string): Range | null {
  const text = entry.replace(/^\[|\]$/g, '');
  if (text.includes('/')) return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : null;
  // The short forms of IPv4 are taken for names nowhere: `127.1` is refused rather than guessed at.
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return null;
  const address = unmapIpv4(ipaddr.parse(text));
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
