import { createTransport } from 'nodemailer';

/** A plain text e-mail to one recipient. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends the server's own e-mails. */
export interface Mailer {
  send(mail: Mail): Promise<void>;
  close(): void;
}

const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };

/**
 * A mailer with one persistent connection.
 *
 * The recipient is passed as an object, so that its text is never parsed as a list of addresses or as headers. Files and
 * URLs are never attached.
 *
 * @param url `smtp://user:password@host:port` or `smtps://…`.
 */
export function smtpMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...timeouts,
  });
  return {
    async send({ to, subject, text }): Promise<void> {
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text });
    },
    close: () => transport.close(),
  };
}
