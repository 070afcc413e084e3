import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeToken } from '../../src/base/token.ts';
import { describeEngines } from '../support/engines.ts';
import { hour, MovingClock } from '../support/moving-clock.ts';
import { TestServer } from '../support/scenario.ts';
import { SmtpReceiver } from '../support/smtp-receiver.ts';
import { compareDurations } from '../support/timing.ts';

const first = 'correct horse battery';
const second = 'another horse, another battery';
const linkInvalid = { error: 'Bad Request', code: 'LINK_INVALID' };

describeEngines('password reset', (engine) => {
  const clock = new MovingClock();
  let box: SmtpReceiver;
  let server: TestServer;
  let people = 0;
  const lost = (email: unknown): ReturnType<TestServer['call']> =>
    server.call('POST /api/auth:lostPassword', { as: 'nobody', body: { email } });
  const reset = (token: string, password = second): ReturnType<TestServer['call']> =>
    server.call('POST /api/auth:resetPassword', { as: 'nobody', body: { token, password } });
  const canEnter = async (email: string, password: string): Promise<boolean> =>
    (await server.call('POST /api/auth:signIn', { as: 'nobody', body: { email, password } })).status === 200;
  /** Creates a new user. */
  const person = async (): Promise<{ id: number; email: string }> => {
    people += 1;
    const body = {
      email: `ann${people}@example.com`,
      username: `ann-no-${people}`,
      password: first,
      roles: ['viewer'],
    };
    return server.data('POST /api/users:create', { body });
  };
  /** Requests a reset, and returns the token from the mail. */
  const mailed = async (email: string): Promise<string> => {
    // Messages of earlier tests may still arrive: only the one to this address counts.
    const address = email.trim().toLowerCase();
    const before = box.countTo(address);
    expect((await lost(email)).status).toBe(200);
    await box.until(before + 1, address);
    const text = box.texts[box.received.findLastIndex(({ to }) => to.includes(address))];
    return /#token=(tbr_[A-Za-z0-9]+)/.exec(text!)![1]!;
  };
  const quiet = async (): Promise<void> => {
    const stored = await mailed((await person()).email);
    expect(stored).toMatch(/^tbr_/);
  };

  beforeAll(async () => {
    box = await SmtpReceiver.open();
    const env = { SMTP_URL: box.url, SMTP_FROM: 'no-reply@example.com', PUBLIC_URL: 'https://data.example.com/' };
    server = await TestServer.start(engine, { clock, env });
  });
  beforeEach(() => box.received.splice(0));
  afterAll(async () => {
    await server.stop();
    await box.close();
  });

  test('a mailed token sets a new password once and ends every session', async () => {
    const { id, email } = await person();
    const login = await server.signIn(email, first);
    const token = await mailed(`  ${email.toUpperCase()} `);
    expect(box.received[0]).toMatchObject({ from: 'no-reply@example.com', to: [email] });
    expect(box.texts[0]).toContain(`https://data.example.com/reset-password#token=${token}`);
    await server.play({
      name: 'the token sets the new password',
      request: 'POST /api/auth:resetPassword',
      as: 'nobody',
      body: { token, password: second },
      expect: { status: 200, body: { data: 1 }, events: ['users.updated'], absent: ['tbs_'] },
    });
    expect((await server.call('GET /api/auth:check', { as: login })).status).toBe(401);
    expect([await canEnter(email, first), await canEnter(email, second)]).toEqual([false, true]);
    await server.play({
      name: 'a used token is refused',
      request: 'POST /api/auth:resetPassword',
      as: 'nobody',
      body: { token, password: 'a third password' },
      expect: { status: 400, code: 'LINK_INVALID', body: linkInvalid },
    });
    const event = await server.data(`GET /api/users:get?filterByTk=${id}`);
    expect(event.updatedAt > event.createdAt).toBe(true);
  });

  test('one of several parallel uses of a token succeeds', async () => {
    const { email } = await person();
    const token = await mailed(email);
    const replies = await Promise.all([0, 1, 2, 3].map((each) => reset(token, `a new password ${each}`)));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 400, 400, 400]);
    const won = replies.findIndex((reply) => reply.status === 200);
    expect(await canEnter(email, `a new password ${won}`)).toBe(true);
  });

  test('an invalid new password does not use up the token', async () => {
    const { email } = await person();
    const token = await mailed(email);
    for (const password of ['seven77', email, 'x'.repeat(1025)])
      expect(await reset(token, password)).toMatchObject({
        status: 422,
        body: { details: { password: expect.any(String) } },
      });
    expect((await reset(token)).status).toBe(200);
  });

  test('a token expires after an hour', async () => {
    const token = await mailed((await person()).email);
    clock.advance(hour);
    expect(await reset(token)).toMatchObject({ status: 400, body: linkInvalid });
  });

  test.each([
    ['a new e-mail address', { email: 'elsewhere@example.com' }],
    ['another password', { password: 'a third password' }],
    ['a suspension', { status: 'suspended' }],
  ])('%s invalidates mailed tokens', async (_name, body) => {
    const { id, email } = await person();
    const token = await mailed(email);
    await server.data(`POST /api/users:update?filterByTk=${id}`, { body });
    await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { status: 'active' } });
    expect(await reset(token)).toMatchObject({ status: 400, body: linkInvalid });
  });

  test('a password change by the user and the use of another token invalidate mailed tokens', async () => {
    const { email } = await person();
    const one = await mailed(email);
    const login = await server.signIn(email, first);
    const body = { oldPassword: first, newPassword: second };
    await server.data('POST /api/auth:changePassword', { as: login, body });
    expect((await reset(one)).status).toBe(400);
    const [two, three] = [await mailed(email), await mailed(email)];
    expect([(await reset(three, first)).status, (await reset(two, first)).status]).toEqual([200, 400]);
  });

  test('unknown, suspended and malformed addresses get the same reply and no mail', async () => {
    const { id, email } = await person();
    const known = await lost(email);
    await box.until(1);
    await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { status: 'suspended' } });
    for (const other of [
      'who@example.com',
      email,
      'no address',
      `${email}\r\nBcc: evil@example.com`,
      `${email},evil@example.com`,
    ]) {
      const reply = await lost(other);
      expect([reply.status, reply.text]).toEqual([known.status, known.text]);
    }
    await quiet();
    expect(box.received).toHaveLength(2);
  });

  test('at most five tokens of a user are valid at the same time, and no more are sent', async () => {
    const { email } = await person();
    for (let asked = 0; asked < 5; asked += 1) await mailed(email);
    for (let asked = 0; asked < 5; asked += 1) await lost(email);
    await quiet();
    expect(box.received.filter(({ to }) => to.includes(email))).toHaveLength(5);
    clock.advance(hour);
    await mailed(email);
  });

  test('the reply does not wait for the mail, and takes equally long for unknown addresses', async () => {
    const { email } = await person();
    box.delay = 1500;
    const [known, unknown] = await compareDurations(
      () => lost(email),
      () => lost('who@example.com'),
    );
    expect(known).toBeLessThan(1400);
    expect(known).toBeLessThan(50 + 3 * unknown);
    box.delay = 0;
    await quiet();
  });

  test('the name of a user cannot add headers or lines to the mail', async () => {
    const body = { email: '"evil"<x>;y:@example.com', nickname: 'Ann\r\nBcc: evil@example.com', password: first };
    await server.call('POST /api/users:create', { body });
    const { email } = await person();
    await lost(body.email);
    await mailed(email);
    for (const { to, raw } of box.received) {
      expect(to).toHaveLength(1);
      const head = raw.slice(0, raw.indexOf('\r\n\r\n'));
      expect(head).not.toMatch(/^(bcc|cc):/im);
      expect(raw).not.toContain('Bcc: evil');
      expect(head.match(/^(to|subject|from):/gim)).toHaveLength(3);
    }
  });

  test('links use the configured address, whatever the request contains', async () => {
    const { email } = await person();
    const headers = {
      host: 'evil.example.com',
      'x-forwarded-host': 'evil.example.com',
      origin: 'https://evil.example.com',
    };
    await server.call('POST /api/auth:lostPassword', { as: 'nobody', body: { email }, headers });
    await box.until(1);
    expect(box.texts[0]).not.toContain('evil');
  });

  test.each([
    ['a token of another kind', () => makeToken('tbs')],
    ['an unknown token', () => makeToken('tbr')],
    ['a shortened token', () => makeToken('tbr').slice(0, -1)],
    ['anything', () => 'x'],
  ])('a request with %s is refused', async (_name, token) =>
    expect(await reset(token())).toMatchObject({ status: 400, body: linkInvalid }),
  );

  test.each([
    ['auth:lostPassword', {}],
    ['auth:lostPassword', { email: 5 }],
    ['auth:lostPassword', { email: 'a@b.de', url: 'https://evil.example.com' }],
    ['auth:resetPassword', { token: 'x' }],
    ['auth:resetPassword', { token: 'x', password: 'long enough', userId: 1 }],
  ])('a password reset with %s and %o is refused with 422', async (action, body) => {
    await server.play({
      name: 'an invalid body is refused',
      request: `POST /api/${action}`,
      as: 'nobody',
      body,
      expect: { status: 422, code: 'VALUE_INVALID' },
    });
  });

  test('a link of another application names it, and is only valid there', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const headers = { 'x-app': 'shop' };
    const body = { email: 'root@example.com' };
    await server.call('POST /api/auth:lostPassword', { as: 'nobody', body, headers });
    await box.until(1);
    const [, token] = /#token=(tbr_[A-Za-z0-9]+)&app=shop\s/.exec(box.texts[0]!)!;
    const set = { as: 'nobody', body: { token, password: second } };
    expect((await server.call('POST /api/auth:resetPassword', set)).body).toMatchObject(linkInvalid);
    expect((await server.call('POST /api/auth:resetPassword', { ...set, headers })).status).toBe(200);
    expect(await canEnter('root@example.com', first)).toBe(true);
  });

  test('tokens are not stored in plain text', async () => {
    const token = await mailed((await person()).email);
    const { database } = server.running.applications.main;
    const [rows] = await database.read([{ text: 'SELECT "tokenHash" FROM "oneTimeTokens"', values: [] }]);
    expect(JSON.stringify(rows)).not.toContain(token.slice(4, 40));
  });

  test('a failing mail server does not change the reply', async () => {
    const { email } = await person();
    const port = box.url;
    await box.close();
    expect((await lost(email)).status).toBe(200);
    expect(port).toMatch(/^smtp:/);
    box = await SmtpReceiver.open();
    await server.running.stop();
    await server.boot({ SMTP_URL: box.url });
    await mailed(email);
  });

  test('without a mail server every request is refused with 503', async () => {
    const other = await TestServer.start(engine);
    for (const email of ['root@example.com', 'who@example.com'])
      await other.play({
        name: 'a request without a mail server is refused',
        request: 'POST /api/auth:lostPassword',
        as: 'nobody',
        body: { email },
        expect: { status: 503, code: 'MAIL_OFF' },
      });
    await other.stop();
  });
});
