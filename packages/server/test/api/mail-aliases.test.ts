import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { SmtpReceiver } from '../support/smtp-receiver.ts';

describeEngines('sending from aliases', (engine) => {
  let receiver: SmtpReceiver;
  let server: TestServer;
  const account = (): Promise<Json> => server.data('GET /api/accounts/1', { as: 'ann' });
  const send = (from: unknown) =>
    server.call('POST /api/emails:send', { as: 'ann', body: { account: 1, to: 'cora@example.net', from } });
  const update = (body: object) => server.call('POST /api/accounts:update?filterByTk=1', { as: 'ann', body });

  beforeAll(async () => {
    receiver = await SmtpReceiver.open();
    const env = { SMTP_URL: receiver.url, SMTP_FROM: 'server@example.com', PUBLIC_URL: 'https://tablinum.example.com' };
    server = await startMailAccountServer(engine, env);
    await update({ aliases: ['support@example.com', 'sales@example.com', 'third@example.com'] });
  });
  afterAll(async () => {
    await server.stop();
    await receiver.close();
  });

  test('an account has an identity for its address and for each alias, and names for them', async () => {
    expect((await account()).identities).toEqual([
      { address: 'shop@example.com', name: null, verifiedAt: null, signature: null },
      { address: 'support@example.com', name: null, verifiedAt: null, signature: null },
      { address: 'sales@example.com', name: null, verifiedAt: null, signature: null },
      { address: 'third@example.com', name: null, verifiedAt: null, signature: null },
    ]);
    const verifiedAt = '2026-01-01T00:00:00.000Z';
    await update({ identities: [{ address: 'Support@example.com', name: ' Support team ', verifiedAt }] });
    expect((await account()).identities[1]).toEqual({
      address: 'support@example.com',
      name: 'Support team',
      verifiedAt: null,
      signature: null,
    });
    await server.play({
      name: 'names are only given to addresses of the account',
      request: 'POST /api/accounts:update?filterByTk=1',
      as: 'ann',
      body: { identities: [{ address: 'boss@example.com', name: 'Boss' }] },
      expect: { status: 422, code: 'VALUE_INVALID' },
    });
  });

  test('a message is only sent from the address of the account, or from a verified alias', async () => {
    for (const from of ['support@example.com', 'boss@example.com', 'Boss <boss@example.com>'])
      await server.play({
        name: `not from ${from}`,
        request: 'POST /api/emails:send',
        as: 'ann',
        body: { account: 1, to: 'cora@example.net', from },
        expect: { status: 422, code: 'VALUE_INVALID' },
      });
    const { body } = await send('SHOP@example.com');
    expect((await server.data(`GET /api/emails/${body.data.id}`, { as: 'ann' })).from).toEqual([
      { name: 'Shop', address: 'shop@example.com' },
    ]);
  });

  test('a code that arrives at the alias verifies it', async () => {
    const verify = (): Promise<Json> =>
      server.data('POST /api/accounts:verifyAlias?filterByTk=1', {
        as: 'ann',
        body: { address: 'support@example.com' },
      });
    await verify();
    await receiver.until(1, 'support@example.com');
    const code = /The code is (\d{8})/.exec(receiver.texts.at(-1)!)![1]!;
    await server.play({
      name: 'the next code is sent a minute later',
      request: 'POST /api/accounts:verifyAlias?filterByTk=1',
      as: 'ann',
      body: { address: 'support@example.com' },
      expect: { status: 429, code: 'RATE_LIMITED' },
    });
    const confirm = (entered: string | undefined, as = 'ann') =>
      server.call('POST /api/accounts:confirmAlias?filterByTk=1', {
        as,
        body: { address: 'support@example.com', ...(entered !== undefined && { code: entered }) },
      });
    const wrong = code === '00000000' ? '11111111' : '00000000';
    expect((await confirm(wrong)).status).toBe(422);
    expect((await confirm(undefined)).status).toBe(422);
    expect((await confirm(code, 'bob')).status).toBe(403);
    expect((await account()).identities[1].verifiedAt).toBe(null);
    expect((await confirm(code)).status).toBe(200);
    expect((await account()).identities[1]).toMatchObject({ name: 'Support team', verifiedAt: expect.any(String) });
    const { id } = (await send('support@example.com')).body.data;
    expect((await server.data(`GET /api/emails/${id}`, { as: 'ann' })).from).toEqual([
      { name: 'Support team', address: 'support@example.com' },
    ]);
    const { database } = server.running.applications.main;
    const [rows] = await database.read([{ text: `SELECT sender FROM "mailOutbox" WHERE "emailId"=${id}`, values: [] }]);
    expect(rows).toEqual([['support@example.com']]);
  });

  test('a code ends after ten wrong entries', async () => {
    await server.data('POST /api/accounts:verifyAlias?filterByTk=1', {
      as: 'ann',
      body: { address: 'third@example.com' },
    });
    await receiver.until(1, 'third@example.com');
    const code = /The code is (\d{8})/.exec(receiver.texts.at(-1)!)![1]!;
    const enter = (entered: string) =>
      server.call('POST /api/accounts:confirmAlias?filterByTk=1', {
        as: 'ann',
        body: { address: 'third@example.com', code: entered },
      });
    const wrong = code === '00000000' ? '11111111' : '00000000';
    for (let attempt = 0; attempt < 10; attempt += 1) expect((await enter(wrong)).status).toBe(422);
    expect((await enter(code)).status).toBe(422);
    expect((await account()).identities[3].verifiedAt).toBe(null);
  });

  test('removing an alias and adding it again does not send another code at once', async () => {
    const { aliases } = await account();
    const verify = () =>
      server.call('POST /api/accounts:verifyAlias?filterByTk=1', {
        as: 'ann',
        body: { address: 'victim@example.org' },
      });
    await update({ aliases: [...aliases, 'victim@example.org'] });
    expect((await verify()).status).toBe(200);
    await update({ aliases });
    await update({ aliases: [...aliases, 'victim@example.org'] });
    expect((await verify()).status).toBe(429);
    await update({ aliases });
  });

  test('an administrator confirms an alias without a code', async () => {
    await server.data('POST /api/accounts:confirmAlias?filterByTk=1', { body: { address: 'sales@example.com' } });
    expect((await account()).identities[2].verifiedAt).not.toBe(null);
    expect((await send('sales@example.com')).status).toBe(200);
  });

  test('a reply is sent from the address that received the message, and own addresses are no recipients', async () => {
    const mail = { from: 'cora@example.net', to: 'Support@example.com, dan@example.net', subject: 'Help', id: 'h@x' };
    await upload(server, 'ann', 1, makeRawMail(mail));
    const [{ id }] = await server.data('GET /api/emails?search=help', { as: 'ann' });
    const reply = await server.data('POST /api/emails:replyAll', { as: 'ann', body: { id, text: 'Yes', draft: true } });
    expect(reply).toMatchObject({
      from: [{ name: 'Support team', address: 'support@example.com' }],
      to: [{ address: 'cora@example.net' }],
      cc: [{ address: 'dan@example.net' }],
    });
  });

  test('a removed alias cannot send any more, and must be verified again', async () => {
    await update({ aliases: ['sales@example.com'] });
    expect((await send('support@example.com')).status).toBe(422);
    await update({ aliases: ['sales@example.com', 'support@example.com'] });
    expect((await send('support@example.com')).status).toBe(422);
    expect((await send('sales@example.com')).status).toBe(200);
  });
});
