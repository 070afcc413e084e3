export interface RawMail {
  readonly subject?: string;
  readonly from?: string;
  readonly to?: string;
  readonly cc?: string;
  /** The Message-ID without angle brackets. */
  readonly id?: string;
  readonly inReplyTo?: string;
  readonly references?: readonly string[];
  readonly date?: string;
  readonly text?: string;
  readonly html?: string;
  readonly headers?: readonly string[];
  readonly attachments?: readonly { readonly name: string; readonly type: string; readonly content: string | Buffer }[];
}

const boundary = 'part-of-the-test';

/** A raw message with CRLF line ends. */
export function makeRawMail(mail: RawMail): string {
  const { from = 'Ann <ann@example.net>', to = 'shop@example.com', subject = '', date } = mail;
  const lines = [
    `From: ${from}`,
    `To: ${to}`,
    ...(mail.cc ? [`Cc: ${mail.cc}`] : []),
    `Subject: ${subject}`,
    `Date: ${date ?? 'Fri, 20 Nov 2026 10:00:00 +0000'}`,
    ...(mail.id ? [`Message-ID: <${mail.id}>`] : []),
    ...(mail.inReplyTo ? [`In-Reply-To: <${mail.inReplyTo}>`] : []),
    ...(mail.references?.length ? [`References: ${mail.references.map((each) => `<${each}>`).join(' ')}`] : []),
    ...(mail.headers ?? []),
    'MIME-Version: 1.0',
    ...bodyOf(mail),
  ];
  return lines.join('\r\n');
}

function bodyOf({ text = 'Hello.', html, attachments = [] }: RawMail): string[] {
  const body =
    html === undefined
      ? ['Content-Type: text/plain; charset=utf-8', '', text]
      : ['Content-Type: text/html; charset=utf-8', '', html];
  if (attachments.length === 0) return body;
  return [
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    ...body,
    ...attachments.flatMap(({ name, type, content }) => [
      `--${boundary}`,
      `Content-Type: ${type}; name="${name}"`,
      `Content-Disposition: attachment; filename="${name}"`,
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.from(content).toString('base64'),
    ]),
    `--${boundary}--`,
  ];
}
