/** Connections to mail servers: addresses, certificates, limits, and the messages for every failure. */
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectLimits } from '../../src/mail/connect/guarded-connection.ts';
import { openImap } from '../../src/mail/connect/open-imap.ts';
import { openSmtp } from '../../src/mail/connect/open-smtp.ts';
import { toMailServerProblem } from '../../src/mail/connect/to-mail-server-problem.ts';
import { type Dovecot, hasDovecot, startDovecot } from '../support/dovecot.ts';
import { makeCertificate } from '../support/mail-certificate.ts';
import {
  createTestServices,
  loginAs,
  readProblem,
  resolveToLoopback,
  silentLogger,
} from '../support/mail-connection.ts';
import { useConnections } from '../support/use-connections.ts';

const { certificate, services, faultyImap, smtpRelay, imap, smtp } = useConnections();

describe.skipIf(!hasDovecot())('against Dovecot and an SMTP relay', () => {
  let dovecot: Dovecot;
  beforeAll(async () => {
    dovecot = await startDovecot({ certificate, limits: { connectionsPerUser: 2 } });
  });
  afterAll(() => dovecot.stop());

  test('IMAP opens with TLS, with STARTTLS, and without encryption', async () => {
    for (const [port, security] of [
      [dovecot.imapsPort, 'tls'],
      [dovecot.imapPort, 'starttls'],
      [dovecot.imapPort, 'none'],
    ] as const) {
      const client = await imap(loginAs({ port, security }));
      expect(Boolean(client.secureConnection || client.tls)).toBe(security !== 'none');
      expect((await client.mailboxOpen('INBOX')).path).toBe('INBOX');
      await client.logout();
    }
  });

  test('a wrong password is distinguished from too many connections', async () => {
    const wrong = { kind: 'password', password: 'wrong' } as const;
    const refused = await readProblem(imap(loginAs({ port: dovecot.imapsPort, auth: wrong })));
    expect(refused).toMatchObject({
      code: 'wrongPassword',
      retry: 'never',
      message: 'mail.example.test does not accept this password for alice@example.test.',
      cure: 'Check the user name and enter the password again. Some providers want the whole e-mail address as user name.',
    });
    const clients = [
      await imap(loginAs({ port: dovecot.imapsPort })),
      await imap(loginAs({ port: dovecot.imapsPort })),
    ];
    expect(await readProblem(imap(loginAs({ port: dovecot.imapsPort })))).toMatchObject({
      code: 'connectionLimit',
      retry: 'later',
      message: expect.stringMatching(/^mail\.example\.test allows no further connection of alice@example\.test now\./),
    });
    for (const client of clients) await client.logout();
  });

  test('SMTP sends with TLS and STARTTLS, and reads what the server offers', async () => {
    const relay = await smtpRelay({ lmtpPort: dovecot.lmtpPort, size: 50_000 });
    for (const [port, security] of [
      [relay.tlsPort, 'tls'],
      [relay.port, 'starttls'],
    ] as const) {
      const session = await smtp(loginAs({ port, security }));
      expect(session.maxSize).toBe(50_000);
      expect([...session.extensions.keys()]).toEqual(expect.arrayContaining(['SIZE', 'AUTH', 'SMTPUTF8', '8BITMIME']));
      const envelope = { from: 'alice@example.test', to: ['bob@example.test', 'carol@example.test'] };
      const sent = await session.send(envelope, Buffer.from('Subject: hello\r\n\r\nHello\r\n'));
      expect(sent).toMatchObject({ accepted: envelope.to, rejected: [] });
      const again = await session.send(envelope, Buffer.from('Subject: again\r\n\r\nHello\r\n'));
      expect(again.accepted).toEqual(envelope.to);
      session.close();
    }
    expect(relay.received).toHaveLength(4);
    const client = await imap(
      loginAs({
        port: dovecot.imapsPort,
        user: 'bob@example.test',
        auth: { kind: 'password', password: 'secret-bob' },
      }),
    );
    expect((await client.mailboxOpen('INBOX')).exists).toBe(4);
    await client.logout();
  });

  test('a refused recipient does not stop delivery to the others', async () => {
    const relay = await smtpRelay({ lmtpPort: dovecot.lmtpPort });
    relay.fault = ({ step, address }) =>
      step === 'rcpt' && address.startsWith('nobody') ? { code: 550, message: '5.1.1 No such user' } : null;
    const session = await smtp(loginAs({ port: relay.tlsPort }));
    const to = ['nobody@example.test', 'bob@example.test'];
    const sent = await session.send({ from: 'alice@example.test', to }, Buffer.from('Subject: x\r\n\r\nx\r\n'));
    expect(sent).toMatchObject({
      accepted: ['bob@example.test'],
      rejected: ['nobody@example.test'],
      rejectedErrors: [{ responseCode: 550, recipient: 'nobody@example.test' }],
    });
    relay.fault = ({ step }) => (step === 'data' ? { drop: true } : null);
    await expect(
      session.send({ from: 'alice@example.test', to: 'bob@example.test' }, Buffer.from('x')),
    ).rejects.toMatchObject({ code: 'ECONNECTION' });
    session.close();
  });
});

describe('hosts', () => {
  test('a host inside the network is refused, whatever name it has', async () => {
    const guarded = createTestServices(
      [certificate.ca],
      { resolveAddresses: resolveToLoopback },
      { MAIL_ALLOWED_PRIVATE_HOSTS: '10.0.0.1' },
    );
    for (const host of ['mail.example.test', '127.0.0.1', 'localhost', '[::1]', '169.254.169.254', '0x7f.1']) {
      for (const open of [imap, smtp])
        expect(await readProblem(open(loginAs({ host, port: 993 }), guarded)), host).toMatchObject({
          code: 'blockedAddress',
          retry: 'never',
          message: `${host} is inside a private network, which accounts may not use.`,
          cure: 'Enter a public mail server, or ask the operator to add it to MAIL_ALLOWED_PRIVATE_HOSTS.',
        });
    }
  });

  test('a name is resolved once, and the connection goes to the checked address', async () => {
    const faulty = await faultyImap();
    let lookups = 0;
    const resolveAddresses = async (): Promise<string[]> => {
      lookups += 1;
      return [lookups === 1 ? '127.0.0.1' : '127.0.0.9'];
    };
    const pinned = createTestServices([certificate.ca], { resolveAddresses });
    const client = await imap(loginAs({ port: faulty.port }), pinned);
    expect(lookups).toBe(1);
    await client.logout();
    expect(await readProblem(imap(loginAs({ port: faulty.port }), pinned))).toMatchObject({ code: 'blockedAddress' });
  });

  test('an unknown host name, and a port on which nothing listens, are reported', async () => {
    for (const open of [imap, smtp]) {
      expect(await readProblem(open(loginAs({ host: 'mail.example.invalid', port: 993 })))).toMatchObject({
        code: 'unreachable',
        retry: 'soon',
        message: 'The host name mail.example.invalid is unknown.',
        cure: 'Check the spelling of the host name.',
      });
      expect(await readProblem(open(loginAs({ port: 1 })))).toMatchObject({
        code: 'unreachable',
        message: 'mail.example.test refuses connections on port 1.',
      });
    }
  });
});

describe('certificates', () => {
  const others = {
    'for another name': () => makeCertificate(['DNS:other.example.test']),
    'of an unknown authority': () => makeCertificate(),
    'that has expired': () => makeCertificate(undefined, -1),
  };
  test.each([
    ['for another name', 'tlsName', 'The certificate of the server is for another name than mail.example.test.'],
    [
      'of an unknown authority',
      'tlsUntrusted',
      'The certificate of mail.example.test is not signed by an authority that this server trusts.',
    ],
    ['that has expired', 'tlsUntrusted', 'The certificate of mail.example.test has expired.'],
  ] as const)('a certificate %s is refused, and the password is not sent', async (kind, code, message) => {
    const wrong = others[kind]();
    const trust = createTestServices(kind === 'of an unknown authority' ? [certificate.ca] : [wrong.ca]);
    const faulty = await faultyImap({ certificate: wrong });
    const relay = await smtpRelay({ certificate: wrong });
    const problems = [
      await readProblem(imap(loginAs({ port: faulty.port }), trust)),
      await readProblem(smtp(loginAs({ port: relay.tlsPort }), trust)),
      await readProblem(smtp(loginAs({ port: relay.port, security: 'starttls' }), trust)),
    ];
    for (const problem of problems) expect(problem).toMatchObject({ code, message, retry: 'never' });
    expect(faulty.commands).toEqual([]);
  });

  test('without STARTTLS nothing is sent in plain text', async () => {
    const faulty = await faultyImap({ security: 'none', capabilities: ['IMAP4rev1', 'AUTH=PLAIN'] });
    const relay = await smtpRelay({ hidden: ['STARTTLS'], allowsPlaintext: true });
    const problems = [
      await readProblem(imap(loginAs({ port: faulty.port, security: 'starttls' }))),
      await readProblem(smtp(loginAs({ port: relay.port, security: 'starttls' }))),
    ];
    for (const problem of problems)
      expect(problem).toMatchObject({
        code: 'tlsMissing',
        retry: 'never',
        message: expect.stringMatching(/^mail\.example\.test does not offer STARTTLS on port \d+\.$/),
        cure: expect.stringContaining('The password was not sent.'),
      });
    expect(faulty.commands.join('\n')).not.toMatch(/LOGIN|AUTHENTICATE/);
  });

  test('TLS to a server that speaks plain text is reported', async () => {
    const faulty = await faultyImap({ security: 'none' });
    const relay = await smtpRelay();
    for (const problem of [
      await readProblem(imap(loginAs({ port: faulty.port }))),
      await readProblem(smtp(loginAs({ port: relay.port }))),
    ])
      expect(problem).toMatchObject({
        code: 'tlsMissing',
        message: expect.stringMatching(/^mail\.example\.test does not speak TLS on port \d+\.$/),
      });
  });
});

describe('replies of IMAP servers', () => {
  const cases = [
    ['[AUTHENTICATIONFAILED] Invalid credentials (Failure)', 'wrongPassword', 'never'],
    ['Login failed.', 'wrongPassword', 'never'],
    ['[AUTHENTICATIONFAILED] LOGIN invalid credentials or IMAP is disabled', 'wrongPassword', 'never'],
    ['[EXPIRED] Password has expired', 'wrongPassword', 'never'],
    [
      '[ALERT] Application-specific password required: https://support.example/185833 (Failure)',
      'appPasswordNeeded',
      'never',
    ],
    ['[AUTHENTICATIONFAILED] Application password is REQUIRED', 'appPasswordNeeded', 'never'],
    ['[WEBALERT https://accounts.example/signin] Web login required.', 'appPasswordNeeded', 'never'],
    [
      '[ALERT] Please log in via your web browser: https://support.example/78754 (Failure)',
      'appPasswordNeeded',
      'never',
    ],
    [
      '[ALERT] Your account is not enabled for IMAP use. Please visit your settings page. (Failure)',
      'imapDisabled',
      'never',
    ],
    ['AUTHENTICATE failed. LogonFailed-BasicAuthBlocked', 'oauthNeeded', 'never'],
    ['[LIMIT] Too many simultaneous connections', 'connectionLimit', 'later'],
    ['[ALERT] Too many simultaneous connections. (Failure)', 'connectionLimit', 'later'],
    ['[UNAVAILABLE] Maximum number of connections from user+IP exceeded', 'connectionLimit', 'later'],
    ['[INUSE] Mailbox is locked by a POP session', 'connectionLimit', 'later'],
    ['[LIMIT] LOGIN Rate limit hit.', 'throttled', 'later'],
    ['[OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)', 'throttled', 'later'],
    ['[THROTTLED] Try later', 'throttled', 'later'],
    ['[UNAVAILABLE] Temporary authentication failure.', 'serverError', 'later'],
    ['[SERVERBUG] Internal error', 'serverError', 'never'],
    ['[PRIVACYREQUIRED] Plaintext authentication disallowed', 'tlsMissing', 'never'],
    ['[OVERQUOTA] Quota exceeded', 'overQuota', 'later'],
  ] as const;

  test.each(cases)('%s', async (reply, code, retry) => {
    const faulty = await faultyImap({ refuseLogin: () => reply });
    const problem = await readProblem(imap(loginAs({ port: faulty.port })));
    expect(problem).toMatchObject({ code, retry });
    for (const sentence of [problem.message, problem.cure]) expect(sentence).toMatch(/^[A-Zm].*[.”]$/);
    expect(`${problem.message} ${problem.cure}`).not.toContain('secret-alice');
  });

  test('a reply that repeats the password is not quoted', async () => {
    for (const text of [
      '[SERVERBUG] no user secret-alice',
      `[SERVERBUG] bad ${Buffer.from('\0alice\0secret-alice').toString('base64')}`,
    ]) {
      const faulty = await faultyImap({ refuseLogin: () => text });
      const problem = await readProblem(imap(loginAs({ port: faulty.port })));
      expect(problem).toMatchObject({ code: 'serverError', message: 'mail.example.test refuses the request.' });
    }
    const faulty = await faultyImap({ refuseLogin: () => '[SERVERBUG] Disk is broken' });
    expect(await readProblem(imap(loginAs({ port: faulty.port })))).toMatchObject({
      message: 'mail.example.test refuses the request. It said: “Disk is broken”',
    });
  });

  test('a BYE before the sign-in is reported', async () => {
    const faulty = await faultyImap({ greeting: '* BYE Too many connections from your address' });
    expect(await readProblem(imap(loginAs({ port: faulty.port })))).toMatchObject({ code: 'connectionLimit' });
  });

  test('failures of later commands are reported: a full mailbox, and a server that slows down', async () => {
    const faulty = await faultyImap({ capabilities: ['IMAP4rev1', 'SASL-IR', 'AUTH=PLAIN'] });
    const login = loginAs({ port: faulty.port });
    const client = await imap(login);
    faulty.script = ({ name }) =>
      name === 'APPEND' ? ['{tag} NO [OVERQUOTA] Quota exceeded (mailbox for user is full)'] : undefined;
    const full = await client.append('INBOX', 'x').catch((error: unknown) => toMailServerProblem(error, login));
    expect(full).toMatchObject({
      code: 'overQuota',
      retry: 'later',
      message: expect.stringMatching(/^The mailbox of alice@example\.test at mail\.example\.test is full\./),
    });
    faulty.script = ({ name }) =>
      name === 'SELECT' ? ['{tag} BAD Request is throttled. Suggested Backoff Time: 120 milliseconds'] : undefined;
    const slow = await client.mailboxOpen('Other').catch((error: unknown) => toMailServerProblem(error, login));
    expect(slow).toMatchObject({ code: 'throttled', waitMilliseconds: 120 });
    client.close();
  });

  test('a literal over the limit ends the connection, and no memory is allocated for it', async () => {
    const faulty = await faultyImap();
    const login = loginAs({ port: faulty.port });
    const client = await imap(login);
    faulty.script = ({ name }) =>
      name === 'SELECT' ? [`* LIST () "/" {${connectLimits.literalBytes + 1}}`, 'INBOX'] : undefined;
    const error = await client.mailboxOpen('Other').catch((reason: unknown) => toMailServerProblem(reason, login));
    expect(error).toMatchObject({ code: expect.stringMatching(/^(protocol|unreachable)$/) });
    client.close();
  });
});

describe('replies of SMTP servers', () => {
  test.each([
    [535, '5.7.8 Username and Password not accepted', 'wrongPassword', 'never'],
    [534, '5.7.9 Application-specific password required', 'appPasswordNeeded', 'never'],
    [535, '5.7.139 Authentication unsuccessful, basic authentication is disabled.', 'oauthNeeded', 'never'],
    [
      535,
      '5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.',
      'smtpDisabled',
      'never',
    ],
    [454, '4.7.0 Too many login attempts, please try again later', 'throttled', 'later'],
    [421, '4.7.0 Too many concurrent connections', 'connectionLimit', 'later'],
    [454, '4.7.0 Temporary authentication failure', 'serverError', 'later'],
    [530, '5.7.0 Must issue a STARTTLS command first', 'tlsMissing', 'never'],
  ])('%i %s', async (status, message, code, retry) => {
    const relay = await smtpRelay();
    relay.fault = ({ step }) => (step === 'auth' ? { code: status, message } : null);
    const problem = await readProblem(smtp(loginAs({ port: relay.tlsPort })));
    expect(problem).toMatchObject({ code, retry });
    expect(`${problem.message} ${problem.cure}`).not.toContain('secret-alice');
  });

  test('a server that immediately refuses or drops the connection is reported', async () => {
    const relay = await smtpRelay();
    relay.fault = ({ step }) => (step === 'connect' ? { code: 421, message: 'Too many connections' } : null);
    expect(await readProblem(smtp(loginAs({ port: relay.tlsPort })))).toMatchObject({ code: 'connectionLimit' });
    relay.fault = ({ step }) => (step === 'auth' ? { drop: true } : null);
    expect(await readProblem(smtp(loginAs({ port: relay.tlsPort })))).toMatchObject({
      code: 'unreachable',
      retry: 'soon',
    });
  });
});

describe('time', () => {
  let silent: Server;
  beforeAll(async () => {
    silent = createServer((socket) => socket.on('error', () => {}));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => silent.close());
  const port = (): number => (silent.address() as { port: number }).port;

  test('a connection to a server that says nothing ends when the caller aborts', async () => {
    for (const security of ['tls', 'none'] as const) {
      for (const open of [openImap, openSmtp]) {
        const ending = new AbortController();
        const opening = open(loginAs({ port: port(), security }), {
          services,
          logger: silentLogger,
          signal: ending.signal,
        });
        setTimeout(() => ending.abort(new Error('stopping')), 50);
        await expect(opening).rejects.toThrow('stopping');
      }
    }
  });

  test('a connection to a server that says nothing ends after the time limit', async () => {
    expect(services.connectMilliseconds).toBe(30_000);
    const quick = createTestServices([certificate.ca], {
      resolveAddresses: resolveToLoopback,
      connectMilliseconds: 300,
    });
    const neverResolving = createTestServices([certificate.ca], {
      resolveAddresses: () => new Promise(() => {}),
      connectMilliseconds: 300,
    });
    const faulty = await faultyImap({ security: 'none' });
    faulty.script = () => [];
    const problems = await Promise.all([
      readProblem(imap(loginAs({ port: port(), security: 'none' }), quick)),
      readProblem(imap(loginAs({ port: faulty.port, security: 'none' }), quick)),
      readProblem(smtp(loginAs({ port: port(), security: 'tls' }), quick)),
      readProblem(imap(loginAs({ port: port() }), neverResolving)),
    ]);
    for (const problem of problems)
      expect(problem).toMatchObject({
        code: 'timedOut',
        retry: 'soon',
        message: expect.stringMatching(/^mail\.example\.test did not reply in time on port \d+\.$/),
      });
  });

  test('a host name that resolves to a public address is not used without TLS', async () => {
    const services = createTestServices([certificate.ca], {
      resolveAddresses: async () => ['127.0.0.1', '192.0.1.7'],
      connectMilliseconds: 300,
    });
    for (const open of [imap, smtp])
      expect(await readProblem(open(loginAs({ port: 9, security: 'none' }), services))).toMatchObject({
        code: 'blockedAddress',
        retry: 'never',
        message: expect.stringContaining('without TLS'),
        cure: expect.stringContaining('starttls'),
      });
  });
});
