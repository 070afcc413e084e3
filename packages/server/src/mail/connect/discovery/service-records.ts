import type { DnsResolver } from '../../../base/dns-resolver.ts';
import type { AddressParts, Candidate } from './candidates.ts';

interface ServiceRecord {
  readonly name: string;
  readonly port: number;
  readonly priority: number;
  readonly weight: number;
}

/** The services of RFC 6186 and RFC 8314, those with TLS from the beginning first. */
const services = [
  { name: '_imaps', protocol: 'imap', security: 'tls' },
  { name: '_imap', protocol: 'imap', security: 'starttls' },
  { name: '_submissions', protocol: 'smtp', security: 'tls' },
  { name: '_submission', protocol: 'smtp', security: 'starttls' },
] as const;

const maxRecords = 2;

/** The servers that a domain publishes in service records; those with the lowest priority first. */
export async function findServiceCandidates(
  { address, domain }: AddressParts,
  dns: DnsResolver,
): Promise<readonly Candidate[]> {
  const found = await Promise.all(
    services.map(async ({ name, protocol, security }) => {
      const records = await readRecords(dns, `${name}._tcp.${domain}`);
      return records.map(({ name: host, port }): Candidate => {
        return { protocol, server: { host, port, security }, user: address, source: 'srv' };
      });
    }),
  );
  return found.flat();
}

/** The target `.` says that the domain does not offer the service. */
async function readRecords(dns: DnsResolver, name: string): Promise<readonly ServiceRecord[]> {
  const records = await dns.resolve(name, 'SRV').catch(() => []);
  return (records as readonly ServiceRecord[])
    .filter((record) => record.name !== '' && record.name !== '.' && record.port > 0)
    .sort((a, b) => a.priority - b.priority || b.weight - a.weight)
    .slice(0, maxRecords);
}

/** The hosts that receive the mail of a domain, the preferred one first. */
export async function findExchangers({ domain }: AddressParts, dns: DnsResolver): Promise<readonly string[]> {
  const records = (await dns.resolve(domain, 'MX').catch(() => [])) as readonly {
    readonly exchange: string;
    readonly priority: number;
  }[];
  return [...records]
    .sort((a, b) => a.priority - b.priority)
    .map(({ exchange }) => exchange.replace(/\.$/, ''))
    .filter((exchange) => exchange !== '');
}
