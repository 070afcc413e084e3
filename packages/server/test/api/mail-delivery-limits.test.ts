import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { upload } from '../support/mail-account-server.ts';
import { DeliveryFixture, relayUser } from '../support/mail-delivery-fixture.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { type SmtpRelay, type SmtpRelayOptions, startSmtpRelay } from '../support/smtp-relay.ts';

const { outcomes } = DeliveryFixture;

describeEngines('limits of SMTP servers', (engine) => {
  let fixture: DeliveryFixture;
  const relays: SmtpRelay[] = [];
  beforeAll(async () => {
    fixture = await DeliveryFixture.open(engine);
  });
  afterAll(async () => {
    await fixture.stop();
    for (const relay of relays) await relay.stop();
  });

  /** An account that sends by a relay with some limits. */
  async function startAccount(address: string, options: SmtpRelayOptions): Promise<[number, SmtpRelay]> {
    const { certificate } = fixture.relay;
    const relay = await startSmtpRelay({ users: { [relayUser.user]: relayUser.password }, certificate, ...options });
    relays.push(relay);
    const smtp = { host: '127.0.0.1', port: relay.port, security: 'starttls', user: relayUser.user };
    return [await fixture.addAccount(address, { smtp }), relay];
  }

  test('a message that is larger than the server allows is not transmitted, and can be made smaller', async () => {
    const [account, relay] = await startAccount('small@example.com', { size: 5000 });
    const email = await fixture.deliver({ account, text: 'word '.repeat(2000) }, 'failed');
    expect(email).toMatchObject({ folder: 'outbox', delivery: { problem: { code: 'messageTooLarge' } } });
    expect(email.delivery.recipients[0].reply).toMatch(
      /^The message has \d+ bytes, and the server accepts at most 5000\.$/,
    );
    await fixture.server.data('POST /api/emails:cancelSend', { body: { id: email.id } });
    const sent = await fixture.server.data('POST /api/emails:send', { body: { id: email.id, text: 'Short.' } });
    fixture.advance(10_000);
    await fixture.until(sent.id, 'sent');
    expect(relay.received).toHaveLength(1);
  });

  test('more recipients than the server takes at once are sent in several transactions, each recipient once', async () => {
    const [account, relay] = await startAccount('many@example.com', {});
    let taken = 0;
    relay.fault = ({ step }) => {
      if (step === 'mail') taken = 0;
      if (step !== 'rcpt') return null;
      taken += 1;
      return taken > 3 ? { code: 452, message: 'Too many recipients' } : null;
    };
    const to = Array.from({ length: 8 }, (_, index) => `r${index}@example.net`);
    const email = await fixture.deliver({ account, to }, 'sent');
    expect(email.delivery.attempts).toBe(1);
    expect(relay.received.map((each) => each.to.length)).toEqual([3, 3, 2]);
    expect(relay.received.flatMap((each) => each.to)).toEqual(to);
  });

  test('more than a hundred recipients are split even if the server announces no limit', async () => {
    const [account, relay] = await startAccount('crowd@example.com', {});
    const to = Array.from({ length: 101 }, (_, index) => `r${index}@example.net`);
    await fixture.deliver({ account, to }, 'sent');
    expect(relay.received.map((each) => each.to.length)).toEqual([100, 1]);
  });

  test('non-ASCII addresses are sent if the server supports them', async () => {
    const [account, relay] = await startAccount('modern@example.com', {});
    const email = await fixture.deliver({ account, to: 'jörg@example.net', cc: 'ann@bücher.example' }, 'sent');
    expect(outcomes(email)).toEqual({ 'jörg@example.net': 'accepted', 'ann@bücher.example': 'accepted' });
    expect(relay.received).toMatchObject([{ isUtf8: true, to: ['jörg@example.net', expect.stringContaining('@')] }]);
  });

  test('SMTPUTF8 is also requested if only the headers contain a non-ASCII address', async () => {
    const [account, relay] = await startAccount('headers@example.com', {});
    relay.fault = ({ step, address }) =>
      step === 'rcpt' && address === 'ann@example.net' ? { code: 451, message: '4.7.1 Try again later' } : null;
    const { id } = await fixture.deliver({ account, to: 'jörg@example.net', cc: 'ann@example.net' }, 'retrying');
    relay.fault = () => null;
    fixture.advance(120_000);
    await fixture.until(id, 'sent');
    expect(relay.received).toMatchObject([
      { isUtf8: true, to: ['jörg@example.net'] },
      { isUtf8: true, to: ['ann@example.net'] },
    ]);
    await fixture.deliver({ account, to: 'ann@example.net' }, 'sent');
    expect(relay.received.at(-1)).toMatchObject({ isUtf8: false });
  });

  test('without SMTPUTF8, a non-ASCII domain can be sent, and a non-ASCII local part cannot', async () => {
    const [account, relay] = await startAccount('older@example.com', { hidden: ['SMTPUTF8'] });
    const refused = await fixture.deliver({ account, to: 'jörg@example.net' }, 'failed');
    expect(refused.delivery.problem).toMatchObject({ code: 'smtpUtf8Missing' });
    await fixture.deliver({ account, to: 'ann@bücher.example' }, 'sent');
    expect(relay.received).toMatchObject([{ isUtf8: false }]);
  });

  test('an attached non-ASCII message is only sent if the server supports it, and can be removed', async () => {
    const [account, relay] = await startAccount('seven@example.com', { hidden: ['8BITMIME'] });
    const old = `${makeRawMail({ subject: 'Old', text: 'Grüße' })}\r\n`;
    const { ids } = await upload(fixture.server, 'admin', account, old);
    const body = { id: ids[0], to: 'ann@example.net', asAttachment: true, text: 'See below.' };
    const { id } = await fixture.server.data('POST /api/emails:forward', { body });
    fixture.advance(10_000);
    const refused = await fixture.until(id, 'failed');
    expect(refused.delivery.problem).toMatchObject({
      code: 'eightBitMissing',
      cure: expect.stringContaining('remove the attached message'),
    });
    expect(relay.received).toEqual([]);
    const draft = await fixture.server.data('POST /api/emails:cancelSend', { body: { id } });
    const sent = await fixture.server.data('POST /api/emails:send', { body: { id: draft.id, attachments: [] } });
    fixture.advance(10_000);
    await fixture.until(sent.id, 'sent');
    expect(relay.received).toHaveLength(1);
  });

  test('a wrong password makes the message wait, and the right one sends it at once', async () => {
    const [account, relay] = await startAccount('login@example.com', { users: { [relayUser.user]: 'other' } });
    const email = await fixture.deliver({ account }, 'retrying');
    expect(email.delivery.problem).toMatchObject({
      code: 'wrongPassword',
      message: expect.stringContaining('does not accept this password'),
      cure: expect.stringContaining('enter the password again'),
    });
    await fixture.server.data(`POST /api/accounts:update?filterByTk=${account}`, { body: { smtpPassword: 'other' } });
    await fixture.until(email.id, 'sent');
    expect(relay.received).toHaveLength(1);
  });
});
