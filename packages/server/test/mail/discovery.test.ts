/** Which mail servers are proposed for an address, and in which order they are tried. */
import { describe, expect, test } from 'vitest';
import { OutboundFailure } from '../../src/base/outbound-resolver.ts';
import { parseAutoconfig } from '../../src/mail/connect/discovery/autoconfig.ts';
import type { Candidate } from '../../src/mail/connect/discovery/candidates.ts';
import {
  type Discovery,
  discoverSettings,
  discoveryLimits,
  parseAddressParts,
} from '../../src/mail/connect/discovery/discover-settings.ts';
import { MailServerProblem } from '../../src/mail/connect/mail-server-problem.ts';
import { providers } from '../../src/mail/connect/providers.ts';
import { createTestServices } from '../support/mail-connection.ts';
import { MapResolver } from '../support/map-resolver.ts';

interface World {
  readonly records?: Readonly<Record<string, readonly unknown[]>>;
  /** The contents of files by URL without its query. */
  readonly files?: Readonly<Record<string, string>>;
  /** Servers that work, as `imap imap.example.org:993`; all others cannot be reached. */
  readonly working?: readonly string[];
}

const ann = parseAddressParts('ann@example.org')!;
const show = ({ protocol, server }: Candidate): string => `${protocol} ${server.host}:${server.port}`;
const srv = (name: string, port: number, priority = 0, weight = 0): object => ({ name, port, priority, weight });

async function discover({ records = {}, files = {}, working = [] }: World, address = ann): Promise<Discovery> {
  const dns = new MapResolver();
  for (const [name, values] of Object.entries(records)) dns.records.set(name, values);
  const outbound = {
    get: async (url: string) => {
      const text = files[url.split('?')[0]!];
      if (text === undefined) throw new OutboundFailure('The host name is unknown.');
      return { status: 200, retryAfter: null, bytes: Buffer.from(text) };
    },
    exchange: () => Promise.reject(new Error('nothing is posted')),
  };
  const services = createTestServices([], { dns, outbound });
  return discoverSettings(address, services, new AbortController().signal, async (candidate) => {
    if (working.includes(show(candidate))) return { offersPassword: true, offersOauth: false };
    const { protocol, server, user } = candidate;
    throw new MailServerProblem('unreachable', { protocol, ...server, user });
  });
}

const autoconfigFile = `<?xml version="1.0"?>
<clientConfig version="1.1"><emailProvider id="example.org">
  <incomingServer type="pop3"><hostname>pop.example.org</hostname><port>995</port><socketType>SSL</socketType></incomingServer>
  <incomingServer type="imap"><hostname>plain.example.org</hostname><port>143</port><socketType>plain</socketType></incomingServer>
  <incomingServer type="imap"><hostname>IMAPS.example.org</hostname><port>993</port><socketType>SSL</socketType><username>%EMAILLOCALPART%</username></incomingServer>
  <outgoingServer type="smtp"><hostname>smtps.%EMAILDOMAIN%</hostname><port>587</port><socketType>STARTTLS</socketType><username>%EMAILADDRESS%</username></outgoingServer>
</emailProvider></clientConfig>`;

describe('sources', () => {
  test('a known provider is tried first, and no name server is queried', async () => {
    const found = await discover(
      { working: ['imap imap.gmail.com:993', 'smtp smtp.gmail.com:465'] },
      parseAddressParts('ann@googlemail.com')!,
    );
    expect(found).toMatchObject({
      provider: { name: 'Gmail', oauth: 'google', appPasswordUrl: 'https://myaccount.google.com/apppasswords' },
      imap: { host: 'imap.gmail.com', port: 993, security: 'tls', user: 'ann@googlemail.com', source: 'provider' },
      smtp: { host: 'smtp.gmail.com', port: 465, security: 'tls', needsConfirmation: false },
    });
    expect(found.tried).toHaveLength(2);
  });

  test('service records: the lowest priority first, and a host outside of the domain needs a confirmation', async () => {
    const found = await discover({
      records: {
        'SRV _imaps._tcp.example.org': [srv('second.example.org', 993, 20), srv('first.example.net', 1993, 10)],
        'SRV _submission._tcp.example.org': [srv('smtp.example.org', 587)],
        'SRV _submissions._tcp.example.org': [srv('.', 0)],
      },
      working: ['imap first.example.net:1993', 'imap second.example.org:993', 'smtp smtp.example.org:587'],
    });
    expect(found.imap).toMatchObject({ host: 'first.example.net', port: 1993, source: 'srv', needsConfirmation: true });
    expect(found.smtp).toMatchObject({ host: 'smtp.example.org', security: 'starttls', needsConfirmation: false });
    expect(found.tried.some(({ server }) => server.host === '.')).toBe(false);
  });

  test.each([
    'https://autoconfig.example.org/mail/config-v1.1.xml',
    'https://example.org/.well-known/autoconfig/mail/config-v1.1.xml',
  ])('an autoconfig file at %s', async (url) => {
    const found = await discover({
      files: { [url]: autoconfigFile },
      working: ['imap imaps.example.org:993', 'smtp smtps.example.org:587', 'imap plain.example.org:143'],
    });
    expect(found.imap).toMatchObject({ host: 'imaps.example.org', user: 'ann', source: 'autoconfig' });
    expect(found.smtp).toMatchObject({ host: 'smtps.example.org', security: 'starttls', user: 'ann@example.org' });
    expect(found.tried.map(show)).not.toContain('imap plain.example.org:143');
  });

  test('the mail exchanger reveals the provider of a custom domain', async () => {
    const found = await discover({
      records: {
        'MX example.org': [
          { exchange: 'backup.example.net', priority: 20 },
          { exchange: 'example-org.mail.protection.outlook.com', priority: 0 },
        ],
      },
      working: ['imap outlook.office365.com:993', 'smtp smtp.office365.com:587'],
    });
    expect(found).toMatchObject({
      provider: { name: 'Microsoft 365', oauth: 'microsoft' },
      imap: { host: 'outlook.office365.com', source: 'mx', user: 'ann@example.org', needsConfirmation: false },
    });
  });

  test('usual host names come last, and IMAP and SMTP are each searched until a server is found', async () => {
    const found = await discover({
      records: { 'MX example.org': [{ exchange: 'mx.example.org', priority: 1 }] },
      working: ['imap mx.example.org:143', 'imap mail.example.org:993', 'smtp smtp.example.org:465'],
    });
    expect(found.imap).toMatchObject({ host: 'mail.example.org', port: 993, source: 'guess' });
    expect(found.smtp).toMatchObject({ host: 'smtp.example.org', source: 'guess' });
    expect(found.provider).toBeNull();
  });

  test('an unknown domain gives nothing, with a problem for everything that was tried', async () => {
    const found = await discover({});
    expect(found).toMatchObject({ imap: null, smtp: null, provider: null });
    expect(found.tried.length).toBeLessThanOrEqual(discoveryLimits.candidates);
    expect(found.tried.length).toBeGreaterThan(8);
    for (const { problem } of found.tried) expect(problem).toBeInstanceOf(MailServerProblem);
  });

  test('a domain with very many servers does not make many connections', async () => {
    const many = Array.from({ length: 100 }, (_, number) => srv(`host${number}.example.org`, 993));
    const records = Object.fromEntries(
      ['_imaps', '_imap', '_submissions', '_submission'].map((name) => [`SRV ${name}._tcp.example.org`, many]),
    );
    const servers = Array.from(
      { length: 1000 },
      (_, number) =>
        `<incomingServer type="imap"><hostname>x${number}.example.org</hostname><port>993</port><socketType>SSL</socketType></incomingServer>`,
    );
    const found = await discover({
      records,
      files: { 'https://autoconfig.example.org/mail/config-v1.1.xml': servers.join('').slice(0, 60_000) },
    });
    expect(found.tried.length).toBeLessThanOrEqual(discoveryLimits.candidates);
  });

  test('a non-ASCII domain is encoded, and an impossible domain is refused', () => {
    expect(parseAddressParts('ann@bücher.example')).toMatchObject({ domain: 'xn--bcher-kva.example' });
    expect(parseAddressParts('ann@exa mple.org')).toBeNull();
  });
});

describe('autoconfig files', () => {
  test.each([
    ['no XML', 'nothing <here'],
    ['a port out of range', autoconfigFile.replace('993', '99999').replace('587', '0')],
    ['no host', autoconfigFile.replaceAll(/<hostname>[^<]*<\/hostname>/g, '')],
    ['an unclosed document', '<clientConfig>'.repeat(5000)],
  ])('%s gives no servers', (_name, xml) => {
    expect(parseAutoconfig(xml, ann)).toEqual([]);
  });

  test('entities and external documents are not read', () => {
    const xml = `<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>${autoconfigFile.replace('IMAPS.example.org', '&secret;')}`;
    expect(parseAutoconfig(xml, ann).map(show)).not.toContain('imap root');
  });

  test('a user name with a line break is replaced by the address', () => {
    const [candidate] = parseAutoconfig(autoconfigFile.replace('%EMAILLOCALPART%', 'ann&#10;x'), ann);
    expect(candidate?.user).toBe('ann@example.org');
  });
});

test('every known provider encrypts both sides, and belongs to one domain list', () => {
  const domains = providers.flatMap((provider) => provider.domains);
  expect(new Set(domains).size).toBe(domains.length);
  for (const { name, imap, smtp } of providers) {
    expect([imap.port, imap.security], name).toEqual([993, 'tls']);
    expect(['465 tls', '587 starttls'], name).toContain(`${smtp.port} ${smtp.security}`);
  }
});
