/**
 * Pages with no data, while loading, without permission, with too many requests or without a network; on a phone; in
 * dark mode.
 */
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, rootEmail, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('pages in every state', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  const getUrl = (path: string): string => `${server.running.url}${path}`;
  const text = (pattern: string | RegExp) => page.getByText(pattern).first();

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:apply', {
      body: [
        {
          name: 'posts',
          title: 'Posts',
          fields: [
            { name: 'title', type: 'string' },
            { name: 'done', type: 'boolean' },
          ],
        },
        { name: 'vaults', fields: [{ name: 'code', type: 'string' }] },
      ],
    });
    await server.data('POST /api/posts:create', { body: [{ title: 'One', done: true }, { title: '<b>Two</b>' }] });
    await server.data('POST /api/roles:create', { body: { name: 'reader', title: 'Reader' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'reader', resource: 'posts', actions: ['view'] },
    });
    await server.data('POST /api/users:create', {
      body: { email: 'rita@example.com', password: 'a quiet password', roles: ['reader', 'viewer'] },
    });
    await server.data('POST /api/users:update?filterByTk=1', { body: { roles: ['admin', 'reader'] } });
    browser = await openBrowser(chromium!);
    ({ page } = await openPage(browser, server.running.url));
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('a deep link asks for the sign-in and then opens, and a wrong password is reported', long, async () => {
    await page.goto(getUrl('/a/nosuchapp'));
    await text('Application not found').waitFor();
    await page.goto(getUrl('/a/main/data/posts?sort=-title'));
    await text('this server cannot send e-mail').waitFor();
    await page.getByLabel('E-mail or user name').fill(rootEmail);
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await expectAccessible(page, 'sign-in');
    await signIn(page);
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
    expect(page.url()).toContain('/a/main/data/posts?sort=-title');
  });

  test('values are plain text, whatever they contain', async () => {
    await page.getByRole('gridcell', { name: '<b>Two</b>', exact: true }).waitFor();
    await expect.poll(() => page.locator('[role=grid] b').count()).toBe(0);
  });

  test('one sign-in is valid in all tabs of the browser, and no script can read it', long, async () => {
    const readable = 'JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie';
    expect(await page.evaluate(readable)).not.toContain('tbs_');
    const [cookie] = await page.context().cookies(getUrl('/api/auth:resume'));
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/api/auth:resume' });
    expect(cookie!.expires).toBeGreaterThan(Date.now() / 1000 + 6 * 24 * 3600);
    await page.reload();
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
    const second = await page.context().newPage();
    await second.goto(getUrl('/a/main/data/posts'));
    await second.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
    await second.close();
    // Another browser must sign in too. Without "Keep me signed in", its session ends when it is closed.
    const other = await openPage(browser, server.running.url);
    await other.page.goto(getUrl('/a/main/data'));
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const waiting = await other.page.context().newPage();
    await waiting.goto(getUrl('/a/main/data'));
    await waiting.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.page.getByRole('checkbox', { name: 'Keep me signed in' }).uncheck();
    await signIn(other.page);
    await waiting.getByRole('navigation', { name: 'Main' }).waitFor(); // the other tab of this browser is signed in too
    const [brief] = await other.page.context().cookies(getUrl('/api/auth:resume'));
    expect(brief).toMatchObject({ httpOnly: true, expires: -1 });
    // Signing out removes the cookie.
    await other.page.getByRole('button', { name: /^Admin/ }).click();
    await other.page.getByRole('menuitem', { name: 'Sign out' }).click();
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await waiting.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expect.poll(async () => (await other.page.context().cookies(getUrl('/api/auth:resume'))).length).toBe(0);
    await other.page.context().close();
  });

  test('another role only sees what it may, and an administrator sees why it may not see more', long, async () => {
    await page.getByRole('button', { name: /^Admin/ }).click();
    await page.getByRole('menuitem', { name: 'Act as reader' }).click();
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'New record' }).count()).toBe(0);
    await expect.poll(() => page.getByRole('navigation').getByText('vaults').count()).toBe(0);
    await page.route('**/api/posts:list*', (route) =>
      refuse(route, 403, {
        error: 'No permissions',
        code: 'NO_PERMISSION',
        message: 'The role does not allow list on posts.',
      }),
    );
    await page.getByRole('button', { name: 'Reload' }).click();
    await text('Your role does not allow this').waitFor();
    await expectAccessible(page, 'denied');
    await page.getByRole('button', { name: 'Why?' }).click();
    await page.getByText(/permissions\/\d+/).waitFor();
    await page.unroute('**/api/posts:list*');
    await page.getByRole('button', { name: /^Admin/ }).click();
    await page.getByRole('menuitem', { name: 'Act as admin' }).click();
    await page.getByRole('link', { name: 'New record' }).waitFor();
  });

  test('if there were too many requests, a countdown is shown and they are retried', long, async () => {
    let asked = 0;
    await page.goto('about:blank');
    await page.route('**/api/collections:list*', (route) =>
      asked++ === 0
        ? refuse(route, 429, {
            error: 'Too Many Requests',
            code: 'RATE_LIMITED',
            message: 'Too many requests; wait 5 seconds.',
            retryAfter: 5,
          })
        : route.continue(),
    );
    await page.goto(getUrl('/a/main/data'));
    await text(/Trying again in \d s/).waitFor();
    await expectAccessible(page, 'too many requests');
    await page.getByRole('link', { name: 'Posts' }).first().waitFor();
    await page.unroute('**/api/collections:list*');
  });

  test('a slow reply shows a placeholder and then a message', long, async () => {
    await page.route('**/api/collections:list*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 5000));
      await route.continue().catch(() => {});
    });
    await page.goto(getUrl('/a/main/data'));
    await page.getByRole('status', { name: 'Loading…' }).waitFor();
    await text('This is taking longer than usual…').waitFor();
    await page.unroute('**/api/collections:list*');
  });

  test('a lost connection is reported, and the page recovers', long, async () => {
    await page.goto(getUrl('/a/main/data/posts'));
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
    await page.context().setOffline(true);
    await text('You are offline. The data on this page may be outdated.').waitFor();
    await page.getByRole('button', { name: 'Reload' }).click();
    await text('The server cannot be reached').waitFor();
    await expectAccessible(page, 'offline');
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
  });

  test('an unknown address, collection and record are reported', long, async () => {
    await page.goto(getUrl('/a/main/nowhere'));
    await text('Page not found').waitFor();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.goto(getUrl('/a/main/data/nothing'));
    await text('Not found').waitFor();
    await page.goto(getUrl('/a/main/data/posts/99'));
    await text('Not found').waitFor();
  });

  test('an empty collection shows the next step', long, async () => {
    await page.goto(getUrl('/a/main/data/vaults'));
    await text('No records yet').waitFor();
    await page.locator('main').getByRole('link', { name: 'New record' }).last().waitFor();
  });

  test('a session that was ended elsewhere leads to the sign-in and back', long, async () => {
    await page.goto(getUrl('/a/main/data/posts'));
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
    await server.data('POST /api/auth:endOtherSessions');
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page);
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
  });

  test('the API reference is inside the interface for signed-in users', long, async () => {
    await page.goto(getUrl('/a/main/docs'));
    const reference = page.frameLocator('iframe[title="API reference"]');
    // The reference is by far the largest script, and this browser does not optimise scripts: it takes 8 seconds, and
    // longer while other tests run.
    await reference.locator('#state', { hasText: /operations$/ }).waitFor({ timeout: 120_000 });
    await reference.getByText('vaults').first().waitFor();
    await expect.poll(() => reference.locator('#who').isVisible()).toBe(false);
  });

  test('a value is changed only by keyboard, starting from the command palette', long, async () => {
    await page.goto(getUrl('/a/main/data'));
    await page.getByRole('link', { name: 'Posts' }).first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Type a page, collection or command' }).waitFor();
    await expectAccessible(page, 'palette');
    await page.keyboard.type('posts');
    await page.keyboard.press('Enter');
    await page.getByRole('gridcell', { name: 'One', exact: true }).waitFor();
    await expect
      .poll(async () => {
        await page.keyboard.press('Tab');
        return page.evaluate('document.activeElement?.getAttribute("role")');
      })
      .toBe('grid');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('F2');
    await page.keyboard.press('End');
    await page.keyboard.type(' and a half');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await server.data('GET /api/posts:get?filterByTk=1')).title).toBe('One and a half');
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter'); // the key is not editable, so Enter opens the record
    await page.getByRole('heading', { name: /^(One|<b>)/ }).waitFor();
  });

  test(
    'a grid of 190 fields renders the visible ones, is navigated by keyboard, and copies to the clipboard',
    long,
    async () => {
      const names = Array.from({ length: 190 }, (_, n) => `f${n}`);
      const fields = names.map((name) => ({ name, type: 'string' }));
      await server.data('POST /api/collections:create', { body: { name: 'wide', fields } });
      const values = Object.fromEntries(names.map((name) => [name, `value ${name}`]));
      await server.data('POST /api/wide:create', { body: [values, { ...values, f189: 'tab\t"quoted"' }] });
      const shown = JSON.stringify({ shown: names, widths: {} });
      await page.evaluate(`localStorage.setItem('tablinum.columns.main.wide', ${JSON.stringify(shown)})`);
      await page.goto(getUrl('/a/main/data/wide'));
      await page.getByRole('gridcell', { name: 'value f0', exact: true }).first().click();
      await expect.poll(() => page.locator('[aria-rowindex="2"] [role=gridcell]').count()).toBeLessThan(20);
      await page.keyboard.press('Control+ArrowRight');
      await page.getByRole('gridcell', { name: 'value f189', exact: true }).waitFor();
      await page.getByRole('gridcell', { name: 'value f0', exact: true }).first().waitFor(); // the first column stays visible
      const copied = `(() => { const data = new DataTransfer();
      document.activeElement.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
      return data.getData('text/plain'); })()`;
      await expect.poll(() => page.evaluate(copied)).toBe('value f189');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press(' ');
      const lines = ((await page.evaluate(copied)) as string).split('\n');
      expect([lines.length, lines[0]!.split('\t').length]).toEqual([2, 190]);
      expect(lines[1]!.endsWith('\t"tab\t""quoted"""')).toBe(true);
      await page.keyboard.press('Delete');
      await text('f189 was cleared.').waitFor();
      await expect.poll(async () => (await server.data('GET /api/wide:get?filterByTk=2')).f189).toBeNull();
      await page.getByRole('button', { name: 'Undo' }).click();
      await expect.poll(async () => (await server.data('GET /api/wide:get?filterByTk=2')).f189).toBe('tab\t"quoted"');
    },
  );

  test('the menu, the grid and the record fit on a phone', long, async () => {
    const phone = await openPage(browser, server.running.url, {
      viewport: { width: 390, height: 780 },
      hasTouch: true,
    });
    await phone.page.goto(getUrl('/a/main/data'));
    await signIn(phone.page);
    await phone.page.getByRole('button', { name: 'Menu' }).click();
    await expectAccessible(phone.page, 'menu on a phone');
    await phone.page.getByRole('navigation').getByRole('link', { name: 'Posts' }).click();
    await phone.page.getByRole('gridcell', { name: 'One', exact: false }).first().waitFor();
    await phone.page.getByRole('link', { name: /^Open One/ }).click();
    await phone.page.getByLabel('title').waitFor();
    for (const path of [
      '/a/main/data',
      '/a/main/data/posts',
      '/a/main/data/posts/1',
      '/a/main/collections/posts',
      '/a/main/collections/new',
      '/a/main/diagram',
    ]) {
      await phone.page.goto(getUrl(path));
      await phone.page.getByRole('heading').first().waitFor();
      expect([path, await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([
        path,
        true,
      ]);
    }
    await expectAccessible(phone.page, 'diagram on a phone');
    await phone.page.context().close();
  });

  test('every page has enough contrast in dark mode', long, async () => {
    const night = await openPage(browser, server.running.url, { colorScheme: 'dark' });
    await night.page.goto(getUrl('/a/main/data'));
    await expectAccessible(night.page, 'sign-in in the dark');
    await signIn(night.page);
    for (const [path, pattern] of [
      ['/a/main/data', 'System collections'],
      ['/a/main/data/posts', 'Two'],
      ['/a/main/data/posts/1', 'updatedAt'],
      ['/a/main/collections/posts', 'Delete this collection'],
      ['/a/main/collections/new', 'Options'],
      ['/a/main/diagram', 'Posts'],
    ] as const) {
      await night.page.goto(getUrl(path));
      await night.page.locator('main').getByText(pattern).first().waitFor();
      await expectAccessible(night.page, `${path} in the dark`);
    }
    await night.page.context().close();
  });
});

function refuse(route: Route, status: number, body: object): Promise<void> {
  return route.fulfill({ status, contentType: 'application/json', body: JSON.stringify({ ...body, requestId: 'r' }) });
}
