import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimAutoReply } from '../../src/database/mail/auto-reply-rows.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import { deliverRawMail, storeArrival } from '../support/mail-arrivals.ts';
import { readOutbox } from '../support/mail-compose-server.ts';
import { day, MovingClock } from '../support/moving-clock.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('automatic replies', (engine) => {
  const clock = new MovingClock();
  let server: TestServer;
  let number = 0;
  beforeAll(async () => {
    server = await startMailAccountServer(engine, {}, { clock });
    await signIn();
    await server.data('PATCH /api/accounts/1', { as: 'ann', body: { aliases: ['sales@example.com'] } });
  });
  afterAll(() => server?.stop());

  const signIn = async (): Promise<void> => {
    await server.signInAsAdmin();
    for (const name of ['ann', 'bob'])
      server.tokens.set(name, await server.signIn(`${name}@example.com`, 'correct horse'));
  };
  const letter = (sender: string, more: object = {}): string => {
    number += 1;
    return makeRawMail({
      subject: `Question ${number}`,
      from: `Cora Lind <${sender}>`,
      id: `m${number}@example.net`,
      ...more,
    });
  };
  const receive = (raw: string, receivedAt = clock.now()): Promise<number> =>
    deliverRawMail(server, raw, { receivedAt: new Date(receivedAt).toISOString() });
  const setVacation = (vacation: object | null): Promise<Json> =>
    server.data('PATCH /api/accounts/1', { as: 'ann', body: { vacation } });
  /** The number of messages in the outbox at the last call of `readReplies`, which returns senders and recipients. */
  let seen = 0;
  const readReplies = async (): Promise<unknown[]> => {
    const all = await readOutbox(server);
    const fresh = all.slice(seen);
    seen = all.length;
    return fresh.map(([, , sender, recipients]) => [sender, recipients]);
  };
  const readLastReply = async (): Promise<Json> => {
    const [email] = (await readOutbox(server)).at(-1) ?? [];
    return server.data(`GET /api/emails/${email}`, { as: 'ann' });
  };

  test('a rule answers a sender once in a week, in the thread, with an empty envelope sender', async () => {
    const template = {
      type: 'reply',
      subject: 'We got it: {{subject}}',
      text: 'Dear {{name}},\nyou wrote from {{address}} about {{subject}}.',
      html: '<p>Dear {{name}}</p>',
    };
    const conditions = [{ field: 'from', operator: 'matchesDomain', value: 'rule.example' }];
    const body = { accountId: 1, name: 'Answer', conditions, actions: [template] };
    const rule = await server.data('POST /api/mailRules:create', { as: 'ann', body });
    const original = await receive(letter('cora@rule.example', { references: ['root@example.net'] }));
    expect(await readReplies()).toEqual([['', ['cora@rule.example']]]);
    const reply = await readLastReply();
    const { conversationId } = await server.data(`GET /api/emails/${original}`, { as: 'ann' });
    expect(reply).toMatchObject({
      subject: 'We got it: Question 1',
      folder: 'outbox',
      from: [{ name: 'Shop', address: 'shop@example.com' }],
      to: [{ address: 'cora@rule.example' }],
      inReplyTo: ['m1@example.net'],
      references: ['root@example.net', 'm1@example.net'],
      outgoing: true,
      text: expect.stringContaining('Dear Cora Lind,\nyou wrote from cora@rule.example about Question 1.'),
      html: '<p>Dear Cora Lind</p>',
      headers: expect.arrayContaining([
        ['Auto-Submitted', 'auto-replied'],
        ['X-Auto-Response-Suppress', 'All'],
      ]),
    });
    expect(typeof conversationId).toBe('number');
    await receive(letter('CORA@rule.example'));
    expect(await readReplies()).toEqual([]);
    await receive(letter('dan@rule.example'));
    expect(await readReplies()).toEqual([['', ['dan@rule.example']]]);
    clock.advance(7 * day + 1000);
    await signIn();
    await receive(letter('cora@rule.example'));
    expect(await readReplies()).toEqual([['', ['cora@rule.example']]]);
    await server.data(`POST /api/mailRules:destroy?filterByTk=${rule.id}`, { as: 'ann' });
  });

  test('values of the message become neither markup, nor headers, nor placeholders', async () => {
    const template = { type: 'reply', subject: '{{name}}', text: '{{subject}} {{other}}', html: '<p>{{subject}}</p>' };
    const conditions = [{ field: 'from', operator: 'matchesDomain', value: 'evil.example' }];
    const body = { accountId: 1, name: 'Evil', conditions, actions: [template] };
    const rule = await server.data('POST /api/mailRules:create', { as: 'ann', body });
    const subject = '<script>alert(1)</script>{{name}}';
    await receive(
      letter('eve@evil.example', { subject, from: '=?utf-8?q?Eve=0D=0ABcc:_x=40y.example?= <eve@evil.example>' }),
    );
    expect(await readReplies()).toEqual([['', ['eve@evil.example']]]);
    const reply = await readLastReply();
    expect(reply).toMatchObject({ to: [{ address: 'eve@evil.example' }], cc: [], bcc: [] });
    expect(reply.subject).not.toMatch(/[\r\n]/);
    expect(reply.text).toContain('<script>alert(1)</script>{{name}} {{other}}');
    expect(reply.html).toBe('<p>&lt;script&gt;alert(1)&lt;/script&gt;{{name}}</p>');
    expect(reply.headers.map(([name]: string[]) => name)).not.toContain('Bcc');
    await server.data(`POST /api/mailRules:destroy?filterByTk=${rule.id}`, { as: 'ann' });
  });

  test('a vacation reply answers those who name the account in To or Cc, once in a week', async () => {
    await setVacation({ enabled: true, text: 'I am away.' });
    await receive(letter('one@away.example'));
    expect(await readReplies()).toEqual([['', ['one@away.example']]]);
    expect(await readLastReply()).toMatchObject({
      subject: `Auto: Question ${number}`,
      text: expect.stringMatching(/^I am away\.\s*$/),
      headers: expect.arrayContaining([['Auto-Submitted', 'auto-replied']]),
    });
    await receive(letter('one@away.example'));
    expect(await readReplies()).toEqual([]);
    await receive(letter('two@away.example', { to: 'x@example.org', cc: 'SALES@example.com' }));
    expect(await readReplies()).toEqual([['', ['two@away.example']]]);
    await receive(letter('three@away.example', { headers: ['Return-Path: <bounce3@away.example>'] }));
    expect(await readReplies()).toEqual([['', ['bounce3@away.example']]]);
  });

  test.each([
    ['names the account only in Bcc', 'a1@away.example', { to: 'x@example.org' }],
    ['is an automatic reply', 'a2@away.example', { headers: ['Auto-Submitted: auto-replied'] }],
    ['is bulk mail', 'a3@away.example', { headers: ['Precedence: bulk'] }],
    ['comes from a mailing list', 'a4@away.example', { headers: ['List-Id: <x.example>'] }],
    ['has an empty return path', 'a5@away.example', { headers: ['Return-Path: <>'] }],
    ['comes from a mail server', 'MAILER-DAEMON@away.example', {}],
    ['comes from an address that nobody reads', 'no-reply@away.example', {}],
    ['comes from a program of a list', 'friends-request@away.example', {}],
    ['suppresses replies', 'a6@away.example', { headers: ['X-Auto-Response-Suppress: All'] }],
    ['is spam', 'a7@away.example', { headers: ['X-Spam-Flag: YES'] }],
    ['comes from the account itself', 'sales@example.com', {}],
  ])('no automatic reply to a message that %s', async (_, sender, more) => {
    await receive(letter(sender, more));
    expect(await readReplies()).toEqual([]);
  });

  test('no vacation reply is sent before or after the vacation, or without an enabled vacation', async () => {
    const at = (days: number): string => new Date(clock.now() + days * day).toISOString();
    await setVacation({ enabled: true, from: at(1), until: at(3), text: 'Away' });
    await receive(letter('time1@away.example'));
    expect(await readReplies()).toEqual([]);
    clock.advance(2 * day);
    await signIn();
    await receive(letter('time2@away.example'));
    expect(await readReplies()).toEqual([['', ['time2@away.example']]]);
    // A message that waited on another server since before the vacation.
    await receive(letter('time3@away.example'), clock.now() - 1.5 * day);
    expect(await readReplies()).toEqual([]);
    clock.advance(2 * day);
    await signIn();
    await receive(letter('time4@away.example'));
    await setVacation({ enabled: false, text: 'Away' });
    await receive(letter('time5@away.example'));
    await setVacation(null);
    await receive(letter('time6@away.example'));
    expect(await readReplies()).toEqual([]);
  });

  test('with "knownSendersOnly", strangers get no vacation reply', async () => {
    clock.advance(8 * day);
    await signIn();
    await setVacation({ enabled: true, text: 'Away', knownSendersOnly: true });
    await receive(letter('known@away.example'));
    await receive(letter('other.known@away.example'));
    // This sender only got an automatic reply, which nobody wrote, so it is not known.
    await receive(letter('time2@away.example'));
    expect(await readReplies()).toEqual([]);
    const body = { account: 1, to: 'Known@away.example', subject: 'Hello', text: 'Hello' };
    await server.data('POST /api/emails:send', { as: 'ann', body });
    expect(await readReplies()).toEqual([['shop@example.com', ['Known@away.example']]]);
    await receive(letter('known@away.example'));
    await receive(letter('other.known@away.example'));
    expect(await readReplies()).toEqual([['', ['known@away.example']]]);
  });

  test('a message gets one automatic reply: that of the rule, not that of the vacation too', async () => {
    await setVacation({ enabled: true, text: 'Away' });
    const conditions = [{ field: 'from', operator: 'matchesDomain', value: 'both.example' }];
    const actions = [{ type: 'reply', text: 'From the rule' }];
    const rule = await server.data('POST /api/mailRules:create', {
      as: 'ann',
      body: { accountId: 1, name: 'Both', conditions, actions },
    });
    await receive(letter('a@both.example'));
    expect(await readReplies()).toEqual([['', ['a@both.example']]]);
    expect(await readLastReply()).toMatchObject({ text: expect.stringContaining('From the rule') });
    await server.data(`POST /api/mailRules:destroy?filterByTk=${rule.id}`, { as: 'ann' });
  });

  test('an old message gets no automatic reply, and two servers send one reply', async () => {
    await setVacation({ enabled: true, text: 'Away' });
    await receive(letter('old@away.example'), clock.now() - 4 * day);
    expect(await readReplies()).toEqual([]);
    const { automation } = server.running.applications.main.mail;
    await automation.end();
    const receivedAt = new Date(clock.now()).toISOString();
    for (let round = 0; round < 3; round += 1) await storeArrival(server, letter('twice@away.example'), { receivedAt });
    automation.begin();
    await Promise.all([automation.wake(), automation.wake()]);
    expect(await readReplies()).toEqual([['', ['twice@away.example']]]);
  });

  test('of two replies to a sender that are composed at the same time, one is sent', async () => {
    const { database } = server.running.applications.main;
    const at = (days: number): string => new Date(clock.now() + days * day).toISOString();
    const reply = { account: 1, source: 'vacation', address: 'race@away.example' };
    const claim = (days: number): Promise<boolean> => {
      const bounds = { now: at(days), pauseStart: at(days - 7), hourStart: at(days - 1 / 24), maxReplies: 200 };
      return database.write((transaction) => claimAutoReply(database, transaction, reply, bounds));
    };
    expect([await claim(-10), await claim(-10), await claim(-3.1), await claim(-3)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  test('an account sends at most 200 automatic replies in an hour', async () => {
    await setVacation({ enabled: true, text: 'Away' });
    clock.advance(2 * 3_600_000);
    await signIn();
    const { database } = server.running.applications.main;
    const at = new Date(clock.now()).toISOString();
    const columns = '"accountId",source,address,at';
    await database.write(async (transaction) => {
      for (let index = 0; index < 199; index += 1)
        await transaction.run({
          text: `INSERT INTO "mailAutoReplies" (${columns}) VALUES (1,'vacation','flood${index}@x.example','${at}')`,
          values: [],
        });
    });
    await receive(letter('flood-a@away.example'));
    await receive(letter('flood-b@away.example'));
    expect(await readReplies()).toEqual([['', ['flood-a@away.example']]]);
  });
});
