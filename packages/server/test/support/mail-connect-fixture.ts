/** Mail servers on loopback, and a server whose accounts use them. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type Dovecot, startDovecot } from './dovecot.ts';
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { startMailAccountServer } from './mail-account-server.ts';
import { resolveToLoopback } from './mail-connection.ts';
import { MapResolver } from './map-resolver.ts';
import { OauthIssuer } from './oauth-issuer.ts';
import type { TestServer } from './scenario.ts';
import { type SmtpRelay, startSmtpRelay } from './smtp-relay.ts';

/** The password of `alice@example.test` on all mail servers. */
export const mailPassword = 'secret-alice';

/** The mail servers of {@link useMailServers}. */
export class MailServers {
  issuer!: OauthIssuer;
  dovecot!: Dovecot;
  relay!: SmtpRelay;

  async start(): Promise<void> {
    this.issuer = await OauthIssuer.start();
    this.dovecot = await startDovecot({ introspectionUrl: this.issuer.introspectionUrl });
    this.relay = await startSmtpRelay({
      certificate: this.dovecot.certificate,
      users: { 'alice@example.test': mailPassword },
      lmtpPort: this.dovecot.lmtpPort,
    });
  }

  async stop(): Promise<void> {
    await this.relay.stop();
    await this.dovecot.stop();
    await this.issuer.stop();
  }
}

/** Starts mail servers for the tests of the surrounding `describe`, and stops them afterwards. */
export function useMailServers(): MailServers {
  const servers = new MailServers();
  beforeAll(() => servers.start());
  afterAll(() => servers.stop());
  return servers;
}

/** A server whose accounts use mail servers on loopback. Its log is kept. */
export class MailConnectFixture {
  readonly dns = new MapResolver();
  server!: TestServer;
  env: Record<string, string> = {};
  logged = '';
  readonly #servers: MailServers;
  readonly #write = process.stdout.write.bind(process.stdout);

  constructor(servers: MailServers) {
    this.#servers = servers;
  }

  async start(engine: Engine): Promise<void> {
    this.env = {
      MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1',
      MAIL_CA_FILE: this.#servers.dovecot.caFile,
      MAIL_SYNC: 'off',
      OUTBOUND_ALLOW: '127.0.0.1',
      PUBLIC_URL: 'https://data.example.com',
      LOG_LEVEL: 'trace',
    };
    process.stdout.write = ((chunk: string | Uint8Array) => {
      this.logged += String(chunk);
      return true;
    }) as typeof process.stdout.write;
    this.server = await startMailAccountServer(engine, this.env, this.parts);
  }

  /** Options, in addition to settings, that a server needs to use these mail servers. */
  get parts(): {
    readonly dns: MapResolver;
    readonly mailNetwork: { readonly resolveAddresses: typeof resolveToLoopback };
  } {
    return { dns: this.dns, mailNetwork: { resolveAddresses: resolveToLoopback } };
  }

  async stop(): Promise<void> {
    await this.server.stop();
    process.stdout.write = this.#write;
  }

  /** Reverts the changes of a test to the mail servers. */
  reset(): void {
    const { issuer } = this.#servers;
    this.dns.records.clear();
    issuer.isRevoked = false;
    issuer.tokenReply = null;
    issuer.lifetime = 3600;
  }

  readonly imap = (): object => ({ host: 'mail.example.test', port: this.#servers.dovecot.imapsPort, security: 'tls' });

  readonly smtp = (): object => ({ host: 'mail.example.test', port: this.#servers.relay.port, security: 'starttls' });

  readonly createAccount = (body: object): Promise<Json> =>
    this.server.data('POST /api/accounts:create', { as: 'ann', body: { address: 'alice@example.test', ...body } });

  /** Tests the connections of an account, or of settings that are not stored. */
  readonly testOf = (body: object, id?: number): Promise<Json> =>
    this.server.data(`POST /api/accounts:test${id === undefined ? '' : `?filterByTk=${id}`}`, { as: 'ann', body });

  readonly readSecrets = async (id: number): Promise<string> => {
    const { database } = this.server.running.applications.main;
    const [rows] = await database.read([{ text: `SELECT secrets FROM accounts WHERE id=${id}`, values: [] }]);
    return JSON.stringify(rows![0]![0]);
  };

  /** Expects that no password and no token is in an event, in the audit journal, or in the log. */
  async expectNoSecret(): Promise<void> {
    const events = JSON.stringify(await this.server.running.applications.main.changes.read(null, 1000));
    const audit = JSON.stringify(await this.server.data('GET /api/audit:list?pageSize=200'));
    expect(this.logged.length).toBeGreaterThan(100);
    expect(events.length).toBeGreaterThan(100);
    for (const text of [events, audit, this.logged])
      for (const secret of [mailPassword, 'client-secret-1', 'access-', 'refresh-', 'a wrong one', 'code-1'])
        expect(text).not.toContain(secret);
  }
}

/** Starts a server on an engine for the tests of the surrounding `describe`, and stops it afterwards. */
export function useMailConnect(engine: Engine, servers: MailServers): MailConnectFixture {
  const fixture = new MailConnectFixture(servers);
  beforeAll(() => fixture.start(engine));
  afterAll(() => fixture.stop());
  afterEach(() => fixture.reset());
  return fixture;
}
