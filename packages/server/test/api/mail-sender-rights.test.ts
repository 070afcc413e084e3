/** The senders that an account may use after its address, its aliases or its servers have changed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { deliverRawMail } from '../support/mail-arrivals.ts';
import { DeliveryFixture, relayUser } from '../support/mail-delivery-fixture.ts';
import { hour } from '../support/moving-clock.ts';
import { makeRawMail } from '../support/raw-mail.ts';

describeEngines('the rights of an account to send', (engine) => {
  let fixture: DeliveryFixture;
  beforeAll(async () => {
    fixture = await DeliveryFixture.open(engine);
  });
  afterAll(() => fixture?.stop());

  const update = (account: number, body: object): Promise<Json> =>
    fixture.server.data(`PATCH /api/accounts/${account}`, { body });
  const confirm = (account: number, address: string): Promise<Json> =>
    fixture.server.data(`POST /api/accounts:confirmAlias?filterByTk=${account}`, { body: { address } });

  // This test is the first: deliveries continue in the background, and a refusal must change nothing.
  test('a public host is refused without TLS', async () => {
    const account = await fixture.addAccount('tls@example.com');
    const plain = { host: '192.0.1.7', port: 25, security: 'none' };
    for (const name of ['imap', 'smtp'])
      await fixture.server.play({
        name: `${name} of a public host`,
        request: `PATCH /api/accounts/${account}`,
        body: { [name]: plain },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { [`${name}.security`]: expect.stringContaining('tls or starttls') } },
        },
      });
    const smtp = { ...plain, host: '127.0.0.1' };
    expect(await fixture.addAccount('plain@example.com', { smtp })).toEqual(expect.any(Number));
  });

  test('a scheduled message is not sent after the alias in its From was removed', async () => {
    const account = await fixture.addAccount('alias@example.com', { aliases: ['former@example.com'] });
    await confirm(account, 'former@example.com');
    const sendAt = new Date(fixture.clock.now() + hour).toISOString();
    const id = await fixture.send({ account, from: 'former@example.com', sendAt });
    await update(account, { aliases: [] });
    fixture.advance(hour);
    const email = await fixture.until(id, 'failed', 'sent');
    expect(email).toMatchObject({
      folder: 'outbox',
      deliveryStatus: 'failed',
      delivery: {
        problem: { code: 'senderNotAllowed', message: expect.stringContaining('former@example.com') },
        recipients: [{ address: 'cora@example.net', status: 'failed' }],
      },
    });
    expect(fixture.relay.received.filter(({ from }) => from === 'former@example.com')).toEqual([]);
  });

  test('another address needs the password again, unless it is a verified alias', async () => {
    const account = await fixture.addAccount('clerk@example.com', { aliases: ['desk@example.com'] });
    await update(account, { address: 'boss@example.com' });
    const claimed = await fixture.deliver({ account, subject: 'Not from the boss' }, 'retrying', 'sent');
    expect(claimed).toMatchObject({ deliveryStatus: 'retrying', delivery: { problem: { code: 'notConfigured' } } });
    expect(fixture.relay.received.filter(({ from }) => from === 'boss@example.com')).toEqual([]);

    await update(account, { address: 'clerk@example.com', smtpPassword: relayUser.password });
    await fixture.deliver({ account, subject: 'With the password' }, 'sent');

    await update(account, { name: 'Clerk', address: 'CLERK@example.com' });
    await fixture.deliver({ account, subject: 'The same address' }, 'sent');

    await confirm(account, 'desk@example.com');
    await update(account, { address: 'desk@example.com' });
    await fixture.deliver({ account, subject: 'From the alias' }, 'sent');
    expect(fixture.relay.received.at(-1)?.from).toBe('desk@example.com');
  });

  test('an automatic reply is not sent from an alias that was removed after it was queued', async () => {
    const address = 'help@example.com';
    const smtp = { host: '127.0.0.1', port: fixture.relay.port, security: 'starttls', user: relayUser.user };
    const vacation = { enabled: true, subject: 'Away', text: 'I am away.' };
    const account = await fixture.addAccount('team@example.com', { aliases: [address], smtp: null, vacation });
    await confirm(account, address);
    await update(account, { address, aliases: ['team@example.com'] });
    const answer = async (sender: string, to: string): Promise<number> => {
      const raw = makeRawMail({ subject: 'Question', from: sender, to, id: `question.${sender}` });
      const receivedAt = new Date(fixture.clock.now()).toISOString();
      await deliverRawMail(fixture.server, raw, { receivedAt, account: { id: account, address: to }, as: 'admin' });
      const [reply] = await fixture.server.data(`GET /api/emails?accountId=${account}&folder=outbox&sort=-id`);
      expect(reply).toMatchObject({ from: [{ address: to }], to: [{ address: sender }], subject: 'Away' });
      return reply.id;
    };
    const former = await answer('dan@example.net', address);
    // After another change of the address, the account may not send as the former alias.
    await update(account, { address: 'team@example.com', aliases: null, smtp, smtpPassword: relayUser.password });
    fixture.advance(1000);
    const refused = await fixture.until(former, 'failed', 'sent');
    expect(refused).toMatchObject({
      deliveryStatus: 'failed',
      delivery: { problem: { code: 'senderNotAllowed', message: expect.stringContaining(address) } },
    });
    expect(fixture.relay.received.filter(({ to }) => to.includes('dan@example.net'))).toEqual([]);

    const present = await answer('eve@example.net', 'team@example.com');
    fixture.advance(1000);
    await fixture.until(present, 'sent');
    expect(fixture.relay.received.at(-1)).toMatchObject({ from: '', to: ['eve@example.net'] });
  });
});
