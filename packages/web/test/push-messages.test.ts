/** Push messages: a browser is subscribed, shows messages while the inbox is closed, and opens their conversation. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import type { Json } from '../../server/test/support/json.ts';
import { startMailAccountServer } from '../../server/test/support/mail-account-server.ts';
import { PushService } from '../../server/test/support/push-service.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { describeDevice } from '../src/inbox/notifications/device-name.ts';
import { deliverToInbox } from './support/shop-inbox-server.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 60_000 };
/** A folder for screenshots that people look at. */
const pictures = process.env['PUSH_PICTURES'];

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0', 'Edge on Windows'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1', 'Safari on iPhone'],
  ['', 'Browser'],
])('the browser %j is called %s', (userAgent, name) => expect(describeDevice(userAgent)).toBe(name));

describe.skipIf(chromium === null)('push messages in the inbox', () => {
  const service = new PushService();
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const list = (): Promise<Json> => server.data('GET /api/mailPushSubscriptions', { as: 'ann' });
  const inWorker = (code: string): Promise<Json> => page.context().serviceWorkers()[0]!.evaluate(code);
  /** The title, text and tag of each notification that the service worker shows. */
  const shown = (): Promise<Json> => inWorker('shown.map(({ title, body, tag }) => [title, body, tag])');

  beforeAll(async () => {
    buildWebInterface();
    await service.start();
    server = await startMailAccountServer(sqlite, { MAIL_PUSH_ALLOW: '127.0.0.1' });
    const mail = { subject: 'Broken turntable', from: 'Cora Lind <cora@example.net>', id: 't1@example.net' };
    await deliverToInbox(server, { ...mail, text: 'The tonearm is loose.' });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    page.setDefaultTimeout(10_000);
    // A headless browser has neither notifications nor a push service, so both are replaced.
    const subscription = JSON.stringify(service.subscribe('browser'));
    await page.addInitScript(`
      Object.defineProperty(Notification, 'permission', { get: () => sessionStorage.allowed ?? 'default' });
      Notification.requestPermission = async () => (sessionStorage.allowed = 'granted');
      const made = { ...${subscription}, toJSON: () => (${subscription}), unsubscribe: async () => delete sessionStorage.pushed };
      PushManager.prototype.subscribe = async (options) => {
        if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw new Error('wrong options');
        sessionStorage.pushed = '1';
        return made;
      };
      PushManager.prototype.getSubscription = async () => (sessionStorage.pushed ? made : null);
    `);
    await page.goto(`${server.running.url}/a/main/inbox`);
    await signIn(page, 'ann@example.com', 'correct horse');
    await page.getByText('Broken turntable').waitFor();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    await service.stop();
  });

  test('a browser is subscribed with a switch, and subscribed again when the page is opened', long, async () => {
    await page.getByRole('button', { name: 'Notifications' }).click();
    await page.getByRole('switch', { name: 'Show notifications on this device' }).click();
    await page.getByRole('switch', { name: 'New mail too' }).click();
    await expect.poll(async () => (await list()).map(({ newMail }: Json) => newMail)).toEqual([true]);
    await expectAccessible(page, 'push settings');
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/push.png` });
    expect((await list())[0].name).toMatch(/^Chrome on /);
    const { database } = server.running.applications.main;
    await database.write((transaction) =>
      transaction.run({ text: 'UPDATE "mailPushSubscriptions" SET "loginId"=0', values: [] }),
    );
    await page.goto(`${server.running.url}/a/main/inbox/accounts`);
    await page.goto(`${server.running.url}/a/main/inbox`);
    await expect
      .poll(async () => {
        const text = 'SELECT count(*) FROM "mailPushSubscriptions" WHERE "loginId">0';
        const [rows] = await database.read([{ text, values: [] }]);
        return Number(rows![0]![0]);
      })
      .toBe(1);
  });

  test('a message from the server is shown, and a click opens the conversation', long, async () => {
    await server.data('POST /api/conversationNotes', {
      as: 'ann',
      body: { conversationId: 1, text: 'For me', mentions: [2] },
    });
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
    await server.data('POST /api/conversationNotes', {
      as: 'bob',
      body: { conversationId: 1, text: 'Please look', mentions: [2] },
    });
    await server.running.applications.main.mail.push.runNow();
    const message = service.received.find(({ payload }) => payload.kind === 'mention')!;
    await page.goto(`${server.running.url}/a/main/inbox/accounts`);
    await page.getByRole('heading', { name: 'Mail accounts' }).waitFor();
    const session = await page.context().newCDPSession(page);
    const registration = new Promise<string>((resolve) => {
      session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const found = registrations.find(({ scopeURL }) => scopeURL.endsWith('/a/main/'));
        if (found) resolve(found.registrationId);
      });
    });
    await session.send('ServiceWorker.enable');
    const target = { origin: server.running.url, registrationId: await registration };
    await inWorker(`
      self.shown = [];
      registration.showNotification = async (title, options) => {
        shown = [...shown.filter(({ tag }) => tag !== options.tag), { title, ...options }];
      };
    `);
    const deliver = (data: string): Promise<unknown> =>
      session.send('ServiceWorker.deliverPushMessage', { ...target, data });
    await deliver(JSON.stringify(message.payload));
    await expect.poll(shown).toEqual([['You were mentioned in a note', 'Broken turntable', 'conversation-1']]);
    await deliver(JSON.stringify({ kind: 'newMail', conversation: 1, subject: 'Re: Turntable', from: 'Cora Lind' }));
    await expect.poll(shown).toEqual([['Cora Lind', 'Re: Turntable', 'conversation-1']]);
    await deliver('not JSON');
    await expect.poll(async () => (await shown()).length).toBe(2);
    await page.goto(`${server.running.url}/a/main/inbox`);
    await page.getByText('Broken turntable').waitFor();
    await inWorker(`
      const click = new Event('notificationclick');
      click.notification = { data: shown.find(({ title }) => title === 'Cora Lind').data, close: () => {} };
      click.waitUntil = (work) => work.catch(() => {}); // only a click of a person may focus a window
      dispatchEvent(click);
    `);
    await page.getByRole('heading', { name: 'Broken turntable' }).waitFor();
    expect(new URL(page.url()).search).toBe('?c=1');
  });

  test(
    'a subscription that the browser replaces is registered in the background, but not after the user has signed out',
    long,
    async () => {
      const renew = (name: string): Promise<Json> =>
        inWorker(`new Promise((resolve) => {
        const renewed = ${JSON.stringify(service.subscribe(name))};
        const change = new Event('pushsubscriptionchange');
        change.newSubscription = { toJSON: () => renewed };
        change.waitUntil = (work) => resolve(work.then(() => 'done', String));
        dispatchEvent(change);
      })`);
      const [before] = await list();
      expect(await renew('renewed')).toBe('done');
      expect(await list()).toEqual([before]);
      service.received.splice(0);
      const note = { conversationId: 1, text: 'Once more', mentions: [2] };
      await server.data('POST /api/conversationNotes', { as: 'bob', body: note });
      await server.running.applications.main.mail.push.runNow();
      expect(service.received.map((message) => message.browser)).toEqual(['renewed']);
      // A closed page subscribes again when it is opened, here with the previous endpoint.
      await page.reload();
      await page.getByRole('button', { name: /^Notifications/ }).waitFor();
      await expect.poll(async () => (await list()).length).toBe(2);
      await server.data('POST /api/mailPushSubscriptions:unsubscribe', {
        as: 'ann',
        body: { endpoint: service.subscribe('renewed').endpoint },
      });
      // Another user has signed in to this browser in the meantime, so nothing is registered.
      await page.context().clearCookies();
      expect(await renew('unwanted')).toBe('done');
      expect((await list()).length).toBe(1);
    },
  );

  test('switching push messages off ends them', long, async () => {
    await page.getByRole('button', { name: /^Notifications/ }).click();
    await page.getByRole('switch', { name: 'Show notifications on this device' }).click();
    await expect.poll(list).toEqual([]);
    await page.getByRole('switch', { name: 'New mail too' }).waitFor({ state: 'detached' });
    expect(misdeeds).toMatchObject({ violations: [], foreign: [] });
  });
});
