import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';

/**
 * The network that rate limits count: an IPv4 address (also if mapped to IPv6), or the /64 of an IPv6 address.
 *
 * @param address from the socket, or from a trusted proxy.
 */
export function toNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = parseIpv6Groups(address.replace(/%.*/, ''));
  const [, , , , , prefix, high = 0, low = 0] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && prefix === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** The eight groups of a valid IPv6 address; its last two may be written as an IPv4 address. */
function parseIpv6Groups(address: string): number[] {
  const plain = address.replace(/\d+\.\d+\.\d+\.\d+$/, (ipv4) => {
    const [first = 0, second = 0, third = 0, fourth = 0] = ipv4.split('.').map(Number);
    return `${toHexGroup(first, second)}:${toHexGroup(third, fourth)}`;
  });
  const [head = '', tail = ''] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const middle = plain.includes('::') ? new Array<string>(8 - left.length - right.length).fill('0') : [];
  return [...left, ...middle, ...right].map((group) => Number.parseInt(group, 16));
}

function toHexGroup(high: number, low: number): string {
  return (high * 256 + low).toString(16);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether an address is one of this machine. */
export function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

const forwardingHeaders = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'] as const;

/** Whether a proxy says that it has forwarded a request. The client of a proxy on this machine may be anywhere. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return forwardingHeaders.some((name) => headers[name] !== undefined);
}
