/** Connects to a server without signing in, to find out whether it is a mail server and how it can be signed in to. */
import { raceAbort } from '../../base/outbound-resolver.ts';
import { type ConnectionServices, pinHost, withinTimeLimit } from './guarded-connection.ts';
import { createImapOptions, loadImapLibrary } from './open-imap.ts';
import { openSmtpConnection } from './open-smtp.ts';
import type { ServerEndpoint } from './server-endpoints.ts';
import type { ServerLogin } from './server-login.ts';
import { toMailServerProblem } from './to-mail-server-problem.ts';

/** How a server can be signed in to. */
export interface ProbeResult {
  readonly offersPassword: boolean;
  readonly offersOauth: boolean;
}

/**
 * Connects to a server with TLS, and closes the connection. Nothing of the account is sent.
 *
 * @throws MailServerProblem
 */
export async function probeServer(
  protocol: ServerLogin['protocol'],
  server: ServerEndpoint,
  services: ConnectionServices,
  signal?: AbortSignal,
): Promise<ProbeResult> {
  const login: ServerLogin = { protocol, ...server, user: '', auth: { kind: 'password', password: '' } };
  const probe = protocol === 'imap' ? probeImap : probeSmtp;
  try {
    return await withinTimeLimit(services, signal, (limited) => probe(login, services, limited));
  } catch (error) {
    signal?.throwIfAborted();
    throw toMailServerProblem(error, login);
  }
}

async function probeImap(login: ServerLogin, services: ConnectionServices, signal: AbortSignal): Promise<ProbeResult> {
  const { auth: _, ...options } = createImapOptions(login, services, await pinHost(login, services, signal));
  const { AuthenticationFailure, ImapFlow } = await loadImapLibrary();
  const client = new ImapFlow(options);
  client.on('error', () => {});
  try {
    await raceAbort(client.connect(), signal);
  } catch (error) {
    // The library connects and encrypts before it finds that there is nothing to sign in with.
    if (!(error instanceof AuthenticationFailure) || error.response !== undefined) throw error;
  } finally {
    client.close();
  }
  const has = (...names: readonly string[]): boolean => names.some((name) => client.capabilities.has(name));
  return {
    offersPassword: has('AUTH=PLAIN', 'AUTH=LOGIN') || !has('LOGINDISABLED'),
    offersOauth: has('AUTH=XOAUTH2', 'AUTH=OAUTHBEARER'),
  };
}

async function probeSmtp(login: ServerLogin, services: ConnectionServices, signal: AbortSignal): Promise<ProbeResult> {
  const { extensions, close } = await openSmtpConnection(login, services, signal);
  close();
  const methods = (extensions.get('AUTH') ?? '').toUpperCase().split(' ');
  return {
    offersPassword: methods.includes('PLAIN') || methods.includes('LOGIN'),
    offersOauth: methods.includes('XOAUTH2') || methods.includes('OAUTHBEARER'),
  };
}
