/** How pages handle hostile texts, quick repeated clicks, refusals during an action, and roles with few permissions. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
const evil = '<img src=x onerror=alert(1)>';
/** The title of a role, which its holder sees. */
const evilRole = '<svg onload=alert(1)> keeper';
const ritaPassword = 'a quiet password';

describe.skipIf(chromium === null)('pages with hostile content', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const getUrl = (path: string): string => `${server.running.url}/a/main/${path}`;
  const cell = (name: string) => page.getByRole('gridcell', { name, exact: true });
  const actAs = async (role: string): Promise<void> => {
    await page.getByRole('button', { name: /^Admin/ }).click();
    await page.getByRole('menuitem', { name: `Act as ${role}` }).click();
  };

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
            { name: 'place', type: 'string' },
            { name: 'hidden', type: 'string' },
          ],
        },
        {
          name: 'evils',
          title: evil,
          description: evil,
          fields: [
            { name: 'label', type: 'string', title: evil, description: evil },
            { name: 'kind', type: 'select', enum: [evil, 'plain'] },
            { name: 'post', type: 'belongsTo', target: 'posts' },
            { name: 'link', type: 'url' },
          ],
        },
      ],
    });
    await server.data('POST /api/posts:create', {
      body: [
        { title: evil, place: 'Ulm' },
        { title: 'Two', place: 'Bonn', hidden: 'what nobody sees' },
      ],
    });
    await server.data('POST /api/evils:create', {
      body: { label: evil, kind: evil, postId: 1, link: 'https://example.com/?a=%3Cb%3E' },
    });
    await server.data('POST /api/roles:create', { body: { name: 'keeper', title: evilRole, allowConfigure: true } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'keeper', resource: 'posts', actions: ['list', 'get', 'update'], fields: ['id', 'title', 'place'] },
    });
    await server.data('POST /api/users:update?filterByTk=1', { body: { roles: ['admin', 'keeper'] } });
    await server.data('POST /api/users:create', {
      body: { email: 'rita@example.com', password: ritaPassword, roles: ['keeper'] },
    });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    page.on('dialog', (dialog) => {
      if (dialog.type() !== 'beforeunload') misdeeds.errors.push(`a dialog: ${dialog.message()}`);
      void dialog.accept(); // leaves the page although there are unsaved changes
    });
    await page.goto(getUrl('data'));
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('titles, labels, choices, values and refusals are plain text on every page', long, async () => {
    const rule = 'access/roles/keeper?resource=evils&action=list';
    for (const path of ['data', 'data/evils', 'data/evils/1', 'collections/evils', 'diagram', rule]) {
      await page.goto(getUrl(path));
      await page
        .locator('main')
        .getByText(path === 'diagram' ? '<img src=x onerror=a' : evil)
        .first()
        .waitFor({ state: 'attached' });
      expect([path, await page.locator('img[src="x"]').count()]).toEqual([path, 0]);
    }
    await page.goto(getUrl('data/evils/new'));
    await page.getByLabel('link').fill(evil);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').first().waitFor();
    await expect.poll(() => page.locator('img[src="x"]').count()).toBe(0);
  });

  test('two quick clicks create one record', long, async () => {
    await page.route('**/api/posts:create*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    // Simulates a page that came over HTTP from another machine, where randomUUID is not available.
    await page.addInitScript('Crypto.prototype.randomUUID = undefined');
    await page.goto(getUrl('data/posts/new'));
    await page.getByLabel('title').fill('Once');
    await page.getByRole('button', { name: 'Create' }).dblclick();
    await page.getByRole('heading', { name: 'Once' }).waitFor();
    await page.unroute('**/api/posts:create*');
    expect(await server.data('GET /api/posts:list?filter={"title":"Once"}')).toHaveLength(1);
  });

  test('if one of two edits of a row is refused, only that edit is reverted', long, async () => {
    const { promise: looked, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/api/posts:update*', async (route) => {
      const first = route.request().postData()?.includes('title') ?? false;
      if (!first) return route.continue();
      await looked;
      const body = {
        error: 'Validation Error',
        code: 'VALUE_INVALID',
        message: 'That title is taken.',
        requestId: 'r',
      };
      return route.fulfill({ status: 422, contentType: 'application/json', body: JSON.stringify(body) });
    });
    await page.goto(getUrl('data/posts'));
    await cell('Two').click();
    await page.keyboard.type('Refused');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Köln');
    await page.keyboard.press('Enter');
    await cell('Refused').waitFor();
    await cell('Köln').waitFor();
    release();
    await page.getByText('That title is taken.').waitFor();
    await cell('Two').waitFor();
    await cell('Köln').waitFor();
    await page.unroute('**/api/posts:update*');
    await expect
      .poll(() => server.data('GET /api/posts:get?filterByTk=2'))
      .toMatchObject({ title: 'Two', place: 'Köln' });
  });

  test('a group of conditions that no linked record may match is sent as a negated filter', long, async () => {
    await page.goto(getUrl('data/evils'));
    await cell(evil).first().waitFor();
    const listRequest = page.waitForRequest(
      (request) => request.url().includes('evils:list') && request.url().includes('filter'),
    );
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('button', { name: 'Add a group' }).click();
    await page.getByRole('menuitem', { name: 'post' }).click();
    const group = page.getByRole('group', { name: 'post' });
    await group.getByRole('combobox', { name: 'Linked record' }).click();
    await page.getByRole('option', { name: 'Does not exist' }).click();
    await group.getByRole('textbox', { name: 'Value' }).fill('Two');
    await page.getByRole('button', { name: 'Apply' }).click();
    const filter = new URL((await listRequest).url()).searchParams.get('filter');
    expect(JSON.parse(filter!)).toEqual({ $and: [{ $not: { post: { $and: [{ title: { $includes: 'Two' } }] } } }] });
    await page.getByText('1 found').waitFor();
  });

  test('a role that configures but reads little is only offered its permitted fields', long, async () => {
    await page.goto(getUrl('data/posts'));
    await cell('Two').waitFor();
    await actAs(evilRole);
    await cell('Two').waitFor();
    await expect.poll(() => page.getByRole('columnheader', { name: /hidden/ }).count()).toBe(0);
    await expect.poll(() => page.getByRole('link', { name: 'New record' }).count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Select Two' }).check();
    expect(await page.getByRole('toolbar').getByRole('button').allTextContents()).toEqual(['Edit…', 'Clear selection']);
    await page.goto(getUrl('data/posts/new'));
    await page.getByText('Your role does not allow this').waitFor();
    await page.goto(getUrl('data/posts/2'));
    await page.getByLabel('title').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await page.goto(getUrl('collections/posts'));
    const fields = page.getByRole('table', { name: 'Fields' });
    await fields.getByText('hidden', { exact: true }).waitFor(); // a definition shows all its fields
    await page.getByRole('button', { name: 'Add a field' }).waitFor();
    await actAs('admin');
  });

  test('messages of one session are not shown in the next one', long, async () => {
    const said = page.getByText('Not for others.');
    const refused = { error: 'Validation Error', code: 'VALUE_INVALID', message: 'Not for others.', requestId: 'r' };
    await page.route('**/api/posts:update*', (route) =>
      route.fulfill({ status: 422, contentType: 'application/json', body: JSON.stringify(refused) }),
    );
    await page.goto(getUrl('data/posts'));
    await cell('Two').click();
    await page.keyboard.type('Never');
    await page.keyboard.press('Enter');
    await said.waitFor();
    await page.getByRole('button', { name: /^Admin/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expect.poll(() => said.count()).toBe(0);
    await page.unroute('**/api/posts:update*');
    await signIn(page);
  });

  test('a user who signs in after another sees nothing of the other, however slow the server is', long, async () => {
    await page.goto(getUrl('data'));
    await page.getByRole('link', { name: evil }).first().waitFor();
    await page.getByRole('button', { name: /^Admin/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const heldReplies: (() => void)[] = [];
    await page.route('**/api/{docs:openapi,collections:list}*', async (route) => {
      await new Promise<void>((resolve) => heldReplies.push(resolve));
      await route.continue().catch(() => {});
    });
    await signIn(page, 'rita@example.com', ritaPassword);
    await page.getByText(evilRole).first().waitFor();
    await expect.poll(() => page.getByText(evil).count()).toBe(0);
    await page.unroute('**/api/{docs:openapi,collections:list}*');
    for (const release of heldReplies) release();
    await page.getByRole('link', { name: 'Posts' }).first().waitFor();
  });

  test('no page ran injected scripts, violated its policy, or called another server', () => {
    const expected = /status of (403|409|412|422)/;
    expect({ ...misdeeds, errors: misdeeds.errors.filter((each) => !expected.test(each)) }).toEqual({
      violations: [],
      errors: [],
      foreign: [],
    });
  });
});
