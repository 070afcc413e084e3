/** The index advice on the page of a collection, which creates and removes indexes. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 120_000 };

describe.skipIf(chromium === null)('the index advice', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const section = (): Locator => page.getByRole('region', { name: 'Index advice' });
  const answer = (name: string): Locator => page.getByRole('dialog').getByRole('button', { name, exact: true });
  const readIndexes = async (): Promise<unknown> =>
    (await server.data('GET /api/collections:get?filterByTk=posts')).options.indexes;

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    const fields = [
      { name: 'status', type: 'string', index: true },
      { name: 'views', type: 'integer' },
    ];
    const indexes = [{ fields: ['status', 'createdAt'] }];
    await server.data('POST /api/collections:create', {
      body: { name: 'posts', title: 'Posts', fields, options: { indexes } },
    });
    await server.data('POST /api/collections:create', { body: { name: 'notes', title: 'Notes', fields: [] } });
    for (let batch = 0; batch < 5; batch += 1) {
      const posts = Array.from({ length: 1000 }, (_, index) => ({ status: 'open', views: index * 5 + batch }));
      await server.data('POST /api/posts:create', { body: posts });
    }
    for (let index = 0; index < 3; index += 1)
      await server.data('GET /api/posts:list?count=none&sort=-views&filter={"views":{"$lt":4000}}');
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/collections/notes`);
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('says so if there is no advice', long, async () => {
    await section().getByText('No advice: no recorded request misses an index').waitFor();
  });

  test('names the missing index and the reason, also on a phone, and creates it on confirmation', long, async () => {
    await page.goto(`${server.running.url}/a/main/collections/posts`);
    await section().getByText('3 calls looked at about').waitFor();
    await section().getByText('Filter: views $lt; sort: -views').waitFor();
    await expectAccessible(page, 'index advice');
    const create = section().getByRole('button', { name: 'Create index on views', exact: true });
    await page.setViewportSize({ width: 390, height: 800 });
    await create.click();
    await answer('Cancel').click();
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await readIndexes()).toEqual([{ fields: ['status', 'createdAt'] }]);
    await create.click();
    await page.getByRole('dialog').getByText('All records are read once').waitFor();
    // Another administrator adds an index after the page read the definition, and before the page changes it.
    const both = [{ fields: ['status', 'createdAt'] }, { fields: ['createdAt', 'status'] }];
    const addOther = async (): Promise<void> => {
      await server.data('POST /api/collections:update?filterByTk=posts', { body: { options: { indexes: both } } });
    };
    await page.route('**/api/collections:update**', (route) => addOther().then(() => route.continue()), { times: 1 });
    await answer('Create index').click();
    await create.waitFor({ state: 'detached' });
    expect(await readIndexes()).toEqual([...both, { fields: ['views'] }]);
    expect(misdeeds.errors.splice(0)).toEqual([expect.stringContaining('412')]);
    // The form of the collection has the new index, so that saving it does not remove it.
    await page.getByRole('button', { name: 'Save details', exact: true }).click();
    await page.getByText('Saved.').first().waitFor();
    expect(await readIndexes()).toMatchObject([...both, { fields: ['views'] }]);
  });

  test('creates a search index, shows its progress, and keeps it when the form is saved', long, async () => {
    for (let index = 0; index < 3; index += 1)
      await server.data('GET /api/posts:list?count=none&filter={"status":{"$includes":"zzz"}}');
    await section().getByRole('button', { name: 'Refresh', exact: true }).click();
    const create = section().getByRole('button', { name: 'Create search index on status', exact: true });
    await create.click();
    await page.getByRole('dialog').getByText('built in the background').waitFor();
    await answer('Create index').click();
    await create.waitFor({ state: 'detached' });
    await page.getByRole('region', { name: 'Search index' }).getByText('status: ready').waitFor();
    const saved = page.waitForResponse((reply) => reply.url().includes('collections:update'));
    await page.getByRole('button', { name: 'Save details', exact: true }).click();
    expect((await saved).status()).toBe(200);
    const { options } = await server.data('GET /api/collections:get?filterByTk=posts');
    expect(options.search).toEqual(['status']);
  });

  test('removes an index that another one covers', long, async () => {
    const remove = section().getByRole('button', { name: 'Remove index on status', exact: true });
    await section().getByText('The index on status, createdAt serves the same requests.').waitFor();
    await remove.click();
    await answer('Remove index').click();
    await remove.waitFor({ state: 'detached' });
    await section().getByText('No advice').waitFor();
    const { fields } = await server.data('GET /api/collections:get?filterByTk=posts&appends=fields');
    expect(fields.find(({ name }: { name: string }) => name === 'status').index ?? false).toBe(false);
    expect([misdeeds.violations, misdeeds.errors, misdeeds.foreign]).toEqual([[], [], []]);
  });
});
