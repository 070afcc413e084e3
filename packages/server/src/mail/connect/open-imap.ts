import type { ImapFlow, ImapFlowOptions } from 'imapflow';
import type { Logger } from '../../base/logger.ts';
import { raceAbort } from '../../base/outbound-resolver.ts';
import {
  type ConnectionServices,
  connectLimits,
  normaliseMailHost,
  pinHost,
  verifyTls,
  withinTimeLimit,
} from './guarded-connection.ts';
import { withRenewedToken } from './renewed-token.ts';
import type { ServerLogin } from './server-login.ts';

/** How a connection behaves after it is open. */
export type ImapSessionOptions = Pick<
  ImapFlowOptions,
  | 'qresync'
  | 'disableAutoIdle'
  | 'autoIdleDelay'
  | 'maxIdleTime'
  | 'missingIdleCommand'
  | 'expungeHandler'
  | 'disableAutoEnable'
  | 'socketTimeout'
>;

export interface OpenParts {
  readonly services: ConnectionServices;
  readonly logger: Logger;
  /** Gives up; later it does not close the connection. */
  readonly signal?: AbortSignal;
}

/**
 * Opens a connection to an IMAP server and signs in. The caller closes it.
 *
 * The name is resolved once; the connection goes to the checked address, and the certificate is verified for the name.
 * An error of the connection after this is emitted by the client as `error`; it is logged without its text.
 *
 * @throws MailServerProblem if the server cannot be used; the reason of the signal if it is aborted.
 */
export function openImap(login: ServerLogin, parts: OpenParts, session: ImapSessionOptions = {}): Promise<ImapFlow> {
  return withRenewedToken(login, parts.signal, (current) => connect(current, parts, session));
}

function connect(
  login: ServerLogin,
  { services, logger, signal: outer }: OpenParts,
  session: ImapSessionOptions,
): Promise<ImapFlow> {
  return withinTimeLimit(services, outer, async (signal) => {
    const lookup = await pinHost(login, services, signal);
    const { ImapFlow } = await loadImapLibrary();
    const client = new ImapFlow(createImapOptions(login, services, lookup, session));
    // Without a listener, an error of the connection would end the process.
    client.on('error', (error: { code?: unknown }) =>
      logger.debug({ host: login.host, code: error.code }, 'A connection to an IMAP server failed.'),
    );
    try {
      await raceAbort(client.connect(), signal);
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  });
}

/** Loads the IMAP library when it is first needed: a server without connected accounts does not spend memory on it. */
export function loadImapLibrary(): Promise<typeof import('imapflow')> {
  return import('imapflow');
}

/** The options of a client; without `lookup` it would resolve the name itself. */
export function createImapOptions(
  { host: given, port, security, user, auth }: ServerLogin,
  services: ConnectionServices,
  lookup: Awaited<ReturnType<typeof pinHost>>,
  session: ImapSessionOptions = {},
): ImapFlowOptions {
  const host = normaliseMailHost(given);
  // These options are also those of a connection without TLS.
  const tls = { ...verifyTls(host, services), lookup };
  return {
    ...session,
    ...{ host, port, tls },
    secure: security === 'tls',
    ...(security !== 'tls' && { doSTARTTLS: security === 'starttls' }),
    auth: auth.kind === 'password' ? { user, pass: auth.password } : { user, accessToken: auth.accessToken },
    clientInfo: { name: 'Tablinum' },
    logger: false,
    connectionTimeout: services.connectMilliseconds,
    greetingTimeout: services.connectMilliseconds,
    maxLiteralSize: connectLimits.literalBytes,
    maxResponseSize: connectLimits.responseBytes,
    maxLineLength: connectLimits.lineBytes,
  };
}
