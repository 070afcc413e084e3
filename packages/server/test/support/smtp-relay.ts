import type { AddressInfo } from 'node:net';
import { createTransport } from 'nodemailer';
import {
  SMTPServer,
  type SMTPServerAuthentication,
  type SMTPServerDataStream,
  type SMTPServerSession,
} from 'smtp-server';
import { getSharedCertificate, type MailCertificate } from './mail-certificate.ts';

/** The step at which a fault may occur. `address` is the recipient, and the sender in `mail` and `data`. */
export interface RelayStep {
  readonly step: 'connect' | 'auth' | 'mail' | 'rcpt' | 'data';
  readonly address: string;
}

/**
 * A fault of the relay: a reply that is sent as it is, or a dropped connection without a reply; at `data`,
 * `isDelivered` says whether the
 * message was delivered before.
 */
export type RelayFault =
  | { readonly code: number; readonly message: string }
  | { readonly drop: true; readonly isDelivered?: boolean };

/** A message that the relay has accepted. */
export interface RelayedMessage {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: Buffer;
  /** The user who has signed in. */
  readonly user: string;
  readonly isUtf8: boolean;
  readonly body: string | undefined;
}

export interface SmtpRelayOptions {
  /** The LMTP port of Dovecot, which gets all messages to example.test; without it, messages are only recorded. */
  readonly lmtpPort?: number;
  /** The password, or the access token for XOAUTH2, by user name. */
  readonly users?: Readonly<Record<string, string>>;
  readonly certificate?: MailCertificate;
  /** The maximum size of a message in bytes, announced with SIZE; unlimited by default. */
  readonly size?: number;
  readonly maxRecipients?: number;
  readonly authMethods?: readonly string[];
  /** EHLO keywords that are not offered. */
  readonly hidden?: readonly ('STARTTLS' | '8BITMIME' | 'SMTPUTF8')[];
  /** True: signing in is allowed without TLS. */
  readonly allowsPlaintext?: boolean;
}

/** An SMTP submission server on loopback with faults that a test chooses. */
export interface SmtpRelay {
  /** The port with STARTTLS, like port 587 of a real server. */
  readonly port: number;
  /** The port with TLS from the beginning, like port 465 of a real server. */
  readonly tlsPort: number;
  readonly certificate: MailCertificate;
  /** Every message that was accepted, also if the connection was dropped afterwards. */
  readonly received: readonly RelayedMessage[];
  /** Called at each step; null lets the step succeed. A test can replace it. */
  fault: (step: RelayStep) => RelayFault | null;
  /** Waits until `count` messages have been accepted. */
  waitForMessages(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a relay on free ports of 127.0.0.1. */
export async function startSmtpRelay(options: SmtpRelayOptions = {}): Promise<SmtpRelay> {
  const certificate = options.certificate ?? getSharedCertificate();
  const received: RelayedMessage[] = [];
  const state: { relay: SmtpRelay | null } = { relay: null };
  const handlers = new RelayHandlers(options, received, (step) => state.relay?.fault(step) ?? null);
  const servers = [handlers.createServer(certificate, false), handlers.createServer(certificate, true)] as const;
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const [port, tlsPort] = servers.map(({ server }) => (server.address() as AddressInfo).port) as [number, number];
  const relay: SmtpRelay = {
    ...{ port, tlsPort, certificate, received },
    fault: () => null,
    waitForMessages: async (count) => {
      for (let attempt = 0; received.length < count; attempt += 1) {
        if (attempt === 400) throw new Error(`${received.length} messages were accepted, expected ${count}.`);
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },
    stop: async () => {
      for (const server of servers) await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  state.relay = relay;
  return relay;
}

type Done = (error?: Error | null) => void;

/** The callbacks of both listeners. */
class RelayHandlers {
  readonly #options: SmtpRelayOptions;
  readonly #received: RelayedMessage[];
  readonly #fault: SmtpRelay['fault'];

  constructor(options: SmtpRelayOptions, received: RelayedMessage[], fault: SmtpRelay['fault']) {
    this.#options = options;
    this.#received = received;
    this.#fault = fault;
  }

  createServer({ key, cert }: MailCertificate, isSecure: boolean): SMTPServer {
    const { size, maxRecipients, authMethods = ['PLAIN', 'LOGIN', 'XOAUTH2'], hidden = [] } = this.#options;
    const server: SMTPServer = new SMTPServer({
      ...{ key, cert, secure: isSecure, authMethods: [...authMethods], closeTimeout: 50 },
      ...(size !== undefined && { size, rejectOversized: true }),
      ...(maxRecipients !== undefined && { maxRecipients }),
      disableReverseLookup: true,
      hideENHANCEDSTATUSCODES: false,
      disabledCommands: hidden.includes('STARTTLS') ? ['STARTTLS'] : [],
      hide8BITMIME: hidden.includes('8BITMIME'),
      hideSMTPUTF8: hidden.includes('SMTPUTF8'),
      allowInsecureAuth: this.#options.allowsPlaintext === true,
      onConnect: (session, done) => this.#step(server, { step: 'connect', address: '' }, session, done),
      onAuth: (login, session, done) =>
        this.#step(server, { step: 'auth', address: login.username ?? '' }, session, (error) => {
          if (error) done(error);
          else this.#authenticate(login, done);
        }),
      onMailFrom: ({ address }, session, done) => this.#step(server, { step: 'mail', address }, session, done),
      onRcptTo: ({ address }, session, done) => this.#step(server, { step: 'rcpt', address }, session, done),
      onData: (stream, session, done) => void this.#accept(server, stream, session, done),
    });
    server.on('error', () => {}); // connections that clients or faults have cut
    return server;
  }

  #step(server: SMTPServer, step: RelayStep, session: SMTPServerSession, done: Done): void {
    const fault = this.#fault(step);
    if (fault && 'drop' in fault) dropConnection(server, session);
    else done(fault && toError(fault));
  }

  #authenticate(
    { username = '', password, accessToken, method }: SMTPServerAuthentication,
    done: (error: Error | null, response?: { user?: string; data?: object }) => void,
  ): void {
    const secret = this.#options.users?.[username];
    if (secret !== undefined && (secret === password || secret === accessToken)) done(null, { user: username });
    else if (method === 'XOAUTH2') done(null, { data: { status: '401', schemes: 'bearer', scope: 'mail' } });
    else done(toError({ code: 535, message: '5.7.8 Username and Password not accepted' }));
  }

  async #accept(
    server: SMTPServer,
    stream: SMTPServerDataStream,
    session: SMTPServerSession,
    done: Done,
  ): Promise<void> {
    const { mailFrom, rcptTo, smtpUtf8 = false, bodyType } = session.envelope;
    const from = mailFrom ? mailFrom.address : '';
    const chunks: Buffer[] | null = await stream.toArray().catch(() => null);
    if (chunks === null) return; // the client has closed the connection before the end of the message
    const raw = Buffer.concat(chunks);
    const fault = this.#fault({ step: 'data', address: from });
    const isAccepted = fault === null || ('drop' in fault && fault.isDelivered === true);
    if (isAccepted && !stream.sizeExceeded) {
      const to = rcptTo.map(({ address }) => address);
      const problem = await this.#deliver(from, to, raw);
      if (problem) return done(problem);
      this.#received.push({ from, to, raw, user: String(session.user), isUtf8: smtpUtf8, body: bodyType });
    }
    if (fault && 'drop' in fault) dropConnection(server, session);
    else done(fault && toError(fault));
  }

  /** Hands a message to Dovecot. @returns the error that the sender receives; null after success. */
  async #deliver(from: string, to: readonly string[], raw: Buffer): Promise<Error | null> {
    const { lmtpPort } = this.#options;
    const local = to.filter((address) => address.endsWith('@example.test'));
    if (lmtpPort === undefined || local.length === 0) return null;
    const lmtp = createTransport({ host: '127.0.0.1', port: lmtpPort, lmtp: true, ignoreTLS: true });
    try {
      await lmtp.sendMail({ envelope: { from, to: local }, raw });
      return null;
    } catch (error) {
      return toError({ code: 451, message: `4.3.0 ${(error as Error).message}` });
    } finally {
      lmtp.close();
    }
  }
}

function toError({ code, message }: { readonly code: number; readonly message: string }): Error {
  return Object.assign(new Error(message), { responseCode: code });
}

function dropConnection(server: SMTPServer, { id }: SMTPServerSession): void {
  for (const connection of server.connections) if (connection.id === id) connection._socket.destroy();
}
