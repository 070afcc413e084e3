/** Messages that the tests sign themselves are checked in a parser thread, with keys from a resolver of the test. */
import { createHash } from 'node:crypto';
import { sealMessage } from 'mailauth/lib/arc/index.js';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { MailAuthentication } from '../../src/mail/authenticity/mail-authentication.ts';
import { type ReceivingServer, verifyAuthenticity } from '../../src/mail/authenticity/verify-authenticity.ts';
import { readHeaders } from '../../src/mail/parse/header-block.ts';
import { ParsePool } from '../../src/mail/parse/parse-pool.ts';
import { MapResolver } from '../support/map-resolver.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { createSigningKey, publishKey, type SigningKey, sign } from '../support/signed-mail.ts';
import { measureProcessorTime } from '../support/timing.ts';

const pool = new ParsePool();
afterAll(() => pool.close());
let dns: MapResolver;
beforeEach(() => {
  dns = new MapResolver();
});

const from = 'Ada <ada@a.test>';
const plain = makeRawMail({ from, subject: 'Hello', id: 'm1@a.test', text: 'The invoice is 100 EUR.\r\n' });
const unknownServer: ReceivingServer = { authservIds: new Set(), domains: new Set() };
const ownServer: ReceivingServer = { authservIds: new Set(['mx.own.test']), domains: new Set(['own.test']) };

async function verify(
  raw: string | Buffer,
  { server = unknownServer, isFromServer = true, sender = 'ada@a.test' as string | null } = {},
): Promise<MailAuthentication> {
  const bytes = Buffer.from(raw);
  const headers = readHeaders(bytes).headers.map(({ name, value }) => [name, value] as const);
  const message = { headers, sender, read: async () => bytes, isFromServer };
  return verifyAuthenticity(message, server, '2026-11-20T10:00:00.000Z', {
    dns,
    checkSignatures: (request) => pool.checkSignatures(request),
  });
}

/** `dkim=pass a.test` for each result. */
const list = ({ results }: MailAuthentication): string[] =>
  results.map(({ method, result, domain }) => `${method}=${result} ${domain}`);

describe('DKIM', () => {
  let key: SigningKey;
  beforeEach(() => {
    key = publishKey(dns, 'a.test');
  });

  test('A valid signature of the sender’s domain verifies a message', async () => {
    const result = await verify(await sign(plain, key));
    expect(result.verdict).toBe('verified');
    expect(list(result)).toEqual(['dkim=pass a.test', 'dmarc=none a.test']);
    expect(result.results[0]).toMatchObject({ aligned: true, reason: null, source: 'checked' });
  });

  test('A message that was stored with LF line ends is verified too', async () => {
    const result = await verify(
      (await sign(plain, key, { canonicalization: 'simple/simple' })).replaceAll('\r\n', '\n'),
    );
    expect(result.verdict).toBe('verified');
  });

  test('A changed text, a changed sender and a forged signature fail', async () => {
    const signed = await sign(plain, key);
    for (const changed of [
      signed.replace('100 EUR', '900 EUR'),
      signed.replace('From: Ada', 'From: Eve'),
      await sign(plain, createSigningKey('a.test')),
    ]) {
      const result = await verify(changed);
      expect(result.verdict).toBe('unverified');
      expect(result.results[0]).toMatchObject({ method: 'dkim', result: 'fail' });
      expect(result.results[0]?.reason).toMatch(/changed|forged/);
    }
  });

  test('A signature of another domain does not confirm the sender', async () => {
    const result = await verify(await sign(plain, publishKey(dns, 'mailer.test')));
    expect(result.verdict).toBe('unaligned');
    expect(result.results[0]).toMatchObject({ result: 'pass', domain: 'mailer.test', aligned: false });
  });

  test('A signature of a subdomain confirms the sender', async () => {
    expect((await verify(await sign(plain, publishKey(dns, 'mail.a.test')))).verdict).toBe('verified');
  });

  test('Expired signatures, short keys, missing keys and revoked keys do not count', async () => {
    const expired = await verify(await sign(plain, key, { expires: new Date(Date.now() - 86_400_000) }));
    expect(expired).toMatchObject({ verdict: 'unverified' });
    expect(expired.results[0]?.result).not.toBe('pass');
    const short = await verify(await sign(plain, publishKey(dns, 'a.test', { bits: 768, selector: 'short' })));
    expect(short.results[0]).toMatchObject({ result: 'policy', reason: 'The key of the signature is too short.' });
    const missing = await verify(await sign(plain, createSigningKey('a.test', { selector: 'missing' })));
    expect(missing.results[0]).toMatchObject({
      result: 'neutral',
      reason: 'The domain publishes no key for the signature.',
    });
    dns.addTexts(key.name, 'v=DKIM1; p=');
    expect((await verify(await sign(plain, key))).verdict).toBe('unverified');
  });

  test('Text after the signed part (l=) makes a signature worthless', async () => {
    const signed = await sign(plain, key, { maxBodyLength: 10 });
    expect(signed).toMatch(/\bl=10\b/);
    const result = await verify(signed);
    expect(result).toMatchObject({ verdict: 'unverified' });
    expect(result.results[0]).toMatchObject({
      result: 'policy',
      reason: 'Only the beginning of the message is signed.',
    });
  });

  test('A name server that does not answer gives temperror', async () => {
    dns.records.set(`TXT ${key.name}`, 'ETIMEOUT');
    const result = await verify(await sign(plain, key));
    expect(result).toMatchObject({ verdict: 'undetermined' });
    expect(list(result)[0]).toBe('dkim=temperror a.test');
  });

  test('Several addresses or headers in From are never verified', async () => {
    const two = makeRawMail({ from: 'Ada <ada@a.test>, Eve <eve@evil.test>', text: 'x' });
    expect(await verify(await sign(two, key), { sender: null })).toMatchObject({ verdict: 'unverified', domain: null });
    const doubled = `From: Eve <eve@evil.test>\r\n${await sign(plain, key)}`;
    expect(await verify(doubled)).toMatchObject({ verdict: 'unverified', domain: null });
  });
});

describe('DMARC and SPF', () => {
  const received =
    'Received: from mail.a.test (mail.a.test [8.8.4.4]) by mx.own.test (Postfix) with ESMTPS id 1; Fri, 20 Nov 2026 10:00:00 +0000\r\n';
  const delivered = (more = ''): string => `Return-Path: <bounce@a.test>\r\n${more}${received}${plain}`;

  test('SPF is checked for the address that connected to the account’s server', async () => {
    dns.addTexts('a.test', 'v=spf1 ip4:8.8.4.0/24 -all');
    const result = await verify(delivered(), { server: ownServer });
    expect(result.verdict).toBe('verified');
    expect(list(result)).toEqual(['spf=pass a.test', 'dmarc=none a.test']);
    dns.addTexts('a.test', 'v=spf1 ip4:192.0.2.1 -all');
    dns.addTexts('_dmarc.a.test', 'v=DMARC1; p=reject');
    const failed = await verify(delivered(), { server: ownServer });
    expect(failed.verdict).toBe('failed');
    expect(list(failed)).toEqual(['spf=fail a.test', 'dmarc=fail a.test']);
  });

  test('SPF is not checked for imported files, nor if the receiving server is unknown', async () => {
    dns.addTexts('a.test', 'v=spf1 ip4:8.8.4.0/24 -all');
    dns.addTexts('_dmarc.a.test', 'v=DMARC1; p=reject');
    for (const options of [{ server: ownServer, isFromServer: false }, { server: unknownServer }]) {
      const result = await verify(delivered(), options);
      expect(list(result)).toEqual(['dmarc=neutral a.test']);
      expect(result.verdict).toBe('unverified');
    }
  });

  test('Strict alignment rejects a subdomain', async () => {
    const key = publishKey(dns, 'mail.a.test');
    dns.addTexts('_dmarc.a.test', 'v=DMARC1; p=reject; adkim=s');
    dns.addTexts('a.test', 'v=spf1 -all');
    const signed = await sign(plain, key);
    const result = await verify(`Return-Path: <bounce@a.test>\r\n${received}${signed}`, { server: ownServer });
    expect(result.verdict).toBe('failed');
    dns.addTexts('_dmarc.a.test', 'v=DMARC1; p=reject');
    expect((await verify(signed, { server: ownServer })).verdict).toBe('verified');
  });

  test('Results of the account’s own server count, and those of other servers do not', async () => {
    const header =
      'Authentication-Results: mx.own.test; spf=pass smtp.mailfrom=a.test; dmarc=pass header.from=a.test\r\n';
    const result = await verify(delivered(header), { server: ownServer });
    expect(result.verdict).toBe('verified');
    expect(result.results.slice(0, 2).map(({ source }) => source)).toEqual(['receiver', 'receiver']);
    const forged = header.replace('mx.own.test', 'mx.evil.test');
    expect((await verify(delivered(forged), { server: ownServer })).verdict).toBe('unverified');
    expect((await verify(delivered(header), { server: ownServer, isFromServer: false })).verdict).toBe('unverified');
    // Only the topmost header is the server's: a sender can add one with its name below.
    expect((await verify(delivered(`${forged}${header}`), { server: ownServer })).verdict).toBe('unverified');
  });

  test('A Received-SPF header next to the trusted header counts', async () => {
    const spf =
      'Received-SPF: Pass (mailfrom) client-ip=8.8.4.4; envelope-from="bounce@a.test"; receiver=mx.own.test\r\n';
    const header = 'Authentication-Results: mx.own.test; dkim=none\r\n';
    const result = await verify(delivered(`${header}${spf}`), { server: ownServer });
    expect(result.verdict).toBe('verified');
    const below = `${header}${received}${spf}${plain}`;
    expect((await verify(below, { server: ownServer })).verdict).toBe('unverified');
  });

  test('Without name servers, only the results of the account’s own server count', async () => {
    const key = createSigningKey('a.test');
    const bytes = Buffer.from(
      `Authentication-Results: mx.own.test; dkim=pass header.d=a.test\r\n${received}${await sign(plain, key)}`,
    );
    const headers = readHeaders(bytes).headers.map(({ name, value }) => [name, value] as const);
    const message = { headers, sender: 'ada@a.test', read: async () => bytes, isFromServer: true };
    const result = await verifyAuthenticity(message, ownServer, '2026-11-20T10:00:00.000Z', {
      dns: null,
      checkSignatures: (request) => pool.checkSignatures(request),
    });
    expect(list(result)).toEqual(['dkim=pass a.test']);
    expect(result.verdict).toBe('verified');
    expect(dns.lookups).toEqual([]);
  });
});

describe('ARC', () => {
  async function forward(domain: string, dmarc = 'dmarc=pass header.from=a.test'): Promise<string> {
    const forwarder = publishKey(dns, domain, { selector: 'arc' });
    const signed = await sign(plain, publishKey(dns, 'a.test'));
    const seal = await sealMessage(Buffer.from(signed.replace('100 EUR.', '100 EUR.\r\n-- \r\nThe list')), {
      signingDomain: domain,
      selector: 'arc',
      privateKey: forwarder.privateKey,
      authResults: `mx.${domain}; ${dmarc}`,
      cv: 'none',
    });
    return `${seal}${signed.replace('100 EUR.', '100 EUR.\r\n-- \r\nThe list')}`;
  }

  test('A trusted forwarder confirms a message that it changed', async () => {
    const result = await verify(await forward('google.com'));
    expect(list(result)).toContain('arc=pass google.com');
    expect(result.verdict).toBe('forwarded');
  });

  test('A forwarder that is unknown, or that confirms another sender, confirms nothing', async () => {
    expect((await verify(await forward('evil.test'))).verdict).toBe('unverified');
    expect((await verify(await forward('google.com', 'dmarc=pass header.from=b.test'))).verdict).toBe('unverified');
    expect((await verify(await forward('google.com', 'dmarc=fail header.from=a.test'))).verdict).toBe('unverified');
  });

  test('A chain that was changed afterwards fails', async () => {
    const changed = (await forward('google.com')).replace('The list', 'The liar');
    expect(list(await verify(changed))).toContain('arc=fail google.com');
  });
});

describe('hostile messages', () => {
  const fakeSignature = (index: number, domain = `d${index}.test`): string =>
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain}; s=s; h=from; l=${index}; bh=AAAA; b=AAAA\r\n`;

  test('Of thousands of signatures, the one of the sender’s domain and a few others are checked', async () => {
    const key = publishKey(dns, 'a.test');
    const signed = await sign(plain, key);
    const fakes = Array.from({ length: 1500 }, (_, index) => fakeSignature(index)).join('');
    const check = async (): Promise<void> => {
      const result = await verify(`${fakes}${signed}`);
      expect(result.verdict).toBe('verified');
      expect(result.results.filter(({ method }) => method === 'dkim')).toHaveLength(8);
    };
    expect(await measureProcessorTime(check)).toBeLessThan(5000);
    expect(dns.lookups.length).toBeLessThan(30);
  });

  test('Too many seals, malformed tags and huge tags are ignored', async () => {
    const seals = Array.from(
      { length: 60 },
      (_, index) => `ARC-Seal: i=${index + 1}; a=rsa-sha256; cv=pass; d=s${index}.test; s=s; b=AAAA\r\n`,
    ).join('');
    const odd = [
      'DKIM-Signature: ;;;===;d=;s=\r\n',
      `DKIM-Signature: v=1; a=rsa-sha256; d=${'x'.repeat(5000)}.test; s=s; h=from; bh=; b=\r\n`,
      `DKIM-Signature: v=1; a=${'\0'.repeat(10)}; d=a.test; s=../../x; h=from; bh=A; b=A\r\n`,
      'DKIM-Signature:\r\n',
      'DKIM-Signature: v=1; a=rsa-sha256; d=__proto__; s=constructor; h=from; bh=AAAA; b=AAAA; l=99999999999999999999\r\n',
    ].join('');
    const result = await verify(`${seals}${odd}${plain}`);
    expect(result.verdict).toBe('unverified');
    expect(dns.lookups.length).toBeLessThan(30);
  });

  test('Checks with a key of 16,384 bits and a huge exponent, or with a malformed key, end soon', async () => {
    const modulus = createHash('sha512').update('x').digest('base64').repeat(20);
    for (const record of [`v=DKIM1; p=${modulus}`, 'v=DKIM1; p=****', 'x'.repeat(30_000)]) {
      dns.addTexts('s._domainkey.a.test', record);
      const signature = fakeSignature(1, 'a.test').replace('l=1; ', '');
      const check = async (): Promise<void> =>
        expect((await verify(`${signature}${plain}`)).verdict).toBe('unverified');
      expect(await measureProcessorTime(check)).toBeLessThan(5000);
    }
  });

  test('40 MB of lines that only end with LF are checked within the limits', { timeout: 120_000 }, async () => {
    const key = publishKey(dns, 'a.test');
    const body = 'a line that is repeated very often \n'.repeat(1_150_000);
    const raw = `From: Ada <ada@a.test>\r\nSubject: x\r\n\r\n${body}`;
    const signature = (await sign(raw.replaceAll(/\r?\n/g, '\r\n'), key)).split('From: Ada')[0] ?? '';
    const begun = performance.now();
    const result = await verify(Buffer.from(`${signature}${raw}`));
    process.stdout.write(`40 MB: ${Math.round(performance.now() - begun)} ms, ${result.verdict}\n`);
    expect(result.verdict).toBe('verified');
  });

  test('A thread that takes too long is ended, and the next message is checked', async () => {
    const hasty = new ParsePool({ milliseconds: 700 });
    const body = Buffer.alloc(45_000_000, 'x \t \r\n');
    const signatures = [1, 2, 3, 4].map((index) => fakeSignature(1e9 + index)).join('');
    const raw = Buffer.concat([Buffer.from(`${signatures}From: a@a.test\r\n\r\n`), body]);
    await expect(hasty.checkSignatures({ raw, keys: {}, senderDomain: null })).rejects.toThrow('longer than');
    const report = await hasty.checkSignatures({ raw: Buffer.from(plain), keys: {}, senderDomain: null });
    expect(report.from).toEqual(['ada@a.test']);
    await hasty.close();
  });
});
