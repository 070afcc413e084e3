import { describe, expect, test } from 'vitest';
import { parseMail } from '../../src/mail/parse/parse-mail.ts';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { buildEmail } from '../../src/mail/store/new-email.ts';
import { makeRawMessage } from './corpus.ts';

const latin = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const multipart = (type: string, ...parts: string[]): Uint8Array =>
  makeRawMessage(
    { Subject: 'x', 'Content-Type': `multipart/${type}; boundary=b` },
    `${parts.map((part) => `--b\n${part}\n`).join('')}--b--\n`,
  );
const files = (mail: ParsedMail) =>
  mail.attachments.map(({ filename, contentType, disposition, size }) => [filename, contentType, disposition, size]);

describe('multipart boundaries', () => {
  test('may be followed by white space', async () => {
    const mail = await parseMail(
      makeRawMessage(
        { 'Content-Type': 'multipart/mixed; boundary="b "' },
        'preamble\n--b  \t\nContent-Type: text/html\n\n<p>Padded</p>\n--b \nContent-Type: text/x-log; name=a.log\n\nlog\n--b-- \t \nepilogue',
      ),
    );
    expect([mail.text, mail.bodyState, files(mail)]).toEqual([
      'Padded',
      'complete',
      [['a.log', 'text/x-log', 'attachment', 3]],
    ]);
  });

  test('match lines that only begin with the boundary, if no line equals it', async () => {
    const lines = '--bc\n\ninner\n--bc--\n';
    const headers = { 'Content-Type': 'multipart/mixed; boundary=b' };
    expect((await parseMail(makeRawMessage(headers, `--b\n\n${lines}--b--\n`))).text).toBe('--bc\n\ninner\n--bc--');
    expect((await parseMail(makeRawMessage(headers, lines))).text).toBe('inner');
  });

  test.each([
    ['another boundary in the body', 'multipart/mixed; boundary=other', '--b\n\nHello <b>you</b>\n--b--\n'],
    ['no boundary', 'multipart/alternative', 'Hello <b>you</b>\n'],
  ])('that never occur leave the body as text with a warning: %s', async (_, type, body) => {
    const mail = await parseMail(makeRawMessage({ 'Content-Type': type }, body));
    expect([mail.bodyState, mail.html, mail.text]).toEqual(['raw', null, body.trimEnd()]);
    const around = `--out\nContent-Type: text/html\n\n<i>Hi</i>\n--out\nContent-Type: ${type}\n\n${body}\n--out--`;
    const inner = await parseMail(makeRawMessage({ 'Content-Type': 'multipart/mixed; boundary=out' }, around));
    expect([inner.bodyState, inner.html!.includes('&lt;b&gt;you')]).toEqual(['raw', true]);
  });

  test('without parts give an empty message', async () => {
    const mail = await parseMail(makeRawMessage({ 'Content-Type': 'multipart/mixed; boundary=b' }, '\n \n'));
    expect([mail.bodyState, mail.text]).toEqual(['complete', '']);
  });

  test('separate up to 1000 parts', async () => {
    const mail = await parseMail(multipart('mixed', ...Array.from({ length: 1000 }, () => '\nx')));
    expect([mail.bodyState, mail.text.length]).toEqual(['complete', 1999]);
  });
});

describe('content types', () => {
  test.each([
    ['empty', 'Content-Type: \n\ntext', 'text', []],
    ['without a subtype', 'Content-Type: text\n\ntext', 'text', []],
    ['without a semicolon', 'Content-Type: text/html charset=utf-8\n\n<p>text</p>', 'text', []],
    ['missing', 'X-A: b\n\ntext', 'text', []],
    ['malformed, of a file', 'Content-Type: ; name="a.txt"\n\ntext', '', [['a.txt', 'text/plain', 'attachment', 4]]],
    [
      'malformed, of a file without a known name',
      'Content-Type: a b/c; name=x\n\ntext',
      '',
      [['x', 'application/octet-stream', 'attachment', 4]],
    ],
    ['malformed, of no text', 'Content-Type: ??\n\nte\0xt', '', [[null, 'application/octet-stream', 'attachment', 5]]],
    [
      'missing, of a file',
      'Content-Disposition: attachment; filename=a\n\ntext',
      '',
      [['a', 'application/octet-stream', 'attachment', 4]],
    ],
  ])('a part of the type %s', async (_, part, text, attachments) => {
    const mail = await parseMail(multipart('mixed', part));
    expect([mail.bodyState, mail.text, files(mail)]).toEqual(['complete', text, attachments]);
  });

  test.each([
    ['name="a;b.txt"', 'a;b.txt'],
    ['name=my file.txt; x=y', 'my file.txt'],
    ['x=y name=a.txt', 'a.txt'],
    ['name="C:\\temp\\a.txt"', 'a.txt'],
    ['name="say \\"hi\\".txt"', 'say _hi_.txt'],
    ['name="unclosed.txt', 'unclosed.txt'],
    ["name=old.txt; name*=utf-8''n%C3%A9w.txt", 'néw.txt'],
    ["name*1=b.txt; name*0*=iso-8859-1'en'%E4", 'äb.txt'],
    ['name="=?utf-8?Q?=C3=A4?= b.txt"', 'ä b.txt'],
  ])('the file name in %s', async (parameters, filename) => {
    const mail = await parseMail(multipart('mixed', `Content-Type: application/x-a; ${parameters}\n\nx`));
    expect(mail.attachments[0]!.filename).toBe(filename);
  });
});

describe('text attachments', () => {
  const own = new Set(['shop@example.com']);
  const hasAttachments = (mail: ParsedMail): boolean => {
    const flags = { read: false, starred: false, answered: false, draft: false };
    const incoming = { raw: new Uint8Array(), mailbox: { id: 1, folder: 'inbox' }, receivedAt: null, flags };
    const signs = { keys: [], subjectKey: '', orphan: false, threaded: { from: [], ownAddresses: [] } } as never;
    return buildEmail({ incoming, mail, identity: 'x', threadKeys: signs, receivedAt: 0 }, 1, own).hasAttachments;
  };

  test('that are inline with a name are shown and listed as attachments', async () => {
    const mail = await parseMail(
      multipart(
        'mixed',
        '\nSee the patch',
        'Content-Disposition: inline; filename=fix.patch\nContent-Type: text/plain\n\n+ one',
        'Content-Disposition: inline; filename=page.html\nContent-Type: text/html\n\n<p>two</p>',
      ),
    );
    expect(files(mail)).toEqual([
      ['fix.patch', 'text/plain', 'inline', 5],
      ['page.html', 'text/html', 'inline', 10],
    ]);
    expect([mail.text, hasAttachments(mail)]).toEqual(['See the patch\n+ one\ntwo', true]);
  });

  test('do not include the body of the message, even if it has a file name', async () => {
    const mail = await parseMail(makeRawMessage({ 'Content-Type': 'text/plain; name=body.txt' }, 'Hello'));
    expect([mail.text, mail.attachments, hasAttachments(mail)]).toEqual(['Hello', [], false]);
  });

  test('do not include pictures of the HTML body', async () => {
    const picture = 'Content-Type: image/png; name=a.png\nContent-ID: <p@1>\nContent-Disposition: inline\n\nx';
    const mail = await parseMail(multipart('related', 'Content-Type: text/html\n\n<img src="cid:p@1">', picture));
    expect([mail.attachments.length, hasAttachments(mail)]).toEqual([1, false]);
  });
});

describe('charsets', () => {
  const body = (headers: string, bytes: string): Uint8Array => latin(`${headers}\r\n\r\n${bytes}`);
  test.each([
    ['UTF-8 without a charset', body('Subject: x', 'Gr\xc3\xbc\xc3\x9fe'), 'Grüße'],
    ['Windows-1252 without a charset', body('Subject: x', 'Gr\xfc\xdfe \x93you\x94'), 'Grüße “you”'],
    ['Windows-1252 that says it is UTF-8', body('Content-Type: text/plain; charset=utf-8', 'Gr\xfc\xdfe'), 'Grüße'],
    [
      'UTF-8 with a line that is not',
      body('Content-Type: text/plain; charset=utf-8', 'Gr\xc3\xbc\xc3\x9fe\r\n\xfcber'),
      'Grüße\nüber',
    ],
    ['Windows-1252 that says it is ASCII', body('Content-Type: text/plain; charset=us-ascii', '\x80 5'), '€ 5'],
    ['an unknown charset', body('Content-Type: text/plain; charset=x-unknown', 'Gr\xc3\xbc\xc3\x9fe'), 'Grüße'],
    ['<meta charset>', body('Content-Type: text/html', '<meta charset="koi8-r"><p>\xf0\xd2\xc9\xd7\xc5\xd4'), 'Привет'],
    [
      '<meta http-equiv>',
      body(
        'Content-Type: text/html',
        '<meta http-equiv=Content-Type content="text/html; charset=iso-8859-7"><p>\xea\xe1\xeb',
      ),
      'καλ',
    ],
    ['HZ', body('Content-Type: text/plain; charset=hz-gb-2312', 'This is ~{VPND~}. ~~'), 'This is 中文. ~'],
    ['ISO-2022-KR', body('Content-Type: text/plain; charset=iso-2022-kr', '\x1b$)C\x0eGQ1[\x0f!'), '한글!'],
    ['ISO-2022-JP without a charset', body('Subject: x', '\x1b$BF|K\\\x1b(B\x1b$B8l\x1b(B'), '日本語'],
    [
      'a detector',
      body(
        'Subject: x',
        '\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0? \xdd\xf2\xee \xef\xe8\xf1\xfc\xec\xee.',
      ),
      'Привет, как дела? Это письмо.',
    ],
    ['UTF-7', body('Content-Type: text/plain; charset=utf-7', 'Hi +AOQ-'), 'Hi ä'],
  ])('%s', async (_, message, text) => {
    const mail = await parseMail(message);
    expect([mail.text, mail.bodyState]).toEqual([text, 'complete']);
  });

  test('of a part without a charset are taken from another part', async () => {
    const message = latin(
      'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=gb2312\r\n\r\n\xc4\xe3\xba\xc3\r\n--b\r\n\r\n\xb7\xa2\xc6\xb1\r\n--b--',
    );
    expect((await parseMail(message)).text).toBe('你好\n发票');
  });

  test.each([
    ['of the charset that the body names', 'Content-Type: text/plain; charset=gb2312', '\xb7\xa2\xc6\xb1', '发票'],
    ['of the charset that a part names', 'Content-Type: multipart/mixed; boundary=b', '\xc7\xd1\xb1\xdb', '한글'],
    ['inside an encoded word, decoded once', 'X-A: b', '=?iso-8859-1?Q?Fr\xf6sche_=FC?=', 'Frösche ü'],
    ['inside an encoded word, in UTF-8', 'X-A: b', '=?utf-8?Q?Fr\xc3\xb6sche_=C3=BC?=', 'Frösche ü'],
    ['inside an encoded word of another charset', 'X-A: b', '=?big5?Q?\xb5o\xb2\xbc_=B5o?=', '發票 發'],
  ])('8-bit headers are decoded: %s', async (_, header, subject, expected) => {
    const body = '--b\r\nContent-Type: text/plain; charset=euc-kr\r\n\r\nx\r\n--b--';
    expect((await parseMail(latin(`Subject: ${subject}\r\n${header}\r\n\r\n${body}`))).subject).toBe(expected);
  });

  test.each([
    ['=?iso-2022-jp?B?GyRCRnwbKEI=?= =?iso-2022-jp?B?GyRCS1wbKEI=?=', '日本'],
    ['=?utf-8?B?w7w=?= =?utf-8?B?w58=?= x =?utf-8?Q?y?=', 'üß x y'],
    ['=?utf-8?B?ww==?= =?utf-8?B?vA==?=', 'ü'],
    ['=?utf-8?Q?Really??=', 'Really?'],
    ['=?utf-8*en?Q?=41?=', 'A'],
    ['=?utf-8?Q?=E4?=', 'ä'],
  ])('encoded words are decoded: %s', async (words, subject) => {
    expect((await parseMail(makeRawMessage({ Subject: words }))).subject).toBe(subject);
  });
});

describe('a message inside a message', () => {
  const inner = (body: string, more = ''): string =>
    `Content-Type: message/rfc822\n${more}\nFrom: Ada <ada@b.example>\nDate: Wed, 29 May 2002 17:51:47 +0800\nSubject: Inner <b>one</b>\n\n${body}`;
  const heading = 'From: Ada <ada@b.example>\nDate: Wed, 29 May 2002 17:51:47 +0800\nSubject: Inner <b>one</b>\n';

  test('that is inline is shown with its headers, separated, and listed as an attachment', async () => {
    const mail = await parseMail(
      multipart('mixed', '\nOuter', inner('Words', 'Content-Disposition: inline\n'), '\nFooter'),
    );
    expect(mail.text).toBe(
      `Outer\n\n-------- Embedded message --------\n${heading}\nWords\n----------------------------------------\nFooter`,
    );
    expect([mail.subject, files(mail)]).toEqual(['x', [[null, 'message/rfc822', 'inline', 100]]]);
  });

  test('has its headers as text in the HTML', async () => {
    const html = 'Content-Type: text/html\n\n<p>Outer</p><script>bad()</script>';
    const mail = await parseMail(multipart('mixed', html, inner('Words', 'Content-Disposition: inline\n')));
    expect(mail.html).toContain('Subject: Inner &lt;b&gt;one&lt;/b&gt;');
    expect(mail.html).toMatch(/<p>Outer<\/p>\s*<hr \/><div/);
    expect(mail.html).not.toContain('bad');
  });

  test('in a digest is listed too, and a message inside it belongs to it', async () => {
    const second = inner('Content-Type: x', 'Content-Disposition: inline\n');
    const nested = `From: c@d.example\nContent-Type: multipart/mixed; boundary=c\n\n--c\n${second}\n--c--`;
    const mail = await parseMail(multipart('digest', `\nFrom: a@b.example\nSubject: first\n\nOne`, `\n${nested}`));
    expect(mail.text.match(/From: .*/g)).toEqual([
      'From: a@b.example',
      'From: c@d.example',
      'From: Ada <ada@b.example>',
    ]);
    expect(files(mail).map(([, type]) => type)).toEqual(['message/rfc822', 'message/rfc822']);
  });

  test('is decoded once and not again in its parent', async () => {
    const encoded = (body: string): string =>
      `Content-Type: message/rfc822\nContent-Disposition: inline\nContent-Transfer-Encoding: quoted-printable\n\n${body}`;
    const mail = await parseMail(
      makeRawMessage(`Subject: x\n${encoded(`Subject: one\n${encoded('Subject: two\n\nWords')}`)}`),
    );
    expect([mail.text.match(/Subject: .*/g), files(mail).length]).toEqual([['Subject: one'], 2]);
  });

  test('that is an attachment is not shown', async () => {
    const mail = await parseMail(multipart('mixed', '\nOuter', inner('Words')));
    expect([mail.text, files(mail)]).toEqual(['Outer', [[null, 'message/rfc822', 'attachment', 100]]]);
  });
});

describe('text bodies', () => {
  const flowed = async (text: string, more = ''): Promise<string> =>
    (await parseMail(makeRawMessage({ 'Content-Type': `text/plain; format=flowed${more}` }, text))).text;

  test('format=flowed lines of one quotation depth are joined', async () => {
    expect(await flowed('> last \n> month\n>> deeper \n>> still \n> back\nmine \ngoes on\n')).toBe(
      '> last month\n>> deeper still \n> back\nmine goes on',
    );
    expect(await flowed(' >no quotation\n From here\n>  two spaces\n-- \nAda \nLovelace')).toBe(
      '>no quotation\nFrom here\n>  two spaces\n-- \nAda Lovelace',
    );
    expect(await flowed('日 \n本 \n\nx', '; delsp=yes; charset=utf-8')).toBe('日本\nx');
    expect(await flowed('a \n-- \nb')).toBe('a \n-- \nb');
  });

  test('cells and rows of a table are separated, for the search too', async () => {
    const html =
      '<table><tr><th>Article</th><th>Quantity</th></tr><tr><td>Guitar</td><td>2</td></tr></table><dl><dt>Term</dt><dd>Meaning</dd></dl>Ampli&shy;fier';
    const { text } = await parseMail(makeRawMessage({ 'Content-Type': 'text/html' }, html));
    expect(
      text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean),
    ).toEqual(['Article Quantity', 'Guitar 2', 'Term', 'Meaning', 'Amplifier']);
  });
});

test('the time of the newest Received header with a date is read', async () => {
  const received =
    'Received: from a by b; someday\nReceived: from a\n\tby b (x; y); Wed, 29 May 2002 10:28:03 +0200\nReceived: x; 1 May 2002 00:00:00 +0000';
  const mail = await parseMail(makeRawMessage(received));
  expect([mail.sentAt, mail.tracedAt]).toEqual([null, '2002-05-29T08:28:03.000Z']);
});
