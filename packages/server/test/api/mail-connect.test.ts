/** Finding and testing the mail servers of accounts, against Dovecot and an SMTP relay on loopback. */
import { beforeAll, describe, expect, test } from 'vitest';
import { hasDovecot } from '../support/dovecot.ts';
import { describeEngines } from '../support/engines.ts';
import { startFaultyImap } from '../support/faulty-imap.ts';
import type { Json } from '../support/json.ts';
import { mailPassword, useMailConnect, useMailServers } from '../support/mail-connect-fixture.ts';
import type { Scenario } from '../support/scenario.ts';

describe.skipIf(!hasDovecot())('with mail servers on loopback', () => {
  const servers = useMailServers();

  describeEngines('mail servers of accounts', (engine) => {
    const fixture = useMailConnect(engine, servers);
    const { imap, smtp, createAccount, testOf } = fixture;
    beforeAll(async () => {
      const { server } = fixture;
      await server.data('POST /api/users:create', {
        body: { email: 'vera@example.com', password: 'correct horse', roles: ['viewer'] },
      });
      server.tokens.set('vera', await server.signIn('vera@example.com', 'correct horse'));
    });

    describe('accounts:discover', () => {
      test('finds the servers that a domain publishes, after it has connected to them', async () => {
        fixture.dns.records.set('SRV _imaps._tcp.example.test', [
          { name: 'mail.example.test', port: servers.dovecot.imapsPort, priority: 0, weight: 0 },
        ]);
        fixture.dns.records.set('SRV _submission._tcp.example.test', [
          { name: 'mail.example.test', port: servers.relay.port, priority: 0, weight: 0 },
        ]);
        const found = await fixture.server.data('POST /api/accounts:discover', {
          as: 'ann',
          body: { address: 'Alice@Example.test' },
        });
        const common = {
          host: 'mail.example.test',
          user: 'alice@example.test',
          source: 'srv',
          needsConfirmation: false,
        };
        expect(found).toEqual({
          address: 'alice@example.test',
          provider: null,
          imap: {
            ...common,
            port: servers.dovecot.imapsPort,
            security: 'tls',
            offersPassword: true,
            offersOauth: true,
          },
          smtp: { ...common, port: servers.relay.port, security: 'starttls', offersPassword: true, offersOauth: true },
          tried: expect.any(Array),
        });
      });

      test('does not propose a server whose certificate is for another name', async () => {
        for (const service of ['_imaps', '_submissions'])
          fixture.dns.records.set(`SRV ${service}._tcp.example.test`, [
            {
              name: 'other.example.test',
              port: service === '_imaps' ? servers.dovecot.imapsPort : servers.relay.tlsPort,
              priority: 0,
              weight: 0,
            },
          ]);
        const found = await fixture.server.data('POST /api/accounts:discover', {
          as: 'ann',
          body: { address: 'alice@example.test' },
        });
        expect(found).toMatchObject({ imap: null, smtp: null });
        const problems = found.tried
          .filter((each: Json) => each.source === 'srv')
          .map((each: Json) => each.problem.code);
        expect(problems).toEqual(['tlsName', 'tlsName']);
      });
    });

    describe('accounts:test', () => {
      test('confirms correct IMAP and SMTP settings before they are saved', async () => {
        const result = await testOf({
          address: 'alice@example.test',
          imap: imap(),
          smtp: smtp(),
          password: mailPassword,
        });
        expect(result).toEqual({ imap: { ok: true, problem: null }, smtp: { ok: true, problem: null } });
      });

      test('reports the problem and the cure for IMAP and SMTP separately', async () => {
        const result = await testOf({
          address: 'alice@example.test',
          imap: { ...imap(), host: 'other.example.test' },
          smtp: smtp(),
          password: 'a wrong one',
        });
        expect(result).toEqual({
          imap: {
            ok: false,
            problem: {
              code: 'tlsName',
              message: 'The certificate of the server is for another name than other.example.test.',
              cure: 'Enter the host name that the provider names in its instructions. It must be in the certificate.',
              retry: 'never',
            },
          },
          smtp: {
            ok: false,
            problem: {
              code: 'wrongPassword',
              message: 'mail.example.test does not accept this password for alice@example.test.',
              cure: expect.any(String),
              retry: 'never',
            },
          },
        });
      });

      test('tests a stored account, and changed settings with its stored password', async () => {
        const { id } = await createAccount({ imap: imap(), smtp: smtp(), password: mailPassword });
        expect(await testOf({}, id)).toMatchObject({ imap: { ok: true }, smtp: { ok: true } });
        expect(await testOf({ password: 'a wrong one' }, id)).toMatchObject({
          imap: { problem: { code: 'wrongPassword' } },
          smtp: { problem: { code: 'wrongPassword' } },
        });
        expect(await testOf({ imap: { ...imap(), user: 'bob@example.test' } }, id)).toMatchObject({
          imap: { problem: { code: 'wrongPassword' } },
          smtp: { ok: true },
        });
      });

      test('a stored password is only sent to the server that it was stored for', async () => {
        const { id } = await createAccount({ imap: imap(), password: mailPassword });
        const trap = await startFaultyImap({ certificate: servers.dovecot.certificate });
        const result = await testOf({ imap: { ...imap(), port: trap.port } }, id);
        expect(result.imap.problem).toEqual({
          code: 'notConfigured',
          message: 'There is no password for mail.example.test.',
          cure: 'Enter the password again: a stored password is only sent to the server that it was stored for.',
          retry: 'never',
        });
        expect(trap.commands).toEqual([]);
        await trap.stop();
      });

      test('reports a missing password, and nothing for missing servers', async () => {
        const { id } = await createAccount({ imap: imap() });
        expect(await testOf({}, id)).toEqual({
          imap: {
            ok: false,
            problem: {
              code: 'notConfigured',
              message: 'No password is stored for alice@example.test.',
              cure: 'Enter the password of the account.',
              retry: 'never',
            },
          },
          smtp: null,
        });
        const { id: withoutServers } = await createAccount({ address: 'none@example.test' });
        expect(await testOf({}, withoutServers)).toEqual({ imap: null, smtp: null });
      });
    });

    const refusals = (): Scenario[] => [
      {
        name: 'a viewer can discover nothing',
        request: 'POST /api/accounts:discover',
        as: 'vera',
        body: { address: 'alice@example.test' },
        expect: { status: 403, code: 'NO_PERMISSION' },
      },
      {
        name: 'a viewer can test nothing',
        request: 'POST /api/accounts:test',
        as: 'vera',
        body: { address: 'alice@example.test', imap: imap(), password: mailPassword },
        expect: { status: 403, code: 'NO_PERMISSION', absent: [mailPassword] },
      },
      {
        name: 'nobody tests an account without a credential',
        request: 'POST /api/accounts:test',
        as: 'nobody',
        body: { address: 'alice@example.test', imap: imap(), password: mailPassword },
        expect: { status: 401, code: 'TOKEN_MISSING', absent: [mailPassword] },
      },
      {
        name: 'the account of another user cannot be tested',
        request: 'POST /api/accounts:test?filterByTk=1',
        as: 'bob',
        body: {},
        expect: { status: 403, code: 'NO_PERMISSION' },
      },
      {
        name: 'a user cannot sign in with a provider for the account of another user',
        request: 'POST /api/accounts:authorize?filterByTk=1',
        as: 'bob',
        expect: { status: 403, code: 'NO_PERMISSION' },
      },
      {
        name: 'an address with a line break is refused',
        request: 'POST /api/accounts:discover',
        as: 'ann',
        body: { address: 'a@b.example\r\nx' },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { address: expect.stringContaining('ann@example.com') } },
        },
      },
      {
        name: 'a private host is refused before anything is sent',
        request: 'POST /api/accounts:test',
        as: 'ann',
        body: { address: 'a@b.example', imap: { host: '10.0.0.1', port: 993 }, password: mailPassword },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { 'imap.host': expect.stringContaining('MAIL_ALLOWED_PRIVATE_HOSTS') } },
          absent: [mailPassword],
        },
      },
      {
        name: 'a test needs an account or settings',
        request: 'POST /api/accounts:test',
        as: 'ann',
        body: { address: 'a@b.example' },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { imap: expect.stringContaining('filterByTk') } },
        },
      },
      {
        name: 'an unknown member is refused',
        request: 'POST /api/accounts:test',
        as: 'ann',
        body: { address: 'a@b.example', imap: imap(), passwort: 'x' },
        expect: { status: 400, code: 'BODY_INVALID' },
      },
      {
        name: 'an account that signs in by password has no provider to sign in with',
        request: 'POST /api/accounts:authorize?filterByTk=1',
        as: 'ann',
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { oauth: expect.stringContaining('"oauth2"') } },
        },
      },
      {
        name: 'an issuer must use https, except inside the private network',
        request: 'PATCH /api/accounts/1',
        as: 'ann',
        body: { oauth: { issuer: 'http://login.example.com', clientId: 'x', scopes: ['mail'] } },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { 'oauth.issuer': expect.stringContaining('https://') } },
        },
      },
      {
        name: 'an issuer needs a client and scopes',
        request: 'PATCH /api/accounts/1',
        as: 'ann',
        body: { oauth: { issuer: 'https://login.example.com' } },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { 'oauth.clientId': expect.any(String), 'oauth.scopes': expect.any(String) } },
        },
      },
      {
        name: 'a state that this server has not made is refused',
        request: 'POST /api/accounts:finishAuthorization',
        as: 'ann',
        body: { state: 'x.y', code: 'z' },
        expect: { status: 400, code: 'LINK_INVALID' },
      },
    ];
    test('refusals change nothing, and name the cure', async () => {
      for (const scenario of refusals()) await fixture.server.play(scenario);
    });

    test('no secret is in an event, in the audit journal, or in the log', () => fixture.expectNoSecret());
  });
});
