/** Sent messages in the reading pane: their outcome, its reasons, and the decisions that a user can make. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import type { Json } from '../../server/test/support/json.ts';
import { DeliveryFixture } from '../../server/test/support/mail-delivery-fixture.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('sent messages', () => {
  describeWebEngines('in the reading pane', (engine) => {
    let fixture: DeliveryFixture;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    const message = () => page.getByRole('article').last();
    const button = (name: string) => message().getByRole('button', { name, exact: true });
    const status = (text: string | RegExp) => message().getByRole('status').getByText(text).first();
    const open = (email: Json): Promise<unknown> =>
      page.goto(`${fixture.server.running.url}/a/main/inbox?folder=any&c=${email.conversationId}`);

    beforeAll(async () => {
      buildWebInterface();
      fixture = await DeliveryFixture.open(engine);
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, fixture.server.running.url));
      await page.goto(`${fixture.server.running.url}/a/main/inbox`);
      await signIn(page);
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await fixture?.stop();
    });

    test('a queued message shows when it is sent, and becomes a draft again', long, async () => {
      const email = await fixture.get(await fixture.send({ subject: 'Queued' }));
      await open(email);
      await status(/^Queued\. It is sent at /).waitFor();
      await expectAccessible(page, 'message that is queued');
      await button('Cancel sending').click();
      await message().getByRole('button', { name: 'Continue writing' }).waitFor();
      expect(await fixture.get(email.id)).toMatchObject({ folder: 'drafts', deliveryStatus: null });
    });

    test('a message that is sent while it is open shows this without a reload', long, async () => {
      const email = await fixture.get(await fixture.send({ subject: 'Followed' }));
      await open(email);
      await status(/^Queued/).waitFor();
      fixture.advance(10_000);
      await status(/^Sent /).waitFor();
      await expectAccessible(page, 'message that is sent');
      await expect.poll(() => button('Cancel sending').count()).toBe(0);
    });

    test('a refused recipient is shown with the reason, and the message is sent again only to it', long, async () => {
      fixture.relay.fault = ({ step, address }) =>
        step === 'rcpt' && address === 'gone@example.net' ? { code: 550, message: 'No such user' } : null;
      const email = await fixture.deliver(
        { subject: 'Partly', to: ['cora@example.net', 'gone@example.net'] },
        'partlySent',
      );
      await open(email);
      const sent = page.getByRole('article', { name: 'Message from Shop', exact: true });
      await sent.getByRole('button', { expanded: false }).click();
      const state = sent.getByRole('status');
      await state.getByText('Not delivered to all recipients').waitFor();
      await state.getByText(/gone@example\.net.*refused\. The mail server said: .*No such user/).waitFor();
      await expectAccessible(page, 'message that some recipients did not get');
      fixture.relay.fault = () => null;
      await sent.getByRole('button', { name: 'Send again' }).click();
      await state.getByText(/^Sent /).waitFor();
      expect(fixture.relay.received.at(-1)!.to).toEqual(['gone@example.net']);
    });

    test('a temporary refusal shows the next attempt, which can be made immediately', long, async () => {
      fixture.relay.fault = ({ step }) => (step === 'rcpt' ? { code: 451, message: 'Greylisted' } : null);
      const email = await fixture.deliver({ subject: 'Retrying' }, 'retrying');
      await open(email);
      await status(/Next attempt: /).waitFor();
      await message()
        .getByText(/Greylisted/)
        .waitFor();
      await expectAccessible(page, 'message that is tried again');
      fixture.relay.fault = () => null;
      await button('Try now').click();
      await status(/^Sent /).waitFor();
    });

    test('a message whose outcome is unknown is only sent again if the user decides so', long, async () => {
      fixture.relay.fault = ({ step }) => (step === 'data' ? { drop: true, isDelivered: true } : null);
      const email = await fixture.deliver({ subject: 'Unknown' }, 'unknown');
      fixture.relay.fault = () => null;
      const count = fixture.relay.received.length;
      await open(email);
      await status('It is not known whether this message was sent').waitFor();
      await expectAccessible(page, 'message with an unknown outcome');
      await button('Stop sending').click();
      await message().getByRole('button', { name: 'Continue writing' }).waitFor();
      expect(fixture.relay.received).toHaveLength(count);
    });

    test('a message of an account without an SMTP server shows what is missing', long, async () => {
      const { id } = await fixture.server.data('POST /api/accounts:create', { body: { address: 'none@example.com' } });
      const email = await fixture.get(await fixture.send({ account: id, subject: 'Waiting' }));
      fixture.advance(10_000);
      await expect.poll(async () => (await fixture.get(email.id)).delivery.problem?.code).toBe('smtpMissing');
      await open(email);
      await status('Waiting to be sent').waitFor();
      await message().getByText('The account has no SMTP server.').waitFor();
      await expectAccessible(page, 'message that waits for a server');
    });

    test('no page violated its policy or called another server', () => {
      const errors = misdeeds.errors.filter((each) => !/status of 401/.test(each));
      expect({ ...misdeeds, errors }).toEqual({ violations: [], errors: [], foreign: [] });
    });
  });
});
