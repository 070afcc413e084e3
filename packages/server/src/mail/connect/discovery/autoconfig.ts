/** Settings that a domain publishes as XML, in the format of Thunderbird's autoconfiguration. */
import { Parser } from 'htmlparser2';
import type { OutboundClient } from '../../../base/outbound.ts';
import type { AddressParts, Candidate } from './candidates.ts';

const maxBytes = 64 * 1024;
const maxServers = 4;

/**
 * The servers that a domain publishes. Only https is used: who can change the file gets the password.
 *
 * @returns none if the domain publishes nothing that can be read.
 */
export async function findAutoconfigCandidates(
  address: AddressParts,
  outbound: Pick<OutboundClient, 'get'>,
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const query = `?emailaddress=${encodeURIComponent(address.address)}`;
  const urls = [
    `https://autoconfig.${address.domain}/mail/config-v1.1.xml${query}`,
    `https://${address.domain}/.well-known/autoconfig/mail/config-v1.1.xml${query}`,
  ];
  const found = await Promise.all(
    urls.map(async (url) => {
      const reply = await outbound.get(url, { accept: 'text/xml' }, maxBytes, signal).catch(() => null);
      if (reply?.status !== 200 || reply.bytes.length > maxBytes) return [];
      return parseAutoconfig(reply.bytes.toString('utf8'), address);
    }),
  );
  return found.find((candidates) => candidates.length > 0) ?? [];
}

interface ServerElement {
  readonly protocol: string;
  readonly values: Map<string, string>;
}

/** The IMAP and SMTP servers of the document that encrypt the connection, in its order. */
export function parseAutoconfig(xml: string, address: AddressParts): readonly Candidate[] {
  const servers: ServerElement[] = [];
  const path: string[] = [];
  let current: ServerElement | null = null;
  const parser = new Parser(
    {
      onopentag: (name, { type = '' }) => {
        path.push(name);
        if (name !== 'incomingServer' && name !== 'outgoingServer') return;
        current = { protocol: type.toLowerCase(), values: new Map() };
        if (servers.length < 4 * maxServers) servers.push(current);
      },
      ontext: (text) => {
        const name = path.at(-1);
        if (current && name) current.values.set(name, `${current.values.get(name) ?? ''}${text}`.slice(0, 300));
      },
      onclosetag: (name) => {
        path.pop();
        if (name === 'incomingServer' || name === 'outgoingServer') current = null;
      },
    },
    { xmlMode: true },
  );
  parser.write(xml);
  parser.end();
  const candidates = servers.flatMap((server) => toCandidate(server, address) ?? []);
  return (['imap', 'smtp'] as const).flatMap((protocol) =>
    candidates.filter((each) => each.protocol === protocol).slice(0, maxServers),
  );
}

const socketTypes: Readonly<Record<string, 'tls' | 'starttls'>> = { SSL: 'tls', TLS: 'tls', STARTTLS: 'starttls' };

function toCandidate({ protocol, values }: ServerElement, address: AddressParts): Candidate | null {
  const read = (name: string): string => fillPlaceholders((values.get(name) ?? '').trim(), address);
  const security = socketTypes[read('socketType').toUpperCase()];
  const port = Number(read('port'));
  const host = read('hostname').toLowerCase();
  if ((protocol !== 'imap' && protocol !== 'smtp') || !security || host === '') return null;
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return null;
  const user = read('username');
  const isUsable = user !== '' && user.length <= 320 && !/\p{Cc}/u.test(user);
  return { protocol, server: { host, port, security }, user: isUsable ? user : address.address, source: 'autoconfig' };
}

function fillPlaceholders(text: string, { address, localPart, domain }: AddressParts): string {
  return text
    .replaceAll('%EMAILADDRESS%', () => address)
    .replaceAll('%EMAILLOCALPART%', () => localPart)
    .replaceAll('%EMAILDOMAIN%', () => domain);
}
