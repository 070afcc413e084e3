/** Which server handed a message to the account's mail server, as far as the trace headers can be trusted. */
import { isIP } from 'node:net';
import { OutboundAllow } from '../../base/outbound-address.ts';
import { baseDomain } from '../html/link-url.ts';

export interface ConnectingServer {
  /** A public address. */
  readonly address: string;
  /** The name that it gave itself; null where it gave none. */
  readonly helo: string | null;
}

interface Hop {
  readonly by: string;
  readonly helo: string | null;
  readonly address: string | null;
  readonly isLocalDelivery: boolean;
}

const maxInternalHops = 8;
const publicAddresses = new OutboundAllow([]);

/**
 * The server that connected from outside, by the Received headers. Each server adds its header on top, so those of the account's own
 * servers come first: they are followed while they describe local deliveries and private addresses.
 *
 * @param received values of the Received headers, the topmost first.
 * @param ownDomains base domains of the account's own servers.
 * @returns null where the headers do not tell reliably.
 */
export function findConnectingServer(
  received: readonly string[],
  ownDomains: ReadonlySet<string>,
): ConnectingServer | null {
  for (const value of received.slice(0, maxInternalHops)) {
    const hop = parseHop(value);
    if (!hop || !ownDomains.has(baseDomain(hop.by))) return null;
    if (hop.address !== null && publicAddresses.allowsAddress(hop.address))
      return { address: hop.address, helo: hop.helo };
    if (hop.address === null && !hop.isLocalDelivery) return null;
  }
  return null;
}

/** `from <helo> (<name> [<address>]) by <server> with <protocol>`. */
function parseHop(value: string): Hop | null {
  const text = value.replace(/\s+/g, ' ').trim();
  const plain = blankComments(text);
  const byAt = /(?:^| )by (?=\S)/i.exec(plain);
  if (!byAt) return null;
  const by = /^[\w.-]{1,253}/.exec(plain.slice(byAt.index + byAt[0].length))?.[0] ?? '';
  const from = text.slice(0, byAt.index);
  const helo = /^from ([^\s()[\]]{1,255})(?: |$)/i.exec(from)?.[1] ?? null;
  const rest = plain.slice(byAt.index);
  return { by, helo, address: findAddress(from), isLocalDelivery: / with (?:ESMTPS?A? )?LMTP/i.test(rest) };
}

/** The last address in square brackets of the comments: the server writes it, while the rest may come from the client. */
function findAddress(from: string): string | null {
  if (!/^from /i.test(from)) return null;
  const literals = [...from.matchAll(/(.{0,6})\[(?:IPv6:)?([\da-f.:]{3,45})\]/gi)]
    .filter(([, before = '']) => !/(?:helo|ehlo)=$/i.test(before))
    .map(([, , address = '']) => address)
    .filter((address) => isIP(address) !== 0);
  return literals.at(-1) ?? null;
}

/** Replaces comments by spaces, so that positions stay the same. */
function blankComments(text: string): string {
  let depth = 0;
  let result = '';
  for (const character of text) {
    if (character === '(') depth += 1;
    result += depth > 0 ? ' '.repeat(character.length) : character;
    if (character === ')') depth = Math.max(0, depth - 1);
  }
  return result;
}
