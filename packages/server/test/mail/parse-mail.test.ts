import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanFilename } from '../../src/mail/parse/attachment-name.ts';
import { readAuthentication } from '../../src/mail/parse/authentication.ts';
import { parseAddresses } from '../../src/mail/parse/mail-addresses.ts';
import { parseMailDate } from '../../src/mail/parse/mail-date.ts';
import { limitReferences, parseMessageIds } from '../../src/mail/parse/message-ids.ts';
import { parseMail } from '../../src/mail/parse/parse-mail.ts';
import { sniffType } from '../../src/mail/parse/sniff-type.ts';
import { createSnippet } from '../../src/mail/parse/snippet.ts';
import { makeRawMessage } from './corpus.ts';

const latin = (text: string): Uint8Array => Buffer.from(text, 'latin1');

describe('headers', () => {
  test('are listed in their order, unfolded and decoded', async () => {
    const mail = await parseMail(
      makeRawMessage(
        'Received: a\n\tb\nX-Odd:\nsubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\n =?utf-8?B?IGF1cyBLw7Zsbg==?=\nnot a header\nX-Odd: 2',
        'x',
      ),
    );
    expect(mail.headers).toEqual([
      ['Received', 'a b'],
      ['X-Odd', ''],
      ['subject', 'Grüße aus Köln'],
      ['X-Odd', '2'],
    ]);
    expect(mail.subject).toBe('Grüße aus Köln');
  });

  test.each([
    ['raw UTF-8', Buffer.from('Subject: Grüße 🎉\r\n\r\n'), 'Grüße 🎉'],
    ['raw Windows-1252', latin('Subject: Gr\xfc\xdfe\r\n\r\n'), 'Grüße'],
    ['ISO-2022-JP', latin('Subject: =?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=\r\n\r\n'), '日本'],
    ['a charset that does not exist', latin('Subject: =?x-none?Q?a=41?=\r\n\r\n'), 'aA'],
    ['a malformed encoded word', latin('Subject: =?utf-8?Q?a\r\n\r\n'), '=?utf-8?Q?a'],
    [
      'line breaks and control characters in an encoded word',
      latin('Subject: =?utf-8?Q?a=0D=0ABcc:_x=00?=\r\n\r\n'),
      'a Bcc: x',
    ],
    ['only LF line breaks', latin('Subject: a\n\nb'), 'a'],
    ['a leading mbox separator', latin('From a@b Thu Jan 1 00:00:00 1970\nSubject: a\n\nb'), 'a'],
    ['two leading mbox separators', latin('Subject: first\r\nSubject: second\r\n\r\n'), 'first'],
    ['no headers', latin('\r\nbody'), ''],
    ['an empty message', latin(''), ''],
  ])('%s', async (_, message, subject) => {
    const mail = await parseMail(message);
    expect([mail.subject, mail.bodyState]).toEqual([subject, 'complete']);
  });
});

test.each([
  ['Ada <ada@EXAMPLE.com>', [['Ada', 'ada@example.com']]],
  [
    'ada@example.com, "B, C" <b@c.example>',
    [
      ['', 'ada@example.com'],
      ['B, C', 'b@c.example'],
    ],
  ],
  [
    'Team: Ada <a@b.example>, c@d.example; nobody:;',
    [
      ['Ada', 'a@b.example'],
      ['', 'c@d.example'],
    ],
  ],
  ['=?utf-8?Q?Ad=C3=A1=2C_B?= <a@b.example>', [['Adá, B', 'a@b.example']]],
  ['=?utf-8?Q?a=40b=2Eexample?= <x@y.example>', [['a@b.example', 'x@y.example']]],
  ['=?utf-8?B?YUBiLmV4YW1wbGU=?=', [['a@b.example', '']]],
  ['<=?utf-8?Q?a=40b=2Eexample?=>', [['a@b.example', '']]],
  ['not an address', [['not an address', '']]],
  ['a@b@c.example', [['a@b@c.example', '']]],
  ['"\u202eeda" <a@b.example>', [['eda', 'a@b.example']]],
  ['grüße@tür.example', [['', 'grüße@tür.example']]],
  ['', []],
  ['<>', []],
  [',,;:', []],
])('addresses are read from %j', (written, expected) => {
  expect(parseAddresses([written]).map(({ name, address }) => [name, address])).toEqual(expected);
});

const dates: readonly (readonly [written: string, date: string | null])[] = [
  ['Thu, 22 Aug 2002 18:26:25 +0700', '2002-08-22T11:26:25.000Z'],
  ['22 Aug 02 18:26 EST', '2002-08-22T23:26:00.000Z'],
  ['Thu, 22 Aug 2002 18:26:25 -0700 (PDT) (x)', '2002-08-23T01:26:25.000Z'],
  ['Thu Aug 22 2002', null],
  ['2002-08-22T18:26:25Z', '2002-08-22T18:26:25.000Z'],
  ['31 Feb 2002 10:00:00 +0000', null],
  ['Tue, 30 Mar 2100 10:00:60 +0000', '2100-03-30T10:01:00.000Z'],
  ['Mon, 1 Jan 1969 10:00:00 +0000', null],
  ['Wed,29 May 2002 17:51:47 +0800', '2002-05-29T09:51:47.000Z'],
  ['Wed, 29 May 2002 10:28:3 +0200', '2002-05-29T08:28:03.000Z'],
  ['Wed, 29 May 2002 10:28:03 +02:00', '2002-05-29T08:28:03.000Z'],
  ['29-May-02 1:2 GMT', '2002-05-29T01:02:00.000Z'],
  ['29 May 102 10:28:03 GMT+0200', '2002-05-29T08:28:03.000Z'],
  ['Wed May 29 17:51:47 2002', '2002-05-29T17:51:47.000Z'],
  ['Wed May  9 17:51:47 PDT 2002', '2002-05-10T00:51:47.000Z'],
  ['May 29, 2002 5:51 PM -0700', '2002-05-30T00:51:00.000Z'],
  ['Wed, 29 May 2002 12:30:00 AM CEST', '2002-05-28T22:30:00.000Z'],
  ['(a (nested) one) Wed, 29 May 2002 (x (y) z) 17:51:47 +0800 (unclosed', '2002-05-29T09:51:47.000Z'],
  ['Wednesday, 29 May 2002 17:51:47 K', '2002-05-29T17:51:47.000Z'],
  ['5/6/2002 17:51', null],
  ['29 May 2002 13:00 PM', null],
  ['Wed, 29 May 0102 17:51:47 +0800', null],
  [`${'('.repeat(100_000)}29 May 2002 17:51`, null],
  ['yesterday', null],
  ['', null],
  ['9'.repeat(100_000), null],
];
test.each(dates.map(([written, date]) => [written.slice(0, 80), date, written] as const))(
  'the date %j is read as %j',
  (_, date, written) => {
    expect(parseMailDate(written)).toBe(date);
  },
);

test('message ids are read from text that surrounds them', () => {
  expect(parseMessageIds('<a@b> <c@d>\t<a@b>')).toEqual(['a@b', 'c@d']);
  expect(parseMessageIds('Message from Ada of "Monday" <a@b>')).toEqual(['a@b']);
  expect(parseMessageIds('a@b, c@d')).toEqual(['a@b', 'c@d']);
  expect(parseMessageIds('Your message of Monday')).toEqual([]);
  expect(parseMessageIds('<a @ b>')).toEqual(['a@b']);
  expect(parseMessageIds('<'.repeat(100_000))).toEqual([]);
  const many = Array.from({ length: 5000 }, (_, at) => `${at}@x`);
  expect(limitReferences(many)).toEqual(['0@x', ...many.slice(-99)]);
});

test.each([
  ['../../etc/passwd', 'passwd'],
  ['C:\\Temp\\a.txt', 'a.txt'],
  ['invoice\u202efdp.exe', 'invoicefdp.exe'],
  ['a\r\nb\0.txt', 'a b .txt'],
  ['CON', '_CON'],
  ['nul.txt', '_nul.txt'],
  ['..', null],
  [' . ', null],
  ['', null],
  ['.htaccess', 'htaccess'],
  ['a<b>:"c"|?*.txt', 'a_b___c____.txt'],
  ['e\u0301.txt', 'é.txt'],
])('the file name %j becomes %j', (written, kept) => {
  expect(cleanFilename(written)).toBe(kept);
});

test('every file name can be stored', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (written) => {
      const name = cleanFilename(written);
      if (name === null) return;
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
      expect(name).not.toMatch(/[/\\\p{Cc}\u202a-\u202e\u2066-\u2069]|^\.|\.$|^\s|\s$/u);
      expect(name.isWellFormed()).toBe(true);
    }),
  );
  expect(cleanFilename(`${'ä'.repeat(300)}.pdf`)).toBe(`${'ä'.repeat(125)}.pdf`);
});

test.each([
  ['png', '\x89PNG\r\n\x1a\n', 'image/png'],
  ['jpeg', '\xff\xd8\xff\xe0', 'image/jpeg'],
  ['gif', 'GIF89a', 'image/gif'],
  ['webp', 'RIFF\x00\x00\x00\x00WEBP', 'image/webp'],
  ['pdf', '%PDF-1.7', 'application/pdf'],
  ['text', 'Hello\r\nyou\t!', 'text/plain'],
  ['html', '  <!doctype html><script>', null],
  ['svg', '<svg xmlns="x">', null],
  ['a program', 'MZ\x90\x00', null],
  ['nothing', '', null],
])('the file type is detected from the decoded bytes of %s', (_, bytes, type) => {
  expect(sniffType(latin(bytes))).toBe(type);
});

test('a snippet leaves out quotations and signatures if there is other text', () => {
  expect(createSnippet('Yes,\nlet us do that.\n\nOn Monday, Ada wrote:\n> Shall we?\n\n-- \nBob\nTel. 1')).toBe(
    'Yes, let us do that.',
  );
  expect(createSnippet('> all\n> quoted')).toBe('> all > quoted');
  expect(createSnippet('Am Montag schrieb Ada:\n> a\n\nJa.')).toBe('Ja.');
  expect(createSnippet('Hi\n-----Original Message-----\nFrom: x')).toBe('Hi');
  expect([...createSnippet('😀'.repeat(500))].length).toBe(200);
  expect(createSnippet('a'.repeat(5_000_000)).length).toBe(200);
  expect(createSnippet('')).toBe('');
});

describe('bodies', () => {
  test('HTML without plain text gives text and snippet', async () => {
    const html =
      '<style>p{color:red}</style><h1>Title</h1><p>One <a href="https://a.example">link</a></p><script>no</script>';
    const mail = await parseMail(makeRawMessage({ Subject: 'a', 'Content-Type': 'text/html; charset=utf-8' }, html));
    expect(mail.text).toBe('Title\n\nOne link');
    expect([mail.snippet, mail.bodyState]).toEqual(['Title One link', 'complete']);
    expect(mail.html).toContain('<h1>Title</h1>');
  });

  test('plain text next to HTML, such as a list footer, is added to both text and HTML', async () => {
    const mail = await parseMail(
      makeRawMessage(
        { 'Content-Type': 'multipart/mixed; boundary=b' },
        '--b\nContent-Type: text/html\n\n<p>Hello</p>\n--b\nContent-Type: text/plain\n\nFooter <x>\n--b--\n',
      ),
    );
    expect(mail.html).toContain('<p>Hello</p>');
    expect(mail.html).toContain('Footer &lt;x&gt;');
    expect(mail.text).toBe('Hello\nFooter <x>');
  });

  test('plain text as an alternative to HTML is only used as the text', async () => {
    const mail = await parseMail(
      makeRawMessage(
        { 'Content-Type': 'multipart/alternative; boundary=b' },
        '--b\n\nHello plain\n--b\nContent-Type: text/html\n\n<p>Hello</p>\n--b--\n',
      ),
    );
    expect([mail.text, mail.html]).toEqual(['Hello plain', '<p>Hello</p>']);
  });

  test('file names are read in RFC 2231 and RFC 2047, and inline pictures with their ids', async () => {
    const mail = await parseMail(
      makeRawMessage(
        { 'Content-Type': 'multipart/related; boundary=b' },
        `--b\nContent-Type: text/html\n\n<img src="cid:p%401">\n--b
Content-Type: image/png\nContent-ID: <p@1>\nContent-Disposition: inline;\n filename*0*=utf-8''Gr%C3%BC;\n filename*1*=%C3%9Fe.png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b
Content-Type: application/octet-stream; name="=?utf-8?Q?=C3=A4.pdf?="\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nJVBERi0xLjQ=\n--b--\n`,
      ),
    );
    const shown = mail.attachments.map(({ bytes, sha256, ...rest }) => rest);
    expect(shown).toEqual([
      {
        filename: 'Grüße.png',
        contentType: 'image/png',
        sniffedType: 'image/png',
        size: 8,
        disposition: 'inline',
        contentId: 'p@1',
      },
      {
        filename: 'ä.pdf',
        contentType: 'application/pdf',
        sniffedType: 'application/pdf',
        size: 8,
        disposition: 'attachment',
        contentId: null,
      },
    ]);
    expect(mail.attachments[1]!.sha256).toBe(createHash('sha256').update('%PDF-1.4').digest('hex'));
    expect(mail.html).toBe('<img data-cid="p@1" />');
  });
});

describe('limits of a message', () => {
  const multipart = (depth: number): string =>
    Array.from({ length: depth }, (_, at) => `Content-Type: multipart/mixed; boundary="b${at}"\n\n--b${at}\n`).join('');

  test.each([
    [
      'headers of 300 KB',
      `Subject: still here\n${'X-A: b\n'.repeat(43_000)}\nbody`,
      'Its headers are longer than 256 KB.',
    ],
    [
      'one header of 300 KB',
      `Subject: still here\nX-A: ${'b'.repeat(300_000)}\n\nbody`,
      'Its headers are longer than 256 KB.',
    ],
    [
      '1,100 parts',
      `Subject: still here\nContent-Type: multipart/mixed; boundary=b\n\n${'--b\n\nx\n'.repeat(1100)}--b--`,
      'It has more than 1000 parts.',
    ],
    ['70 nested multiparts', `Subject: still here\n${multipart(70)}`, 'Its parts are nested more than 64 levels deep.'],
    [
      '300 nested messages',
      `Subject: still here\n${'Content-Type: message/rfc822\nContent-Disposition: inline\n\n'.repeat(300)}x`,
      'Its parts are nested more than 64 levels deep.',
    ],
  ])('%s: the message is stored with its envelope and the reason', async (_, message, why) => {
    const mail = await parseMail(makeRawMessage(message));
    expect([mail.bodyState, mail.subject, mail.html, mail.attachments.length]).toEqual([
      'unparsable',
      'still here',
      null,
      0,
    ]);
    expect(mail.text).toBe(`This message could not be read. ${why}`);
  });

  test('missing, empty, repeated and overlapping boundaries are read', async () => {
    const bodies = [
      'boundary=',
      'boundary=""',
      'x=y',
      'boundary="a"; boundary="b"',
      `boundary="${'a'.repeat(5000)}"`,
      'boundary="a\u0000"',
      'boundary=" "',
    ];
    for (const parameter of bodies) {
      const mail = await parseMail(
        makeRawMessage(
          { Subject: 'a', 'Content-Type': `multipart/mixed; ${parameter}` },
          '--a\n\nb\n--ab\n\nc\n--a--\n--\n\n----\n',
        ),
      );
      expect([parameter, mail.subject, mail.text.includes('b\n--ab\n')]).toEqual([parameter, 'a', true]);
      // If no boundary matches, the body is shown as raw text.
      const fits = /"a[\0"]/.test(parameter);
      expect([parameter, mail.bodyState]).toEqual([parameter, fits ? 'complete' : 'raw']);
    }
  });

  test('a body with an unknown encoding or charset, or a truncated body, is read', async () => {
    for (const headers of [
      { 'Content-Type': 'text/plain; charset=x-none' },
      { 'Content-Type': 'text/plain; charset=' },
      { 'Content-Transfer-Encoding': 'x-none' },
      { 'Content-Transfer-Encoding': 'base64', 'Content-Type': 'text/plain' },
      { 'Content-Type': '/' },
      { 'Content-Type': ';;;=' },
    ]) {
      const mail = await parseMail(makeRawMessage({ Subject: 'a', ...headers }, '\0%%%=ZZ=\n'));
      expect([mail.subject, mail.bodyState, mail.text.includes('\0')]).toEqual(['a', 'complete', false]);
    }
  });

  test('texts over the limit are truncated with a warning', async () => {
    const mail = await parseMail(makeRawMessage({ Subject: 'a' }, 'word '.repeat(500_000)));
    expect([mail.bodyState, mail.text.length]).toEqual(['truncated', 2 * 1024 * 1024]);
  });

  test('random bytes give a message that can be stored', async () => {
    const pieces = fc.constantFrom(
      'From: ',
      'To: a:b;,',
      '<>',
      '\r\n',
      '\n\n',
      'Content-Type: ',
      'multipart/mixed; boundary=',
      'b',
      '--b',
      '=?utf-8?B?',
      '?=',
      ';',
      '"',
      '(',
      'charset=utf-16',
      'text/html',
      '\0',
      '\xff',
      'base64',
    );
    const message = fc.oneof(
      fc.uint8Array({ maxLength: 500 }),
      fc.array(pieces, { maxLength: 60 }).map((all) => new Uint8Array(latin(all.join('')))),
    );
    await fc.assert(
      fc.asyncProperty(message, async (bytes) => {
        const mail = await parseMail(bytes);
        expect(['complete', 'raw', 'unparsable']).toContain(mail.bodyState);
        const texts = [
          mail.subject,
          mail.text,
          mail.html ?? '',
          mail.snippet,
          ...mail.headers.flat(),
          mail.messageId ?? '',
        ];
        expect(texts.every((text) => text.isWellFormed() && !text.includes('\0'))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('warnings', () => {
  const warned = async (headers: Record<string, string>, body = ''): Promise<readonly string[]> =>
    (await parseMail(makeRawMessage(headers, body))).warnings;

  test.each([
    ['"ada@bank.example.com" <x@evil.test>', ['senderNameShowsOtherAddress']],
    ['"ada＠bank.test" <x@evil.test>', ['senderNameShowsOtherAddress']],
    ['"ada@mail.bank.test" <x@bank.test>', []],
    ['Ada <x@аррӏе.test>', []],
    ['Ada <x@раура.test>', ['senderDomainLooksAlike']],
    ['Ada <x@pаypal.test>', ['senderDomainLooksAlike']],
    ['Ada <x@xn--pypal-4ve.test>', ['senderDomainLooksAlike']],
    ['Ada <x@bücher.test>', []],
    ['Ada <x@почта.рф>', []],
    ['Ada <x@日本.test>', []],
  ])('for the sender: %s', async (from, expected) => {
    expect(await warned({ From: from })).toEqual(expected);
  });

  test('for replies that go elsewhere, except for lists', async () => {
    const headers = { From: 'a@b.test', 'Reply-To': 'x@evil.test' };
    expect(await warned(headers)).toEqual(['replyGoesElsewhere']);
    expect(await warned({ ...headers, 'List-Id': '<l.b.test>' })).toEqual([]);
    expect(await warned({ From: 'a@b.test', 'Reply-To': 'x@mail.b.test' })).toEqual([]);
  });

  test('for links', async () => {
    const body = '<a href="https://evil.test">www.bank.test</a>';
    expect(await warned({ 'Content-Type': 'text/html' }, body)).toEqual(['linkShowsOtherDomain']);
  });

  test('for the topmost result of the receiving server, without comments', async () => {
    const results =
      'Authentication-Results: mx.b.test; spf=softfail smtp.mailfrom=x (dkim=pass); dkim=fail reason="x"; dkim=pass; dmarc=fail';
    const mail = await parseMail(
      makeRawMessage(`${results}\nAuthentication-Results: evil; spf=pass; dmarc=pass\nFrom: a@b.test`),
    );
    expect(mail.authentication).toEqual({
      authservId: 'mx.b.test',
      results: [
        { method: 'spf', result: 'softfail', domain: 'x' },
        { method: 'dkim', result: 'fail', domain: null },
        { method: 'dkim', result: 'pass', domain: null },
        { method: 'dmarc', result: 'fail', domain: null },
      ],
    });
    expect(mail.warnings).toEqual(['spfFailed', 'dmarcFailed']);
    expect(readAuthentication([])).toBeNull();
    expect(readAuthentication(['mx.b.test; none'])).toBeNull();
    expect(readAuthentication(['(spf=pass) x; spf=madeup'])).toBeNull();
  });
});
