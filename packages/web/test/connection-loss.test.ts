/** A server that is unreachable for a while, and a session that ends while the user types: no typed text is lost. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, rootPassword, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('the connection of a page', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  const getUrl = (path: string): string => `${server.running.url}${path}`;
  const text = (pattern: string | RegExp) => page.getByText(pattern).first();
  const cell = (name: string) => page.getByRole('gridcell', { name, exact: true });
  const title = async () => (await server.data('GET /api/posts:get?filterByTk=1')).title;
  const goOffline = () => page.route('**/api/**', (route) => route.abort('connectionrefused'));

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:create', {
      body: { name: 'posts', fields: [{ name: 'title', type: 'string', maxLength: 60 }] },
    });
    await server.data('POST /api/posts:create', { body: [{ title: 'One' }, { title: 'Two' }] });
    browser = await openBrowser(chromium!);
    ({ page } = await openPage(browser, server.running.url));
    await page.goto(getUrl('/a/main/data/posts'));
    await signIn(page);
  }, 60_000);
  afterEach(() => page.unrouteAll());
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test(
    'a page reports that the server is unreachable and keeps the typed text, which is saved later',
    long,
    async () => {
      await cell('One').dblclick();
      await page.getByRole('gridcell').getByRole('textbox').fill('One, typed offline');
      await goOffline();
      await page.keyboard.press('Enter');
      await text('1 change is not saved').waitFor();
      await text(/This page is not updated/).waitFor();
      await cell('One, typed offline').waitFor();
      await expectAccessible(page, 'server away');
      expect(await title()).toBe('One');
      await page.unroute('**/api/**');
      await expect.poll(title, { timeout: 30_000 }).toBe('One, typed offline');
      await text('1 change is not saved').waitFor({ state: 'detached' });
      await text(/This page is not updated/).waitFor({ state: 'detached' });
    },
  );

  test('a refused edit is kept with its reason until it is corrected or discarded', long, async () => {
    await cell('Two').dblclick();
    await page.getByRole('gridcell').getByRole('textbox').fill('x'.repeat(61));
    await page.keyboard.press('Enter');
    await text('1 change is not saved').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await cell('Two').waitFor();
  });

  test('a page that failed to load while the server was unreachable loads again by itself', long, async () => {
    await page.goto(getUrl('/a/main/data'));
    await page.getByRole('link', { name: 'Users' }).first().waitFor();
    await goOffline();
    await page.getByRole('link', { name: 'Users' }).first().click();
    await text('The server cannot be reached').waitFor();
    await page.unroute('**/api/**');
    await page.getByRole('link', { name: /root@/ }).or(page.getByText('root@example.com')).first().waitFor();
  });

  test('an ended session shows the sign-in above the page, and the save continues', long, async () => {
    await page.goto(getUrl('/a/main/data/posts/1'));
    await page.getByLabel('title').fill('Typed before the session ended');
    await server.data('POST /api/auth:endOtherSessions');
    // The dialog may already be open, because the socket also reports the end of the session.
    await page.evaluate("document.querySelector('main form').requestSubmit()");
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await expectAccessible(page, 'session ended');
    await expect.poll(() => page.getByLabel('title').inputValue()).toBe('Typed before the session ended');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(rootPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(title).toBe('Typed before the session ended');
    await text('Saved.').waitFor();
    // The list is live again with the new login.
    await page.goto(getUrl('/a/main/data/posts'));
    await cell('Typed before the session ended').waitFor();
  });

  test('a sign-out that did not reach the server is completed at the next visit', long, async () => {
    const heading = page.getByRole('heading', { name: 'Sign in' });
    await page.route('**/api/auth:signOut', (route) => route.abort());
    await page.getByRole('button', { name: /^Admin/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await heading.waitFor();
    await page.reload();
    await heading.waitFor();
    const cookies = async () => (await page.context().cookies(getUrl('/api/auth:resume'))).length;
    expect(await cookies()).toBe(1);
    await page.unroute('**/api/auth:signOut');
    await page.reload();
    await heading.waitFor();
    await expect.poll(cookies).toBe(0);
  });
});
