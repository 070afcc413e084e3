import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { DeliveryFixture } from '../support/mail-delivery-fixture.ts';

describeEngines('a server with MAIL_DELIVERY=off', (engine) => {
  let fixture: DeliveryFixture;
  beforeAll(async () => {
    fixture = await DeliveryFixture.open(engine, {}, { MAIL_DELIVERY: 'off' });
  });
  afterAll(() => fixture.stop());

  test('keeps messages in the outbox after they are due, and schedules no opening for them', async () => {
    const id = await fixture.send({});
    fixture.advance(60_000);
    await pause(500);
    expect(fixture.relay.received).toHaveLength(0);
    expect(await fixture.get(id)).toMatchObject({ folder: 'outbox', deliveryStatus: 'queued' });
    expect(await fixture.server.running.applications.main.mail.nextDue()).toBeNull();
  });
});
