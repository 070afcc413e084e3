import { isIP } from 'node:net';

/**
 * The network that rate limits count: an IPv4 address (also if mapped to IPv6), or the /64 of an IPv6 address.
 *
 * @param address from the socket, or from a trusted proxy.
 */
export function toNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = parseIpv6Groups(address.split('%')[0]!);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.');
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** The eight groups of a valid IPv6 address; its last two may be written as an IPv4 address. */
function parseIpv6Groups(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const plain = dotted
    ? `${dotted[1]}${toHexGroup(dotted[2]!, dotted[3]!)}:${toHexGroup(dotted[4]!, dotted[5]!)}`
    : address;
  const [head = '', tail = ''] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const middle = plain.includes('::') ? new Array<string>(8 - left.length - right.length).fill('0') : [];
  return [...left, ...middle, ...right].map((group) => Number.parseInt(group, 16));
}

function toHexGroup(high: string, low: string): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}
