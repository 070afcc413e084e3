import { afterAll, beforeAll, expect, test } from 'vitest';
import { findSentCopy } from '../../src/mail/delivery/find-sent-copy.ts';
import { type Dovecot, hasDovecot, startDovecot } from '../support/dovecot.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { MovingClock } from '../support/moving-clock.ts';
import { TestServer } from '../support/scenario.ts';
import { type SmtpRelay, startSmtpRelay } from '../support/smtp-relay.ts';
import { describeAccount, fastTimes, openClient, readServer, waitFor } from '../support/sync-world.ts';

const isInstalled = hasDovecot();

describeEngines('delivery of mail between real servers', (engine) => {
  let dovecot: Dovecot;
  let relay: SmtpRelay;
  let server: TestServer;
  const clock = new MovingClock();
  /** Ids of the accounts by user name. */
  const accounts = new Map<string, number>();
  beforeAll(async () => {
    if (!isInstalled) return;
    dovecot = await startDovecot();
    const { lmtpPort, certificate, caFile, users } = dovecot;
    const passwords = Object.fromEntries(Object.values(users).map(({ address, password }) => [address, password]));
    relay = await startSmtpRelay({ lmtpPort, certificate, users: passwords });
    const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1', MAIL_CA_FILE: caFile };
    server = await TestServer.start(engine, { env, clock, mailSyncTimes: fastTimes });
    for (const name of ['alice', 'bob', 'carol']) {
      const smtp = { host: '127.0.0.1', port: relay.port, security: 'starttls', user: users[name]!.address };
      const savesSent = name === 'carol' ? { savesSent: true } : {};
      const body = { ...describeAccount(dovecot, dovecot.imapPort, name), smtp: { ...smtp, ...savesSent } };
      const { id } = await server.data('POST /api/accounts:create', { body });
      accounts.set(name, id);
      const isLive = async () => (await server.data(`GET /api/accounts:get?filterByTk=${id}`)).status === 'live';
      await waitFor(isLive, `${name} to be live`);
    }
  });
  afterAll(async () => {
    await server?.stop();
    await relay?.stop();
    await dovecot?.stop();
  });

  const list = (name: string, query = ''): Promise<Json[]> =>
    server.data(`GET /api/emails:list?accountId=${accounts.get(name)}${query}`) as never;
  /** Messages of the mailbox Sent as the IMAP server lists them. */
  async function readSent(name: string): Promise<readonly { readonly messageId: string }[]> {
    const client = await openClient(dovecot, name);
    const sent = (await readServer(client)).get('Sent') ?? [];
    await client.logout();
    return sent;
  }
  async function send(name: string, subject: string, to = 'bob@example.test'): Promise<Json> {
    const body = { account: accounts.get(name), to, subject, text: 'Hello' };
    const { id } = await server.data('POST /api/emails:send', { body });
    clock.advance(10_000);
    server.running.applications.main.mail.delivery.wake();
    await waitFor(
      async () => (await server.data(`GET /api/emails/${id}`)).deliveryStatus !== 'queued',
      'the first attempt',
    );
    return server.data(`GET /api/emails/${id}`);
  }
  async function file(name: string, raw: Buffer): Promise<void> {
    const client = await openClient(dovecot, name);
    await client.append('Sent', raw, ['\\Seen']);
    await client.logout();
  }

  test.runIf(isInstalled)('a message arrives in the other mailbox, and once in Sent on the mail server', async () => {
    const email = await send('alice', 'Round trip');
    expect(email).toMatchObject({ deliveryStatus: 'sent', folder: 'sent' });
    await waitFor(
      async () => (await list('bob', '&folder=inbox')).some((each) => each.subject === 'Round trip'),
      'bob',
    );
    await waitFor(async () => (await readSent('alice')).length === 1, 'the message in Sent');
    expect(await readSent('alice')).toMatchObject([{ messageId: `<${email.messageId}>` }]);
    await new Promise((resolve) => setTimeout(resolve, 1500)); // the copy in Sent was synchronised too
    expect((await list('alice')).map(({ id }) => id)).toEqual([email.id]);
  });

  test.runIf(isInstalled)('a copy in Sent that the provider stores with other bytes is the same e-mail', async () => {
    const email = await send('carol', 'Filed by the provider');
    expect(email).toMatchObject({ deliveryStatus: 'sent', folder: 'sent' });
    await file('carol', Buffer.concat([Buffer.from('X-Provider: 1\r\n'), relay.received.at(-1)!.raw]));
    const { database } = server.running.applications.main;
    const text = `SELECT count(*),count(uid) FROM "mailPlacements" WHERE "emailId"=${email.id}`;
    await waitFor(async () => Number((await database.read([{ text, values: [] }]))[0]![0]![1]) === 1, 'the UID');
    expect((await readSent('carol')).length).toBe(1);
    expect((await list('carol')).map(({ id }) => id)).toEqual([email.id]);
  });

  test.runIf(isInstalled)('a message with an unknown outcome was sent if the provider has filed a copy', async () => {
    relay.fault = ({ step }) => (step === 'data' ? { drop: true, isDelivered: true } : null);
    const email = await send('carol', 'Lost reply');
    relay.fault = () => null;
    expect(email.deliveryStatus).toBe('unknown');
    const { parts } = server.running.applications.main.mail.connections;
    const find = () => findSentCopy(parts as never, accounts.get('carol')!, email.messageId, AbortSignal.timeout(9000));
    expect(await find()).toBe(false);
    const before = relay.received.length;
    await file('carol', relay.received.at(-1)!.raw);
    expect(await find()).toBe(true);
    clock.advance(60_000);
    server.running.applications.main.mail.delivery.wake();
    await waitFor(
      async () => (await server.data(`GET /api/emails/${email.id}`)).folder === 'sent',
      'the e-mail in Sent',
    );
    expect(await server.data(`GET /api/emails/${email.id}`)).toMatchObject({
      deliveryStatus: 'sent',
      delivery: { problem: null },
    });
    expect(relay.received.length).toBe(before);
  });
});
