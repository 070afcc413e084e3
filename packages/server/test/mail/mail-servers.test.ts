/** The mail servers that other tests use: Dovecot, an SMTP relay in front of it, and a scripted IMAP server. */
import { ImapFlow, type ImapFlowOptions } from 'imapflow';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Dovecot, hasDovecot, startDovecot } from '../support/dovecot.ts';
import { startFaultyImap } from '../support/faulty-imap.ts';
import { type SmtpRelay, startSmtpRelay } from '../support/smtp-relay.ts';

const alice = { user: 'alice@example.test', pass: 'secret-alice' };

async function openClient(port: number, ca: string | null, more: Partial<ImapFlowOptions> = {}): Promise<ImapFlow> {
  const client = new ImapFlow({
    ...{ host: 'localhost', port, secure: ca !== null, auth: alice, logger: false },
    ...(ca === null ? { doSTARTTLS: false } : { tls: { ca } }),
    ...more,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const message = (subject: string): string =>
  `From: bob@example.test\r\nTo: alice@example.test\r\nSubject: ${subject}\r\n\r\nHello\r\n`;

describe.skipIf(!hasDovecot())('Dovecot', () => {
  let dovecot: Dovecot;
  let relay: SmtpRelay;

  beforeAll(async () => {
    dovecot = await startDovecot();
    relay = await startSmtpRelay({ lmtpPort: dovecot.lmtpPort, users: { [alice.user]: alice.pass } });
  });
  afterAll(async () => {
    await relay.stop();
    await dovecot.stop();
  });

  async function send(to: string[], subject: string): Promise<void> {
    const tls = { ca: relay.certificate.ca };
    const transport = createTransport({ host: 'localhost', port: relay.tlsPort, secure: true, auth: alice, tls });
    await transport.sendMail({ envelope: { from: 'bob@example.test', to }, raw: message(subject) });
  }

  test('offers the extensions of a full server, with a certificate that its authority has signed', async () => {
    const client = await openClient(dovecot.imapsPort, dovecot.ca);
    const capabilities = [...client.capabilities.keys()];
    expect(capabilities).toEqual(
      expect.arrayContaining(['IDLE', 'CONDSTORE', 'QRESYNC', 'UIDPLUS', 'MOVE', 'SPECIAL-USE', 'ENABLE', 'NAMESPACE']),
    );
    const listed = await client.list();
    expect(listed.map(({ path, specialUse }) => `${path} ${specialUse}`).sort()).toEqual([
      'Archive \\Archive',
      'Drafts \\Drafts',
      'INBOX \\Inbox',
      'Junk \\Junk',
      'Sent \\Sent',
      'Trash \\Trash',
    ]);
    await client.logout();
  });

  test('receives what the relay accepts, and notifies a waiting client', async () => {
    const client = await openClient(dovecot.imapsPort, dovecot.ca);
    const { exists } = await client.mailboxOpen('INBOX');
    const seen = new Promise((resolve) => client.once('exists', resolve));
    void client.idle();
    await send(['alice@example.test'], 'through the relay');
    expect(await seen).toMatchObject({ count: exists + 1 });
    expect(relay.received.at(-1)).toMatchObject({ user: alice.user, to: ['alice@example.test'] });
    await client.logout();
  });

  test('can change UIDVALIDITY, drop connections, and stop replying on them', async () => {
    await dovecot.setUidValidity(alice.user, 'INBOX', 4711);
    const client = await openClient(dovecot.imapPort, null);
    expect(String((await client.mailboxOpen('INBOX')).uidValidity)).toBe('4711');
    const resume = await dovecot.makeDeaf(alice.user);
    const answer = client.noop().then(() => 'answered');
    const pause = new Promise((resolve) => setTimeout(() => resolve('silence'), 300));
    expect(await Promise.race([answer, pause])).toBe('silence');
    resume();
    expect(await answer).toBe('answered');
    const closed = new Promise((resolve) => client.once('close', resolve));
    await dovecot.dropConnections(alice.user);
    await closed;
  });

  test('a minimal server only offers IMAP4rev1, and enforces its limits', async () => {
    const poor = await startDovecot({
      poor: true,
      limits: { connectionsPerUser: 2, quotaKilobytes: 50 },
      certificate: dovecot.certificate,
    });
    const clients: ImapFlow[] = [];
    for (let count = 0; count < 2; count += 1) clients.push(await openClient(poor.imapsPort, poor.ca));
    const [client] = clients;
    expect([...client!.capabilities.keys()]).toEqual(['IMAP4rev1']);
    expect(await poor.countConnections(alice.user)).toBe(2);
    const refused = await openClient(poor.imapsPort, poor.ca).catch((error: unknown) => error);
    expect(refused).toMatchObject({ message: expect.stringMatching(/./) });
    const full = await client!.append('INBOX', 'x'.repeat(60_000)).catch((error: unknown) => error);
    expect(full).toMatchObject({ serverResponseCode: 'OVERQUOTA' });
    for (const each of clients) await each.logout();
    await poor.stop();
  });

  test('the scripted server runs between a client and Dovecot, and changes replies as a test wants', async () => {
    const faulty = await startFaultyImap({ upstreamPort: dovecot.imapPort });
    const client = await openClient(faulty.port, faulty.certificate.ca);
    await client.append('INBOX', message('through the scripted server'));
    faulty.script = ({ name }) => (name === 'UID STORE' ? ['{tag} OK Store completed.'] : undefined);
    const { uid = 0 } =
      (await client.mailboxOpen('INBOX')).exists > 0 ? (await client.fetchOne('*', { uid: true })) || {} : {};
    await client.messageFlagsAdd(String(uid), ['\\Flagged'], { uid: true });
    const lying = await client.fetchOne(String(uid), { flags: true }, { uid: true });
    expect(lying && [...(lying.flags ?? [])]).not.toContain('\\Flagged');
    faulty.rewrite = (line) => line.replace('FLAGS (', 'FLAGS (\\Answered ');
    const rewritten = await client.fetchOne(String(uid), { flags: true, source: true }, { uid: true });
    expect(rewritten && [...(rewritten.flags ?? [])]).toContain('\\Answered');
    expect(rewritten ? rewritten.source?.toString() : null).toContain('through the scripted server');
    faulty.bytesPerSecond = 2000;
    const startedAt = performance.now();
    await client.append('INBOX', `${message('slow')}${'x'.repeat(3000)}`);
    await client.fetchOne('*', { source: true });
    expect(performance.now() - startedAt).toBeGreaterThan(1000);
    const closed = new Promise((resolve) => client.once('close', resolve));
    for (const connection of faulty.connections) connection.drop();
    await closed;
    await faulty.stop();
  });

  test.each([
    ['a reply for a recipient', 'rcpt', { code: 550, message: '5.1.1 No such user' }, 550],
    ['a reply for the message', 'data', { code: 451, message: '4.3.0 Try later' }, 451],
    ['a connection that is dropped after DATA', 'data', { drop: true }, undefined],
  ] as const)('the relay fails on demand: %s', async (_name, step, fault, responseCode) => {
    const before = relay.received.length;
    relay.fault = (at) => (at.step === step ? fault : null);
    const refused = await send(['alice@example.test'], 'refused').catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: expect.any(String) });
    expect((refused as { responseCode?: number }).responseCode).toBe(responseCode);
    relay.fault = () => null;
    expect(relay.received.length).toBe(before);
    relay.fault = (at) => (at.step === 'data' ? { drop: true, isDelivered: true } : null);
    await expect(send(['alice@example.test'], 'delivered and dropped')).rejects.toMatchObject({ code: 'ECONNECTION' });
    relay.fault = () => null;
    expect(relay.received.length).toBe(before + 1);
  });
});

test('the scripted server refuses sign-ins as providers do', async () => {
  const faulty = await startFaultyImap({ refuseLogin: () => '[ALERT] Application-specific password required' });
  await expect(openClient(faulty.port, faulty.certificate.ca)).rejects.toMatchObject({
    authenticationFailed: true,
    serverResponseCode: 'ALERT',
  });
  await faulty.stop();
  const open = await startFaultyImap();
  const client = await openClient(open.port, open.certificate.ca);
  expect(await client.list()).toHaveLength(1);
  expect(await client.mailboxOpen('INBOX')).toMatchObject({ exists: 0, uidNext: 1 });
  await client.logout();
  await open.stop();
});
