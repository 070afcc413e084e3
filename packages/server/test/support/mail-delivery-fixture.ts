import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { upload } from './mail-account-server.ts';
import { MovingClock } from './moving-clock.ts';
import { makeRawMail } from './raw-mail.ts';
import { TestServer } from './scenario.ts';
import { type SmtpRelay, type SmtpRelayOptions, startSmtpRelay } from './smtp-relay.ts';

export const relayUser = { user: 'shop', password: 'secret' } as const;

/** A server with a clock that a test moves, an account of the admin, and the SMTP server of that account. */
export class DeliveryFixture {
  readonly server: TestServer;
  readonly relay: SmtpRelay;
  readonly clock: MovingClock;

  private constructor(server: TestServer, relay: SmtpRelay, clock: MovingClock) {
    this.server = server;
    this.relay = relay;
    this.clock = clock;
  }

  static async open(
    engine: Engine,
    options: SmtpRelayOptions = {},
    settings: Readonly<Record<string, string>> = {},
  ): Promise<DeliveryFixture> {
    const relay = await startSmtpRelay({
      users: { [relayUser.user]: relayUser.password },
      ...options,
    });
    const clock = new MovingClock();
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-delivery-'));
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, relay.certificate.ca);
    const env = { MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1', MAIL_CA_FILE: caFile, ...settings };
    const server = await TestServer.start(engine, { env, clock });
    rmSync(folder, { recursive: true });
    const fixture = new DeliveryFixture(server, relay, clock);
    await fixture.addAccount('shop@example.com');
    return fixture;
  }

  /** @returns the id of a new account that sends by the relay. */
  async addAccount(address: string, more: object = {}): Promise<number> {
    const smtp = { host: '127.0.0.1', port: this.relay.port, security: 'starttls', user: relayUser.user };
    const body = { name: 'Shop', address, smtp, smtpPassword: relayUser.password, ...more };
    return (await this.server.data('POST /api/accounts:create', { body })).id as number;
  }

  /** Sends a message from the first account. @returns its id. */
  async send(body: object): Promise<number> {
    const whole = { account: 1, to: 'cora@example.net', subject: 'Order', text: 'Dear Cora,', ...body };
    return (await this.server.data('POST /api/emails:send', { body: whole })).id as number;
  }

  /** Moves the clock, and runs the worker. */
  advance(milliseconds: number): void {
    this.clock.advance(milliseconds);
    this.server.running.applications.main.mail.delivery.wake();
  }

  /** The e-mail as a get shows it. */
  get(id: number): Promise<Json> {
    return this.server.data(`GET /api/emails/${id}`);
  }

  /** Waits until the outcome of an e-mail is one of these. @returns the e-mail. */
  async until(id: number, ...statuses: readonly string[]): Promise<Json> {
    for (let attempt = 0; ; attempt += 1) {
      const email = await this.get(id);
      if (statuses.includes(email.deliveryStatus)) return email;
      if (attempt === 200)
        throw new Error(`The delivery is ${email.deliveryStatus}: ${JSON.stringify(email.delivery)}`);
      await pause(25);
    }
  }

  /** Sends a message and waits for the outcome of the first attempt. */
  async deliver(body: object, ...statuses: readonly string[]): Promise<Json> {
    const id = await this.send(body);
    this.advance(10_000);
    return this.until(id, ...statuses);
  }

  /** Waits until an e-mail is in a folder. */
  async untilFolder(id: number, folder: string): Promise<void> {
    for (let attempt = 0; (await this.get(id)).folder !== folder; attempt += 1) {
      if (attempt === 200) throw new Error(`The e-mail is not in ${folder}.`);
      await pause(25);
    }
  }

  /** Stores a message in the inbox of the first account. */
  async receive(mail: Parameters<typeof makeRawMail>[0]): Promise<void> {
    await upload(this.server, 'admin', 1, makeRawMail(mail));
  }

  /** Stores a delivery report about a sent message (RFC 3464). */
  async receiveReport(
    messageId: string,
    recipients: readonly { recipient: string; action: string; status: string; diagnostic?: string }[],
  ): Promise<void> {
    const groups = recipients.map(
      ({ recipient, action, status, diagnostic }) =>
        `Final-Recipient: rfc822; ${recipient}\r\nAction: ${action}\r\nStatus: ${status}\r\n${diagnostic ? `Diagnostic-Code: smtp;\r\n ${diagnostic}\r\n` : ''}`,
    );
    await this.#receiveParts('delivery-status', messageId, [
      ['message/delivery-status', ['Reporting-MTA: dns; mx.example.net\r\n', ...groups].join('\r\n')],
      ['text/rfc822-headers', `Subject: Order\r\nMessage-ID: <${messageId}>\r\n`],
    ]);
  }

  /** Stores a read receipt about a sent message (RFC 8098). */
  async receiveReceipt(messageId: string, recipient: string): Promise<void> {
    const fields = `Final-Recipient: rfc822;${recipient}\r\nOriginal-Message-ID: <${messageId}>\r\nDisposition: manual-action/MDN-sent-manually; displayed\r\n`;
    await this.#receiveParts('disposition-notification', messageId, [['message/disposition-notification', fields]]);
  }

  async #receiveParts(type: string, id: string, parts: readonly (readonly [string, string])[]): Promise<void> {
    const all = [['text/plain', 'A report.'] as const, ...parts];
    const body = all.map(([each, text]) => `--b\r\nContent-Type: ${each}\r\n\r\n${text}\r\n`).join('');
    const head = `From: postmaster@example.net\r\nTo: shop@example.com\r\nSubject: Report\r\nMessage-ID: <report.${type}.${id}>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=${type}; boundary=b\r\n\r\n`;
    await upload(this.server, 'admin', 1, `${head}${body}--b--\r\n`);
  }

  /** Addresses and outcomes of an e-mail. */
  static outcomes(email: Json): Record<string, string> {
    return Object.fromEntries(
      email.delivery.recipients.map(({ address, status }: Json) => [address as string, status as string]),
    );
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await this.relay.stop();
  }
}
