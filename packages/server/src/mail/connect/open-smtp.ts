import type { Readable } from 'node:stream';
import SMTPConnection, {
  type SMTPConnectionCustomAuthContext,
  type SMTPConnectionSendInfo,
  type SMTPEnvelope,
} from 'nodemailer/lib/smtp-connection';
import { raceAbort } from '../../base/outbound-resolver.ts';
import {
  type ConnectionServices,
  connectLimits,
  normaliseMailHost,
  openSocket,
  verifyTls,
  withinTimeLimit,
} from './guarded-connection.ts';
import type { OpenParts } from './open-imap.ts';
import { withRenewedToken } from './renewed-token.ts';
import type { ServerLogin } from './server-login.ts';

/** The envelope of a message. */
export interface SmtpEnvelope extends SMTPEnvelope {
  /** Whether the headers have bytes beyond ASCII. The library only announces SMTPUTF8 for addresses of the envelope. */
  readonly needsSmtpUtf8?: boolean;
}

/** A connection to an SMTP server that has accepted the sign-in. It sends one message after the other. */
export interface SmtpClient {
  /** What EHLO offered: keywords in capitals with their parameters, such as `SIZE` with `35882577`. */
  readonly extensions: ReadonlyMap<string, string>;
  /** The largest message that the server accepts, in bytes; null where it does not say. */
  readonly maxSize: number | null;
  /** The largest number of recipients of one message (`LIMITS RCPTMAX`); null where the server does not say. */
  readonly maxRecipients: number | null;
  /**
   * Sends one message.
   *
   * @returns the recipients that were accepted and those that were rejected, with the errors.
   * @throws errors of nodemailer, with `responseCode` and `command`, for what refuses the whole message;
   *   {@link toMailServerProblem} gives their words.
   */
  send(envelope: SmtpEnvelope, message: Buffer | Readable): Promise<SMTPConnectionSendInfo>;
  /** Ends a transaction that the server did not accept (RSET), so that another message can be sent. */
  reset(): Promise<void>;
  /** Sends QUIT and closes the connection. */
  close(): void;
  /** Closes the connection at once. A message under way fails. */
  destroy(): void;
}

/**
 * Opens a connection to an SMTP server and signs in. The caller closes it.
 *
 * @throws MailServerProblem if the server cannot be used; the reason of the signal if it is aborted.
 */
export function openSmtp(login: ServerLogin, parts: Omit<OpenParts, 'logger'>): Promise<SmtpClient> {
  return withRenewedToken(login, parts.signal, (current) => connect(current, parts));
}

function connect(
  login: ServerLogin,
  { services, signal: outer }: Pick<OpenParts, 'services' | 'signal'>,
): Promise<SmtpClient> {
  return withinTimeLimit(services, outer, async (signal) => {
    const opened = await openSmtpConnection(login, services, signal);
    try {
      const signingIn = logIn(opened.connection, login, opened.extensions);
      await raceAbort(Promise.race([signingIn, opened.failure]), signal);
      return createSession(opened);
    } catch (error) {
      opened.close();
      throw error;
    }
  });
}

/** A connection to an SMTP server that has replied to EHLO, before the sign-in. */
export interface SmtpConnection {
  readonly connection: SMTPConnection;
  readonly extensions: ReadonlyMap<string, string>;
  /** Rejects when the connection fails; never resolves. */
  readonly failure: Promise<never>;
  /** Closes the connection without QUIT. What waits for a reply fails. */
  close(): void;
}

/** Opens a connection, with TLS if the settings say so, and reads what the server offers. */
export async function openSmtpConnection(
  server: Pick<ServerLogin, 'host' | 'port' | 'security'>,
  services: ConnectionServices,
  signal: AbortSignal,
): Promise<SmtpConnection> {
  const socket = await openSocket(server, services, signal);
  const host = normaliseMailHost(server.host);
  const connection = new SMTPConnection({
    ...{ host, port: server.port, connection: socket },
    secure: server.security === 'tls',
    secured: server.security === 'tls',
    requireTLS: server.security === 'starttls',
    ignoreTLS: server.security === 'none',
    tls: { ...verifyTls(host, services) },
    name: '[127.0.0.1]', // does not reveal the name of this machine
    customAuth: { [oauthMethod]: sendAccessToken },
    connectionTimeout: services.connectMilliseconds,
    greetingTimeout: services.connectMilliseconds,
    maxResponseSize: connectLimits.smtpReplyBytes,
    logger: false,
  });
  const { promise: failure, reject } = Promise.withResolvers<never>();
  failure.catch(() => {}); // may reject when nothing waits for it any more
  connection.on('error', reject);
  const close = (): void => {
    // The library calls no callback when a connection is closed.
    reject(new Error('The connection was closed.'));
    connection.close();
    socket.destroy();
  };
  const connected = new Promise<void>((done) => connection.connect((error) => (error ? reject(error) : done())));
  try {
    await raceAbort(Promise.race([connected, failure]), signal);
  } catch (error) {
    close();
    throw error;
  }
  return { connection, extensions: parseEhlo(connection.lastServerResponse || ''), failure, close };
}

function createSession({ connection, extensions, failure, close }: SmtpConnection): SmtpClient {
  const announced = { needsSmtpUtf8: false };
  announceSmtpUtf8(connection, announced);
  return {
    extensions,
    maxSize: Number(extensions.get('SIZE')) || null,
    maxRecipients: Number(/\bRCPTMAX=(\d+)/i.exec(extensions.get('LIMITS') ?? '')?.[1]) || null,
    send: (envelope, message) => {
      const { promise, resolve, reject } = Promise.withResolvers<SMTPConnectionSendInfo>();
      announced.needsSmtpUtf8 = envelope.needsSmtpUtf8 === true && extensions.has('SMTPUTF8');
      connection.send(envelope, message, (error, info) => {
        if (error) reject(error);
        else if (info) resolve(info);
      });
      return Promise.race([promise, failure]);
    },
    reset: () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      connection.reset((error) => {
        if (error) reject(error);
        else resolve();
      });
      return Promise.race([promise, failure]);
    },
    close: () => connection.quit(),
    destroy: close,
  };
}

/** The method with which the library sends one command. */
interface CommandSender {
  _sendCommand(command: string): void;
}

/** Adds SMTPUTF8 to MAIL where the headers of the message need it (RFC 6531, 3.1) and no address of the envelope does. */
function announceSmtpUtf8(connection: SMTPConnection, announced: { readonly needsSmtpUtf8: boolean }): void {
  const sender = connection as unknown as CommandSender;
  const send = sender._sendCommand.bind(connection);
  sender._sendCommand = (command) => {
    const isMissing = announced.needsSmtpUtf8 && /^MAIL FROM:<[^>]*>(?!.* SMTPUTF8\b)/.test(command);
    send(isMissing ? `${command} SMTPUTF8` : command);
  };
}

/** The keywords of an EHLO reply with their parameters. */
function parseEhlo(reply: string): ReadonlyMap<string, string> {
  const lines = reply.split(/\r?\n/).slice(1);
  const keywords = lines.map((line) => /^250[ -]([\w-]+)[ =]?(.*)$/.exec(line));
  return new Map(keywords.flatMap((match) => (match ? [[(match[1] ?? '').toUpperCase(), match[2] ?? '']] : [])));
}

const oauthMethod = 'OAUTH2';

function logIn(
  connection: SMTPConnection,
  { user, auth }: ServerLogin,
  extensions: ReadonlyMap<string, string>,
): Promise<void> {
  const methods = (extensions.get('AUTH') ?? '').toUpperCase().split(' ');
  const data =
    auth.kind === 'password'
      ? { user, credentials: { user, pass: auth.password } }
      : {
          ...{ user, method: oauthMethod, credentials: { user, pass: auth.accessToken } },
          isBearer: methods.includes('OAUTHBEARER'),
        };
  return new Promise((resolve, reject) =>
    connection.login(data, (error) => {
      if (error) reject(error);
      else resolve();
    }),
  );
}

/** Signs in with an access token: OAUTHBEARER (RFC 7628) where the server offers it, else XOAUTH2. */
async function sendAccessToken({ auth, sendCommand, reject }: SMTPConnectionCustomAuthContext): Promise<void> {
  const { user, pass: token } = auth.credentials;
  const isBearer = auth['isBearer'] === true;
  const first = isBearer ? `n,a=${user.replaceAll('=', '=3D').replaceAll(',', '=2C')},` : `user=${user}`;
  const text = Buffer.from(`${first}\x01auth=Bearer ${token}\x01\x01`).toString('base64');
  const reply = await sendCommand(`AUTH ${isBearer ? 'OAUTHBEARER' : 'XOAUTH2'} ${text}`);
  // A refusal comes as a challenge first, which has to be answered before the server says the reply code.
  const last = reply.status === 334 ? await sendCommand(isBearer ? 'AQ==' : '') : reply;
  if (last.status !== 235) reject(new Error('The access token was refused.'));
}
