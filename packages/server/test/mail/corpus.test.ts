import PostalMime, { type Address, type Email } from 'postal-mime';
import { afterAll, describe, expect, test } from 'vitest';
import { parseMail } from '../../src/mail/parse/parse-mail.ts';
import { ParsePool } from '../../src/mail/parse/parse-pool.ts';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { corpusFolder, listMessages, readMessage } from './corpus.ts';

const fixtures = listMessages('fixtures');
const ham = listMessages('easy-ham');

describe.skipIf(corpusFolder === null)('mail written by other people', { timeout: 180_000 }, () => {
  const pool = new ParsePool({ threads: 2 });
  afterAll(() => pool.close());

  test('every message is parsed completely', async () => {
    const paths = [...fixtures, ...ham];
    expect(paths.length).toBeGreaterThan(2500);
    const mails = await Promise.all(paths.map((path) => pool.parse(readMessage(path))));
    expect(paths.filter((_, at) => mails[at]!.bodyState !== 'complete')).toEqual([]);
    expect(ham.filter((_, at) => mails[fixtures.length + at]!.sentAt === null)).toEqual([]);
    expect(mails.filter((mail) => mail.snippet.length > 400 || /[\n\r]/.test(mail.snippet))).toEqual([]);
    const texts = mails.flatMap((mail) => [mail.subject, mail.text, mail.html ?? '', ...mail.headers.flat()]);
    expect(texts.filter((text) => text.includes('\0') || !text.isWellFormed())).toEqual([]);
  });

  test('another parser gives the same results, except for the listed differences', async () => {
    const found: Record<string, string[]> = {};
    for (const path of [...fixtures, ...ham.filter((_, at) => at % 10 === 0)]) {
      const message = readMessage(path);
      const fields = different(await parseMail(message), await PostalMime.parse(message));
      if (fields.length > 0) found[path] = fields;
    }
    const listed = Object.entries(differences).flatMap(([, paths]) => Object.entries(paths));
    const expected: Record<string, string[]> = {};
    for (const [path, fields] of listed) expected[path] = [...(expected[path] ?? []), ...fields].sort();
    expect(found).toEqual(expected);
  });
});

/** The differences between the two results, by reason. */
const differences: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'the other gives text attachments with LF and a line end of its own; here are the bytes as they came': {
    'fixtures/attachment_emails/attachment_content_disposition.eml': ['attachments'],
    'fixtures/attachment_emails/attachment_message_rfc822_inline_image.eml': ['attachments'],
    'fixtures/error_emails/content_transfer_encoding_x_uuencode.eml': ['attachments'],
    'fixtures/mime_emails/raw_email11.eml': ['attachments'],
    'fixtures/mime_emails/raw_email_with_binary_encoded.eml': ['attachments'],
    'fixtures/mime_emails/sig_only_email.eml': ['attachments'],
    'easy-ham/0961.eml': ['attachments'],
    'easy-ham/1131.eml': ['attachments'],
    'easy-ham/1181.eml': ['attachments'],
    'easy-ham/1571.eml': ['attachments'],
    'easy-ham/1591.eml': ['attachments'],
  },
  'a message that is attached stays an attachment here; the other takes it apart': {
    'fixtures/attachment_emails/attachment_message_rfc822.eml': ['attachments', 'text'],
  },
  'a report of delivery is text for the reader here, an attachment there': {
    'fixtures/mime_emails/raw_email_with_mimepart_without_content_type.eml': ['attachments', 'text'],
    'fixtures/multipart_report_emails/multi_address_bounce1.eml': ['attachments', 'text'],
    'fixtures/multipart_report_emails/multi_address_bounce2.eml': ['attachments', 'text'],
    'fixtures/multipart_report_emails/multipart_report_multiple_status.eml': ['attachments'],
    'fixtures/multipart_report_emails/report_422.eml': ['attachments', 'text'],
    'fixtures/multipart_report_emails/report_530.eml': ['attachments', 'text'],
  },
  'HTML with a disposition that does not exist is kept as a file here': {
    'fixtures/error_emails/multiple_invalid_content_dispositions.eml': ['attachments'],
  },
  'bytes of Windows-1252 in a header or a body without charset: letters here, marks of a fault there': {
    'fixtures/error_emails/invalid_subject_characters.eml': ['subject'],
    'fixtures/error_emails/content_transfer_encoding_plain.eml': ['text'],
    'fixtures/plain_emails/raw_email10.eml': ['text'],
    'fixtures/plain_emails/raw_email6.eml': ['text'],
    'easy-ham/2301.eml': ['text'],
  },
  'format=flowed: here lines are joined inside quotations too, and quote marks are set off (RFC 3676)': {
    ...Object.fromEntries(
      ['0041', '0151', '0211', '0581', '0651', '0711', '0741', '0891', '1251', '1321', '1561', '1621', '2471'].map(
        (number) => [`easy-ham/${number}.eml`, ['text']],
      ),
    ),
  },
  'what is no address is a name here': {
    'fixtures/error_emails/missing_body.eml': ['to'],
    'fixtures/mime_emails/raw_email11.eml': ['to'],
  },
  'comments inside addresses and routes (obsolete forms of RFC 5322) are left out here': {
    'fixtures/rfc2822/example10.eml': ['from', 'to'],
    'fixtures/rfc2822/example11.eml': ['to'],
    'fixtures/rfc2822/example13.eml': ['from'],
  },
};

function different(mail: ParsedMail, other: Email): string[] {
  const same: Readonly<Record<string, boolean>> = {
    subject: words(mail.subject) === words(other.subject),
    from: addresses(mail.from)[0] === flat(other.from ? [other.from] : [])[0],
    to: addresses(mail.to).join() === flat(other.to ?? []).join(),
    text: other.text === undefined || words(mail.text) === words(other.text),
    attachments: mail.attachments.map(({ size }) => size).join() === other.attachments.map(sizeOf).join(),
  };
  return Object.keys(same)
    .filter((field) => !same[field])
    .sort();
}

const words = (text: string | undefined): string => (text ?? '').replace(/\s+/g, ' ').trim();
const addresses = (list: ParsedMail['to']): string[] =>
  list.map(({ address }) => address.toLowerCase()).filter((address) => address !== '');
const flat = (list: readonly Address[]): string[] =>
  list
    .flatMap((each) => each.group ?? [each])
    .map(({ address }) => (address ?? '').toLowerCase())
    .filter((address) => address !== '');
const sizeOf = ({ content }: Email['attachments'][number]): number =>
  typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength;
