/** Accounts that sign in to their mail servers by OAuth 2, against Dovecot and an authorization server on loopback. */
import { describe, expect, test } from 'vitest';
import { hasDovecot } from '../support/dovecot.ts';
import { describeEngines, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { useMailConnect, useMailServers } from '../support/mail-connect-fixture.ts';
import { TestServer } from '../support/scenario.ts';

describe.skipIf(!hasDovecot())('with mail servers on loopback', () => {
  const servers = useMailServers();

  describeEngines('accounts that sign in by OAuth 2', (engine) => {
    const fixture = useMailConnect(engine, servers);
    const { imap, createAccount, testOf, readSecrets } = fixture;

    async function createOauthAccount(): Promise<number> {
      const { id } = await createAccount({
        imap: imap(),
        auth: 'oauth2',
        oauth: servers.issuer.settings,
        clientSecret: 'client-secret-1',
      });
      return id as number;
    }

    const authorize = (id: number, as = 'ann'): Promise<Json> =>
      fixture.server.data(`POST /api/accounts:authorize?filterByTk=${id}`, { as });

    async function signIn(id: number): Promise<void> {
      const { url } = await authorize(id);
      const { state, code, redirect } = servers.issuer.signIn(url);
      expect(redirect).toBe('https://data.example.com/mail-sign-in');
      const done = await fixture.server.data('POST /api/accounts:finishAuthorization', {
        as: 'ann',
        body: { state, code },
      });
      expect(done).toEqual({ id, signedIn: true });
    }

    test('a user signs in with a provider, and the account can be used', async () => {
      const id = await createOauthAccount();
      expect(await testOf({}, id)).toMatchObject({
        imap: { problem: { code: 'tokenRevoked', message: 'The account is not signed in with its mail provider.' } },
      });
      await signIn(id);
      expect(await testOf({}, id)).toMatchObject({ imap: { ok: true } });
      const [request] = servers.issuer.requests.slice(-1);
      expect(request).toMatchObject({ grant_type: 'authorization_code', client_id: 'client-1' });
      const secrets = await readSecrets(id);
      expect(secrets).toContain('refreshToken');
      expect(secrets).not.toMatch(/access-\d|refresh-\d/);
    });

    test('a token that the mail server refuses is renewed, by one request at a time', async () => {
      const id = await createOauthAccount();
      await signIn(id);
      servers.issuer.expireAccessTokens();
      servers.issuer.delay = 100;
      const before = servers.issuer.requests.length;
      const results = await Promise.all([testOf({}, id), testOf({}, id), testOf({}, id)]);
      servers.issuer.delay = 0;
      for (const result of results) expect(result).toMatchObject({ imap: { ok: true } });
      expect(servers.issuer.requests.slice(before)).toMatchObject([{ grant_type: 'refresh_token' }]);
    });

    test.runIf(engine.name === 'postgres')('two servers renew a token with one request', async () => {
      const id = await createOauthAccount();
      await signIn(id);
      const other = await TestServer.start(shareStore(engine, fixture.server.store), {
        env: fixture.env,
        ...fixture.parts,
      });
      const as = `header:Bearer ${fixture.server.tokens.get('ann')}`;
      const request = `POST /api/accounts:test?filterByTk=${id}`;
      servers.issuer.expireAccessTokens();
      servers.issuer.delay = 200;
      const before = servers.issuer.requests.length;
      const results = await Promise.all([fixture.server, other].map((each) => each.data(request, { as, body: {} })));
      servers.issuer.delay = 0;
      for (const result of results) expect(result).toMatchObject({ imap: { ok: true } });
      expect(servers.issuer.requests.slice(before)).toMatchObject([{ grant_type: 'refresh_token' }]);
      await other.stop();
    });

    test('a token about to expire is renewed before it is used', async () => {
      const id = await createOauthAccount();
      servers.issuer.lifetime = 30;
      await signIn(id);
      servers.issuer.lifetime = 3600;
      const before = servers.issuer.requests.length;
      expect(await testOf({}, id)).toMatchObject({ imap: { ok: true } });
      expect(await testOf({}, id)).toMatchObject({ imap: { ok: true } });
      expect(servers.issuer.requests.slice(before)).toHaveLength(1);
    });

    test('a revoked permission is reported, and signing in again solves it', async () => {
      const id = await createOauthAccount();
      await signIn(id);
      servers.issuer.isRevoked = true;
      servers.issuer.expireAccessTokens();
      const { imap: refused } = await testOf({}, id);
      expect(refused.problem).toEqual({
        code: 'tokenRevoked',
        message: `${new URL(servers.issuer.url).host} says that the permission for this server has ended.`,
        cure: 'Sign in with the mail provider again.',
        retry: 'never',
      });
      servers.issuer.isRevoked = false;
      await signIn(id);
      expect(await testOf({}, id)).toMatchObject({ imap: { ok: true } });
    });

    test('an OAuth state is valid once, for one user, for ten minutes, and for unchanged settings', async () => {
      const id = await createOauthAccount();
      const { url, expiresAt } = await authorize(id);
      expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(600_000);
      const body = servers.issuer.signIn(url);
      const finish = {
        request: 'POST /api/accounts:finishAuthorization',
        body: { state: body.state, code: body.code },
      };
      const refused = { status: 400, code: 'LINK_INVALID' } as const;
      await fixture.server.data(`PATCH /api/accounts/${id}`, { body: { members: [2, 3] } });
      await fixture.server.play({
        name: 'another member cannot finish a sign-in',
        ...finish,
        as: 'bob',
        expect: refused,
      });
      await fixture.server.play({
        name: 'an administrator cannot finish the sign-in of a user',
        ...finish,
        expect: refused,
      });
      await fixture.server.data('POST /api/accounts:finishAuthorization', { as: 'ann', body: finish.body });
      await fixture.server.play({ name: 'a sign-in cannot be finished twice', ...finish, as: 'ann', expect: refused });
      const late = servers.issuer.signIn((await authorize(id)).url);
      const { database } = fixture.server.running.applications.main;
      await database.write((transaction) =>
        transaction.run({ text: `UPDATE "oneTimeTokens" SET "expiresAt"='2020-01-01T00:00:00.000Z'`, values: [] }),
      );
      await fixture.server.play({
        name: 'a sign-in cannot be finished after ten minutes',
        request: finish.request,
        as: 'ann',
        body: { state: late.state, code: late.code },
        expect: refused,
      });
      const second = servers.issuer.signIn((await authorize(id)).url);
      await fixture.server.data(`PATCH /api/accounts/${id}`, {
        as: 'ann',
        body: { oauth: { ...servers.issuer.settings, clientId: 'client-2' } },
      });
      expect(await readSecrets(id)).toBe('null');
      const reply = await fixture.server.call('POST /api/accounts:finishAuthorization', {
        as: 'ann',
        body: { state: second.state, code: second.code },
      });
      expect(reply).toMatchObject({ status: 400, body: { code: 'LINK_INVALID' } });
    });

    test.each([
      ['a wrong client', { status: 401, body: '{"error":"invalid_client"}' }, 422, /client id and client secret/],
      ['a failure', { status: 500, body: 'oops' }, 503, /could not process the sign-in/],
      [
        'an endless reply',
        { status: 200, body: `{"access_token":"${'x'.repeat(100_000)}"}` },
        503,
        /could not process the sign-in/,
      ],
      ['no access token', { status: 200, body: '{}' }, 503, /could not process the sign-in/],
      ['no refresh token', { status: 200, body: '{"access_token":"access-x"}' }, 422, /no refresh token/],
    ])('the provider refuses the code: %s', async (_name, tokenReply, status, message) => {
      const id = await createOauthAccount();
      const { state, code } = servers.issuer.signIn((await authorize(id)).url);
      servers.issuer.tokenReply = tokenReply;
      const before = await readSecrets(id);
      const reply = await fixture.server.call('POST /api/accounts:finishAuthorization', {
        as: 'ann',
        body: { state, code },
      });
      expect(reply.status).toBe(status);
      expect(reply.text).toMatch(message);
      expect(await readSecrets(id)).toBe(before);
      for (const secret of ['client-secret-1', 'access-x', 'Said to developers'])
        expect(reply.text).not.toContain(secret);
    });

    test('a known provider needs a client of this server', async () => {
      const { id } = await createAccount({ imap: imap(), auth: 'oauth2', oauth: { provider: 'google' } });
      const reply = await fixture.server.call(`POST /api/accounts:authorize?filterByTk=${id}`, { as: 'ann' });
      expect(reply).toMatchObject({
        status: 422,
        body: { details: { 'oauth.clientId': expect.stringContaining('MAIL_GOOGLE_CLIENT_ID') } },
      });
      await fixture.server.data(`PATCH /api/accounts/${id}`, {
        as: 'ann',
        body: { oauth: { provider: 'google', clientId: 'mine' } },
      });
      const url = new URL((await authorize(id)).url);
      expect(`${url.origin}${url.pathname}`).toBe('https://accounts.google.com/o/oauth2/v2/auth');
      expect(Object.fromEntries(url.searchParams)).toMatchObject({
        client_id: 'mine',
        response_type: 'code',
        scope: 'https://mail.google.com/',
        access_type: 'offline',
        code_challenge_method: 'S256',
        login_hint: 'alice@example.test',
      });
    });

    test.each([
      ['publishes no OAuth endpoints', '/none'],
      ['publishes the endpoints of another issuer', '/other'],
    ])('an issuer that %s is refused', async (_, path) => {
      const { id } = await createAccount({
        imap: imap(),
        auth: 'oauth2',
        oauth: { ...servers.issuer.settings, issuer: `${servers.issuer.url}${path}` },
      });
      const reply = await fixture.server.call(`POST /api/accounts:authorize?filterByTk=${id}`, { as: 'ann' });
      expect(reply).toMatchObject({
        status: 422,
        body: { details: { oauth: expect.stringContaining('does not publish the endpoints of an OAuth 2 server') } },
      });
    });

    test('no secret is in an event, in the audit journal, or in the log', () => fixture.expectNoSecret());
  });
});
