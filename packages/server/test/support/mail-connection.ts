import { readConfig } from '../../src/base/config.ts';
import { type Logger, makeLogger } from '../../src/base/logger.ts';
import { OutboundClient } from '../../src/base/outbound.ts';
import {
  type ConnectServices,
  createConnectServices,
  type MailNetwork,
} from '../../src/mail/connect/connect-services.ts';
import type { MailServerProblem } from '../../src/mail/connect/mail-server-problem.ts';
import type { ServerLogin } from '../../src/mail/connect/server-login.ts';

export const silentLogger: Logger = makeLogger('silent');

/** Resolves host names: every host of example.test is this machine, and others do not exist. */
export const resolveToLoopback: NonNullable<MailNetwork['resolveAddresses']> = async (host) =>
  host.endsWith('.example.test') ? ['127.0.0.1'] : [];

/** The shared parts of connections, for servers on loopback whose authorities are given. */
export function createTestServices(
  authorities: readonly string[],
  network: MailNetwork = { resolveAddresses: resolveToLoopback },
  env: Record<string, string> = {},
): ConnectServices {
  const config = readConfig({ MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1', OUTBOUND_ALLOW: '127.0.0.1', ...env });
  const clock = { now: (): number => Date.now() };
  const outbound = new OutboundClient({ allow: ['127.0.0.1'] });
  return createConnectServices({ ...config, mailCertificates: authorities }, outbound, clock, network);
}

/** A login of alice by password, unless overridden. */
export function loginAs(server: Partial<ServerLogin> & Pick<ServerLogin, 'port'>): ServerLogin {
  return {
    protocol: 'imap',
    host: 'mail.example.test',
    security: 'tls',
    user: 'alice@example.test',
    auth: { kind: 'password', password: 'secret-alice' },
    ...server,
  };
}

/** The problem that a connection ends with. */
export async function readProblem(connecting: Promise<unknown>): Promise<MailServerProblem> {
  return connecting.then(
    () => {
      throw new Error('The connection did not fail.');
    },
    (error: unknown) => error as MailServerProblem,
  );
}
