/** Connections to mail servers on loopback, which are closed after the test that opened them. */
import { afterEach } from 'vitest';
import type { ConnectServices } from '../../src/mail/connect/connect-services.ts';
import { openImap } from '../../src/mail/connect/open-imap.ts';
import { openSmtp } from '../../src/mail/connect/open-smtp.ts';
import type { ServerLogin } from '../../src/mail/connect/server-login.ts';
import { type FaultyImap, type FaultyImapOptions, startFaultyImap } from './faulty-imap.ts';
import { getSharedCertificate, type MailCertificate } from './mail-certificate.ts';
import { createTestServices, silentLogger } from './mail-connection.ts';
import { type SmtpRelay, type SmtpRelayOptions, startSmtpRelay } from './smtp-relay.ts';

/** What {@link useConnections} gives to the tests of a file. */
export interface Connections {
  /** The certificate of every server that is started here. */
  readonly certificate: MailCertificate;
  readonly services: ConnectServices;
  faultyImap(options?: FaultyImapOptions): Promise<FaultyImap>;
  smtpRelay(options?: SmtpRelayOptions): Promise<SmtpRelay>;
  imap(login: ServerLogin, other?: ConnectServices): ReturnType<typeof openImap>;
  smtp(login: ServerLogin, other?: ConnectServices): ReturnType<typeof openSmtp>;
}

/** Servers and clients for the tests of a file. The servers stop after each test. */
export function useConnections(): Connections {
  const stops: (() => Promise<void>)[] = [];
  const certificate = getSharedCertificate();
  const services = createTestServices([certificate.ca]);
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  const started = <Started extends { stop(): Promise<void> }>(server: Started): Started => {
    stops.push(() => server.stop());
    return server;
  };
  return {
    certificate,
    services,
    faultyImap: async (options) => started(await startFaultyImap({ certificate, ...options })),
    smtpRelay: async (options) =>
      started(await startSmtpRelay({ certificate, users: { 'alice@example.test': 'secret-alice' }, ...options })),
    imap: (login, other = services) => openImap(login, { services: other, logger: silentLogger }),
    smtp: (login, other = services) => openSmtp({ ...login, protocol: 'smtp' }, { services: other }),
  };
}
