/** The inbox on a phone, in dark mode, with a slow or refused list, and without an account. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { deliverToInbox, startShopInboxServer } from './support/shop-inbox-server.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

/** The behaviour of the browser does not depend on the engine, so it is tested with one. */
describe.skipIf(chromium === null)('an inbox', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  const getUrl = (): string => `${server.running.url}/a/main/inbox`;
  const text = (pattern: string | RegExp) => page.getByText(pattern).first();
  const row = (pattern: string | RegExp) => page.locator('[data-conversation]').filter({ hasText: pattern });
  const arrive = (mail: Parameters<typeof deliverToInbox>[1]) => deliverToInbox(server, mail);

  beforeAll(async () => {
    buildWebInterface();
    server = await startShopInboxServer(sqlite);
    browser = await openBrowser(chromium!);
    ({ page } = await openPage(browser, server.running.url));
    await page.goto(getUrl());
    await signIn(page, 'ann@example.com', 'correct horse');
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('fits on a phone with list, conversation and mailboxes, also in dark mode', long, async () => {
    const size = { viewport: { width: 390, height: 780 }, colorScheme: 'dark' } as const;
    const phone = await openPage(browser, server.running.url, size);
    await phone.page.goto(getUrl());
    await signIn(phone.page, 'ann@example.com', 'correct horse');
    await phone.page.locator('[data-conversation]').first().waitFor();
    await expectAccessible(phone.page, 'phone list');
    await phone.page.locator('[data-conversation]').filter({ hasText: 'Broken turntable' }).click();
    await phone.page.getByText('The tonearm is loose.').waitFor();
    await expectAccessible(phone.page, 'phone thread');
    await phone.page.getByRole('button', { name: 'Back to the list' }).click();
    await phone.page.getByRole('button', { name: 'Folders' }).click();
    await phone.page.getByRole('dialog').getByRole('button', { name: 'Sent' }).click();
    await phone.page.locator('[data-conversation]').first().waitFor();
    const width = await phone.page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    await phone.page.context().close();
  });

  test('shows a file, and reports a list that is slow or refused', long, async () => {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const attachments = [{ name: 'tonearm.png', type: 'image/png', content: Buffer.from(png, 'base64') }];
    await arrive({
      subject: 'A picture',
      from: 'New <new@example.net>',
      id: 'p1@example.net',
      text: 'See',
      attachments,
    });
    await page.goto(getUrl());
    await row('A picture').click();
    await page.getByRole('button', { name: 'Preview tonearm.png' }).click();
    await page.getByRole('dialog').getByRole('img', { name: 'tonearm.png' }).waitFor();
    await page.keyboard.press('Escape');
    const list = '**/api/conversations:list*';
    const body = { error: 'Too Many Requests', code: 'RATE_LIMITED', message: 'Wait 5 seconds.', retryAfter: 5 };
    await page.route(list, (route) =>
      route.fulfill({ status: 429, contentType: 'application/json', body: JSON.stringify(body) }),
    );
    const folders = page.getByRole('navigation', { name: 'Folders' });
    await folders.getByRole('button', { name: 'Sent' }).click();
    await text(/Trying again in \d s/).waitFor();
    await page.unroute(list);
    await page.route(list, () => {});
    await folders.getByRole('button', { name: 'All mail' }).click();
    await page.getByRole('status', { name: 'Loading…' }).waitFor();
    await page.unroute(list);
  });

  test('without an account explains how to create one', long, async () => {
    const other = await openPage(browser, server.running.url);
    await other.page.goto(getUrl());
    await signIn(other.page, 'bob@example.com', 'correct horse');
    await other.page.getByText('No mail account yet').waitFor();
    await expectAccessible(other.page, 'no account');
    await other.page.context().close();
  });
});
