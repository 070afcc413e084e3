import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { DeliveryFixture, relayUser } from '../support/mail-delivery-fixture.ts';
import { hour } from '../support/moving-clock.ts';

const { outcomes } = DeliveryFixture;

describeEngines('delivery of mail', (engine) => {
  let fixture: DeliveryFixture;
  beforeAll(async () => {
    fixture = await DeliveryFixture.open(engine);
  });
  afterAll(() => fixture.stop());
  beforeEach(() => {
    fixture.relay.fault = () => null;
  });
  const received = () => fixture.relay.received;

  test('a message is sent after the undo window, with the stored bytes, to all recipients of its envelope', async () => {
    const id = await fixture.send({ cc: 'dan@example.net', bcc: 'eve@example.net' });
    expect(await fixture.get(id)).toMatchObject({
      folder: 'outbox',
      deliveryStatus: 'queued',
      delivery: { attempts: 0, problem: null, recipients: [{}, {}, { address: 'eve@example.net', status: 'queued' }] },
    });
    const raw = await fetch(`${fixture.server.running.url}/api/emails/${id}?raw=1`, {
      headers: { authorization: `Bearer ${fixture.server.tokens.get('admin')}` },
    });
    fixture.advance(5000);
    await pause(100);
    expect(received()).toEqual([]);
    fixture.advance(5000);
    const email = await fixture.until(id, 'sent');
    expect(email).toMatchObject({ id, folder: 'sent', delivery: { attempts: 1, nextAttemptAt: null, problem: null } });
    expect(new Set(Object.values(outcomes(email)))).toEqual(new Set(['accepted']));
    const [message] = received();
    expect(message).toMatchObject({
      from: 'shop@example.com',
      to: ['cora@example.net', 'dan@example.net', 'eve@example.net'],
    });
    expect(message!.raw.equals(Buffer.from(await raw.arrayBuffer()))).toBe(true);
    expect(message!.raw.toString()).not.toContain('eve@example.net');
  });

  test('a temporary refusal is retried after increasing waits until the server accepts', async () => {
    const before = received().length;
    fixture.relay.fault = ({ step }) => (step === 'rcpt' ? { code: 451, message: 'Greylisted' } : null);
    const { id, delivery } = await fixture.deliver({}, 'retrying');
    expect(delivery).toMatchObject({
      attempts: 1,
      recipients: [{ status: 'deferred', code: 451, reply: expect.stringMatching(/^451 .*Greylisted$/) }],
    });
    const wait = Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.lastAttemptAt);
    expect(wait).toBeGreaterThanOrEqual(60_000);
    expect(wait).toBeLessThanOrEqual(72_000);
    fixture.relay.fault = () => null;
    fixture.advance(72_000);
    const email = await fixture.until(id, 'sent');
    expect(email.delivery.attempts).toBe(2);
    expect(received().length).toBe(before + 1);
  });

  test('after two days of temporary refusals the message has failed and stays in the outbox', async () => {
    fixture.relay.fault = ({ step }) => (step === 'data' ? { code: 451, message: 'Later' } : null);
    let email = await fixture.deliver({ subject: 'Patience' }, 'retrying');
    for (let attempts = 1; email.deliveryStatus === 'retrying'; attempts += 1) {
      expect(attempts).toBeLessThan(30);
      fixture.advance(Date.parse(email.delivery.nextAttemptAt) - fixture.clock.now());
      for (; email.delivery.attempts === attempts; ) email = await fixture.until(email.id, 'retrying', 'failed');
    }
    const { firstAttemptAt, lastAttemptAt, recipients } = email.delivery;
    expect(Date.parse(lastAttemptAt) - Date.parse(firstAttemptAt)).toBeGreaterThanOrEqual(48 * hour);
    expect(recipients[0].reply).toMatch(/^It was not accepted within two days. 451 .*Later$/);
    expect(email.folder).toBe('outbox');
  });

  test('a permanently refused recipient fails with a report in the conversation; the others receive the message', async () => {
    fixture.relay.fault = ({ step, address }) =>
      step === 'rcpt' && address === 'gone@example.net' ? { code: 550, message: 'No such user' } : null;
    const email = await fixture.deliver(
      { subject: 'Three', to: ['cora@example.net', 'gone@example.net', 'dan@example.net'] },
      'partlySent',
    );
    expect(outcomes(email)).toEqual({
      'cora@example.net': 'accepted',
      'gone@example.net': 'failed',
      'dan@example.net': 'accepted',
    });
    expect(received().at(-1)!.to).toEqual(['cora@example.net', 'dan@example.net']);
    const { emails } = await fixture.server.data(`GET /api/conversations/${email.conversationId}`);
    expect(emails).toHaveLength(2);
    expect(emails[1]).toMatchObject({
      from: [{ name: 'Mail delivery', address: 'mailer-daemon@example.com' }],
      subject: 'Re: Three',
      folder: 'inbox',
      read: false,
      inReplyTo: [email.messageId],
    });
    expect(emails[1].text).toContain('gone@example.net\n    550 5.1.1 No such user');
  });

  test('the reply of the server about a recipient is shown on one line of at most 500 characters', async () => {
    const message = `a\0b \x1b[31m ${'x'.repeat(460)}${'😀'.repeat(2000)}`;
    fixture.relay.fault = ({ step }) => (step === 'rcpt' ? { code: 550, message } : null);
    const { delivery } = await fixture.deliver({ subject: 'Hostile' }, 'failed');
    const [{ reply, code }] = delivery.recipients;
    expect(code).toBe(550);
    expect(reply).toMatch(/^550 5\.1\.1 a b \[31m x+/);
    expect(reply).not.toMatch(/[\p{Cc}\ufffd]/u);
    expect([reply.isWellFormed(), reply.length <= 500, reply.endsWith('…')]).toEqual([true, true, true]);
  });

  test('a connection that is lost before the message was transmitted leads to another attempt', async () => {
    const before = received().length;
    fixture.relay.fault = ({ step }) => (step === 'rcpt' ? { drop: true } : null);
    const email = await fixture.deliver({}, 'retrying');
    expect(outcomes(email)).toEqual({ 'cora@example.net': 'deferred' });
    fixture.relay.fault = () => null;
    fixture.advance(72_000);
    await fixture.until(email.id, 'sent');
    expect(received().length).toBe(before + 1);
  });

  test('a connection that is lost after the message was transmitted makes the outcome unknown, and nothing is sent again', async () => {
    const before = received().length;
    fixture.relay.fault = ({ step }) => (step === 'data' ? { drop: true, isDelivered: true } : null);
    const email = await fixture.deliver({ subject: 'Lost reply' }, 'unknown');
    expect(email).toMatchObject({
      folder: 'outbox',
      delivery: { nextAttemptAt: null, problem: { code: 'outcomeUnknown' } },
    });
    fixture.relay.fault = () => null;
    for (let hours = 0; hours < 50; hours += 10) {
      fixture.advance(10 * hour);
      await pause(50);
    }
    expect((await fixture.get(email.id)).deliveryStatus).toBe('unknown');
    expect(received().length).toBe(before + 1);

    // A reply shows that the message was sent.
    await fixture.receive({ from: 'cora@example.net', subject: 'Re: Lost reply', references: [email.messageId] });
    const settled = await fixture.until(email.id, 'sent');
    expect(settled.delivery).toMatchObject({ problem: null, recipients: [{ status: 'accepted' }] });
    await fixture.untilFolder(email.id, 'sent');
    expect(received().length).toBe(before + 1);
  });

  test('the user decides about a message with an unknown outcome: send again, or make a draft', async () => {
    fixture.relay.fault = ({ step }) => (step === 'data' ? { drop: true } : null);
    const [first, second] = [await fixture.deliver({}, 'unknown'), await fixture.deliver({}, 'unknown')];
    fixture.relay.fault = () => null;
    const before = received().length;
    const again = await fixture.server.data('POST /api/emails:retrySend', { body: { id: first.id } });
    expect(again).toMatchObject({ deliveryStatus: 'queued', delivery: { attempts: 0, problem: null } });
    await fixture.until(first.id, 'sent');
    expect(received().length).toBe(before + 1);
    const draft = await fixture.server.data('POST /api/emails:cancelSend', { body: { id: second.id } });
    expect(draft).toMatchObject({ draft: true, folder: 'drafts', deliveryStatus: null, delivery: null });
    await fixture.server.play({
      name: 'a sent message is not sent again',
      request: 'POST /api/emails:retrySend',
      body: { id: first.id },
      expect: { status: 409, code: 'MAIL_NOT_QUEUED' },
    });
    await fixture.server.play({
      name: 'the sending of a sent message cannot be cancelled',
      request: 'POST /api/emails:cancelSend',
      body: { id: first.id },
      expect: { status: 409, code: 'MAIL_NOT_QUEUED' },
    });
  });

  test('cancelling ends the attempts for the recipients that the message has not reached', async () => {
    fixture.relay.fault = ({ step, address }) =>
      step === 'rcpt' && address === 'slow@example.net' ? { code: 450, message: 'Mailbox busy' } : null;
    const email = await fixture.deliver({ to: ['cora@example.net', 'slow@example.net'] }, 'retrying');
    expect(email.folder).toBe('sent');
    await fixture.server.data('POST /api/emails:cancelSend', { body: { id: email.id } });
    expect(await fixture.get(email.id)).toMatchObject({ draft: false, folder: 'sent', deliveryStatus: 'partlySent' });
    fixture.advance(hour);
    await pause(50);
    expect(outcomes(await fixture.get(email.id))).toEqual({
      'cora@example.net': 'accepted',
      'slow@example.net': 'cancelled',
    });
  });

  test('delivery reports and read receipts change the outcome of their recipient', async () => {
    const email = await fixture.deliver(
      { to: ['cora@example.net', 'dan@example.net'], bcc: 'eve@example.net' },
      'sent',
    );
    await fixture.receiveReport(email.messageId, [
      { recipient: 'CORA@example.net', action: 'failed', status: '5.2.2', diagnostic: '552 5.2.2 Mailbox full' },
      { recipient: 'dan@example.net', action: 'delivered', status: '2.0.0' },
      { recipient: 'stranger@example.net', action: 'failed', status: '5.0.0' },
    ]);
    let now = await fixture.until(email.id, 'partlySent');
    expect(outcomes(now)).toEqual({
      'cora@example.net': 'failed',
      'dan@example.net': 'delivered',
      'eve@example.net': 'accepted',
    });
    expect(now.delivery.recipients[0]).toMatchObject({ code: 552, reply: '5.2.2 552 5.2.2 Mailbox full' });
    await fixture.receiveReceipt(email.messageId, 'eve@example.net');
    now = await fixture.get(email.id);
    expect(now.delivery.recipients[2]).toMatchObject({ status: 'delivered', readAt: expect.any(String) });
    // The user sends it again to the recipient who did not get it.
    await fixture.server.data('POST /api/emails:retrySend', { body: { id: email.id } });
    await fixture.until(email.id, 'sent');
    expect(received().at(-1)!.to).toEqual(['cora@example.net']);
  });

  test('messages of an account without an SMTP server wait until it has one', async () => {
    const account = await fixture.addAccount('plain@example.com', { smtp: null });
    const id = await fixture.send({ account });
    fixture.advance(hour);
    await pause(100);
    expect(await fixture.get(id)).toMatchObject({
      deliveryStatus: 'queued',
      delivery: { problem: { code: 'smtpMissing' } },
    });
    const smtp = { host: '127.0.0.1', port: fixture.relay.port, security: 'starttls', user: relayUser.user };
    await fixture.server.data(`POST /api/accounts:update?filterByTk=${account}`, {
      body: { smtp, smtpPassword: relayUser.password },
    });
    const sent = await fixture.until(id, 'sent');
    expect(sent.delivery.problem).toBe(null);
  });
});
