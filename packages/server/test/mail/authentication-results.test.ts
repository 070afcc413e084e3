import { describe, expect, test } from 'vitest';
import { findResembled, skeleton } from '../../src/mail/authenticity/confusable-domains.ts';
import { findConnectingServer } from '../../src/mail/authenticity/connecting-server.ts';
import { learnAuthservIds } from '../../src/mail/authenticity/learn-authserv-ids.ts';
import { type AuthenticationResult, decideVerdict } from '../../src/mail/authenticity/mail-authentication.ts';
import { parseAuthenticationResults } from '../../src/mail/parse/authentication.ts';

describe('an Authentication-Results header', () => {
  test('of Google is parsed with its domains', () => {
    const header = parseAuthenticationResults(
      'mx.google.com; dkim=pass header.i=@example.org header.s=k1 header.b=AbC; spf=pass (google.com: domain of a@mail.example.org designates 192.0.2.1 as permitted sender) smtp.mailfrom=a@mail.example.org; dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.org',
    );
    expect(header).toEqual({
      authservId: 'mx.google.com',
      results: [
        { method: 'dkim', result: 'pass', domain: 'example.org' },
        { method: 'spf', result: 'pass', domain: 'mail.example.org' },
        { method: 'dmarc', result: 'pass', domain: 'example.org' },
      ],
    });
  });

  test('of Microsoft has no name', () => {
    const header = parseAuthenticationResults(
      'spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=example.org; dkim=none (message not signed) header.d=none;dmarc=fail action=none header.from=example.org;compauth=pass reason=130',
    );
    expect(header.authservId).toBe('');
    expect(header.results.map(({ method, result }) => `${method}=${result}`)).toEqual([
      'spf=pass',
      'dkim=none',
      'dmarc=fail',
    ]);
  });

  test('cannot be forged by text in comments or quotation marks', () => {
    const header = parseAuthenticationResults(
      'mx.b.test 1; spf=fail smtp.mailfrom="x; dmarc=pass header.from=b.test"@evil.test (a \\) ; dmarc=pass); dkim=neutral reason="; dkim=pass"',
    );
    expect(header.authservId).toBe('mx.b.test');
    expect(header.results.map(({ method, result }) => `${method}=${result}`)).toEqual(['spf=fail', 'dkim=neutral']);
  });
});

describe('the server that connected', () => {
  const own = new Set(['own.test']);

  test('is the first public address below the headers of deliveries inside our own network', () => {
    const received = [
      'from mx1.own.test by store.own.test with LMTP id 1; Fri, 20 Nov 2026 10:00:00 +0000',
      'from filter.own.test (filter.own.test [10.0.0.8]) by mx1.own.test (Postfix) with ESMTP id 2; Fri, 20 Nov 2026 10:00:00 +0000',
      'from mail.example.org (mail.example.org [8.8.4.4]) by mx1.own.test (Postfix) with ESMTPS id 3; Fri, 20 Nov 2026 10:00:00 +0000',
      'from forged.test (forged.test [9.9.9.9]) by mx1.own.test with ESMTP id 4; Fri, 20 Nov 2026 10:00:00 +0000',
    ];
    expect(findConnectingServer(received, own)).toEqual({ address: '8.8.4.4', helo: 'mail.example.org' });
  });

  test('is not the address that the client claims in its greeting', () => {
    const received = ['from x([9.9.9.9]) (unknown [8.8.4.4]) by mx.own.test with ESMTP'];
    expect(findConnectingServer(received, own)?.address).toBe('8.8.4.4');
    const ipv6 = ['from [9.9.9.9] (helo=[9.9.9.9] [IPv6:2606:4700::1111]) by mx.own.test with ESMTP'];
    expect(findConnectingServer(ipv6, own)?.address).toBe('2606:4700::1111');
  });

  test.each([
    ['another server wrote the header', ['from a.test (a.test [8.8.4.4]) by mx.other.test with ESMTP']],
    [
      'a header names no address and no local delivery',
      ['from a.test by mx.own.test with ESMTP', 'from b.test (b.test [8.8.4.4]) by mx.own.test with ESMTP'],
    ],
    ['there is no header', []],
    ['a header cannot be read', ['garbage']],
  ])('is unknown if %s', (_, received) => {
    expect(findConnectingServer(received, own)).toBeNull();
  });
});

describe('a domain that resembles a known one', () => {
  const known = ['example.com', 'paypal.com', 'gmail.com', 'modern-shop.test'].map((domain) => ({
    domain,
    skeleton: skeleton(domain),
  }));

  test.each([
    ['examp1e.com', 'example.com'],
    ['exаmple.com', 'example.com'], // a Cyrillic а
    ['xn--exmple-4nf.com', 'example.com'],
    ['exämple.com', 'example.com'],
    ['exampel.com', 'example.com'],
    ['exmple.com', 'example.com'],
    ['exxample.com', 'example.com'],
    ['mail.examp1e.com', 'example.com'],
    ['paypaI.com', 'paypal.com'], // a capital I
    ['rnodern-shop.test', 'modern-shop.test'],
    ['example.com', null],
    ['news.example.com', null],
    ['example.org', null],
    ['gmx.com', null],
    ['mail.com', null],
    ['hotmail.com', null],
    ['sample.com', null],
  ])('%s: %s', (domain, expected) => {
    expect(findResembled(domain, known)).toBe(expected);
  });
});

describe('the names of a mail server', () => {
  const message = (index: number, value: string | null) => ({
    from: [{ name: '', address: `a@s${index % 7}.test` }],
    headers: value === null ? [] : [['Authentication-Results', value] as const],
  });
  const messages = (count: number, value: string | null) =>
    Array.from({ length: count }, (_, index) => message(index, value));

  test('are learned if nearly all messages of several senders agree', () => {
    expect(learnAuthservIds(messages(20, 'mx.own.test; spf=pass'))).toEqual(['mx.own.test']);
    expect(learnAuthservIds([...messages(17, 'mx.own.test; spf=pass'), ...messages(3, null)])).toEqual(['mx.own.test']);
    expect(learnAuthservIds(messages(20, 'spf=pass smtp.mailfrom=a.test'))).toEqual(['']);
  });

  test('are not learned from few messages, few senders, or some of the messages', () => {
    expect(learnAuthservIds(messages(19, 'mx.own.test; spf=pass'))).toEqual([]);
    expect(learnAuthservIds(messages(20, null))).toEqual([]);
    expect(learnAuthservIds([...messages(15, 'mx.own.test; spf=pass'), ...messages(5, null)])).toEqual([]);
    const oneSender = Array.from({ length: 100 }, () => message(0, 'mx.evil.test; spf=pass'));
    expect(learnAuthservIds(oneSender)).toEqual([]);
  });
});

describe('the verdict', () => {
  const result = (text: string, source: AuthenticationResult['source'] = 'checked'): AuthenticationResult => {
    const [method, value, domain = null] = text.split(' ');
    const aligned = domain === 'a.test';
    return { method: method as 'spf', result: value ?? '', domain, aligned, reason: null, source };
  };

  test.each([
    [['dmarc pass a.test'], 'verified'],
    [['dkim pass a.test'], 'verified'],
    [['spf pass a.test'], 'verified'],
    [['dkim pass a.test', 'dmarc fail a.test'], 'failed'],
    [['dkim pass b.test', 'dmarc fail a.test'], 'failed'],
    [['dkim pass b.test', 'dmarc none a.test'], 'unaligned'],
    [['spf pass b.test'], 'unaligned'],
    [['dkim fail a.test'], 'unverified'],
    [['dkim temperror a.test'], 'undetermined'],
    [['dkim temperror a.test', 'dmarc pass a.test'], 'verified'],
    [['dmarc pass b.test'], 'unverified'],
    [[], 'unverified'],
  ])('of %j is %s', (results, expected) => {
    expect(
      decideVerdict(
        results.map((each) => result(each)),
        'a.test',
        false,
      ),
    ).toBe(expected);
  });

  test('ignores headers that anybody could have written', () => {
    expect(decideVerdict([result('dmarc pass a.test', 'message')], 'a.test', false)).toBe('unverified');
    expect(decideVerdict([result('dmarc pass a.test', 'receiver')], 'a.test', false)).toBe('verified');
  });

  test('never confirms a message that does not have exactly one sender', () => {
    expect(decideVerdict([result('dkim pass a.test')], null, true)).toBe('unverified');
  });

  test('of a trusted forwarder only counts with an intact seal', () => {
    const failed = [result('dkim fail a.test'), result('dmarc fail a.test')];
    expect(decideVerdict([...failed, result('arc pass google.com')], 'a.test', true)).toBe('forwarded');
    expect(decideVerdict([...failed, result('arc fail google.com')], 'a.test', true)).toBe('failed');
    expect(decideVerdict([...failed, result('arc pass google.com')], 'a.test', false)).toBe('failed');
  });
});
