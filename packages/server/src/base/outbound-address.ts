/** Which addresses the server may call: public ones, and those that the operator allows. This module does no I/O. */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/** The range of global IPv6 addresses. All others are local, or not assigned (RFC 4291, IANA registry). */
const globalIpv6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** The entries of `OUTBOUND_ALLOW`: exact host names, addresses and ranges. */
export class OutboundAllow {
  #hosts: ReadonlySet<string> = new Set();
  #ranges: readonly Range[] = [];

  /**
   * @param entries such as `hooks.internal`, `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
   * @throws Error naming an entry that is none of these.
   */
  constructor(entries: readonly string[]) {
    this.replace(entries);
  }

  /** Allows these entries instead. @throws Error as the constructor does. */
  replace(entries: readonly string[]): void {
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

  /** @param host as returned by {@link normalizeHost}. */
  allowsHost(host: string): boolean {
    return this.#hosts.has(host);
  }

  /** Whether an entry is an address or a range, to which any name may resolve. */
  get hasAddresses(): boolean {
    return this.#ranges.length > 0;
  }

  /**
   * Whether an entry explicitly allows an address. Public addresses are allowed without an entry. @param text as in a
   * URL, or from a resolver.
   */
  namesAddress(text: string): boolean {
    if (!ipaddr.isValid(text)) return false;
    const address = unmapIpv4(ipaddr.parse(text));
    return this.#ranges.some((range) => isInRange(address, range));
  }

  /** Whether the server may connect to an address. @param text as in a URL, or from a resolver. */
  allowsAddress(text: string): boolean {
    if (!ipaddr.isValid(text)) return false;
    const address = unmapIpv4(ipaddr.parse(text));
    return isPublic(address) || this.#ranges.some((range) => isInRange(address, range));
  }
}

/** What is wrong with a host name that a user gave; null if it may be resolved. @param setting the setting that can allow it. */
export function findHostProblem(host: string, allow: OutboundAllow, setting: string): string | null {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (!/^(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[?[0-9a-f:.]+\]?)$/.test(name) || name.length > 253)
    return 'Give a host name, such as imap.example.com.';
  if (allow.allowsHost(name)) return null;
  const address = name.replace(/^\[|\]$/g, '');
  const isPrivate =
    isLoopbackName(name) || (isAddress(address) ? !allow.allowsAddress(address) : /^[\d.x]+$/.test(name));
  return isPrivate ? `The host is not public. Give a public host, or ask the operator to add it to ${setting}.` : null;
}

/** The host of a URL in its canonical form: no brackets, no trailing dot. */
export function normalizeHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Whether a host is an IPv4 or IPv6 address, not a name. */
export function isAddress(host: string): boolean {
  return ipaddr.isValid(host);
}

/** Names that always resolve to this machine. */
export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function unmapIpv4(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** IPv6 forms that embed another address (NAT64, 6to4, Teredo, IPv4-compatible) are not public. */
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
  // The short forms of IPv4, such as `127.1`, are refused: programs interpret them differently.
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return null;
  const address = unmapIpv4(ipaddr.parse(text));
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
