import { expect, test, vi } from 'vitest';
import { CachingDnsResolver, DnsFailure, isMissing } from './dns-resolver.ts';

const fail = (code: string) => Promise.reject(Object.assign(new Error(code), { code }));

test('An answer is remembered, without regard to case and a trailing dot', async () => {
  const lookup = vi.fn(async () => [['v=spf1 -all']]);
  const dns = new CachingDnsResolver({ lookup });
  const records = await dns.resolve('Example.org', 'TXT');
  expect(records).toEqual([['v=spf1 -all']]);
  (records[0] as string[]).push('changed by the caller');
  expect(await dns.resolve('example.org.', 'TXT')).toEqual([['v=spf1 -all']]);
  expect(lookup).toHaveBeenCalledTimes(1);
  await dns.resolve('example.org', 'A');
  expect(lookup).toHaveBeenCalledTimes(2);
});

test('Equal lookups at the same time share one query', async () => {
  const lookup = vi.fn(async () => ['192.0.2.1']);
  const dns = new CachingDnsResolver({ lookup });
  await Promise.all([1, 2, 3].map(() => dns.resolve('example.org', 'A')));
  expect(lookup).toHaveBeenCalledTimes(1);
});

test('Missing records and failures are distinguished, and both are remembered', async () => {
  const lookup = vi.fn((name: string) => fail(name === 'no.example' ? 'ENOTFOUND' : 'ESERVFAIL'));
  const dns = new CachingDnsResolver({ lookup });
  for (let round = 0; round < 2; round += 1) {
    const missing = await dns.resolve('no.example', 'TXT').catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(DnsFailure);
    expect(isMissing((missing as DnsFailure).code)).toBe(true);
    const failed = await dns.resolve('broken.example', 'TXT').catch((error: unknown) => error);
    expect(isMissing((failed as DnsFailure).code)).toBe(false);
  }
  expect(lookup).toHaveBeenCalledTimes(2);
});

test('A name server that does not answer delays nobody longer than the limit', async () => {
  const dns = new CachingDnsResolver({ lookup: () => new Promise(() => {}), timeoutMilliseconds: 30 });
  const begun = performance.now();
  await expect(dns.resolve('silent.example', 'TXT')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  expect(performance.now() - begun).toBeLessThan(20_000);
});

test('Names that cannot exist are not looked up, and too large answers are refused', async () => {
  const lookup = vi.fn(async () => [['x'.repeat(40_000)]]);
  const dns = new CachingDnsResolver({ lookup });
  for (const name of ['', 'a b.example', `${'a'.repeat(64)}.example`, 'ü.example', 'a..example', 'x.'.repeat(200)])
    await expect(dns.resolve(name, 'TXT')).rejects.toMatchObject({ code: 'EBADNAME' });
  expect(lookup).not.toHaveBeenCalled();
  await expect(dns.resolve('large.example', 'TXT')).rejects.toMatchObject({ code: 'EBADRESP' });
});

test('More than 256 lookups at the same time are refused', async () => {
  const { promise, resolve } = Promise.withResolvers<readonly unknown[]>();
  const dns = new CachingDnsResolver({ lookup: () => promise });
  const running = Array.from({ length: 256 }, (_, index) => dns.resolve(`a${index}.example`, 'A'));
  await expect(dns.resolve('one-more.example', 'A')).rejects.toMatchObject({ code: 'EBUSY' });
  resolve(['192.0.2.1']);
  expect(await Promise.all(running)).toHaveLength(256);
  expect(await dns.resolve('one-more.example', 'A')).toEqual(['192.0.2.1']);
});
