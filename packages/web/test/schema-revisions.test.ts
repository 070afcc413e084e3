/** The page of schema revisions. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();

describe.skipIf(chromium === null)('the page of schema revisions', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/access/schema`);
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('shows who applied what, its steps, and the kept data', { timeout: 120_000 }, async () => {
    await page.getByText('No revisions yet').waitFor();
    const { schema } = await server.data('POST /api/schema:pull', { body: {} });
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'views', type: 'integer' },
    ];
    const first = { ...schema, collections: [{ name: 'posts', fields }] };
    await server.data('POST /api/schema:apply', { body: { schema: first, summary: 'The first posts' } });
    await server.data('POST /api/posts:create', { body: { title: 'One', views: 1 } });
    const second = { ...schema, collections: [{ name: 'posts', title: 'Posts', fields: fields.slice(0, 1) }] };
    await server.data('POST /api/schema:apply', {
      body: { schema: second, allowDestructive: true, summary: 'No views' },
    });
    await page.reload();
    await page.getByRole('cell', { name: 'The first posts' }).waitFor();
    expect(await page.getByRole('region', { name: 'Data that can be restored' }).getByRole('row').count()).toBe(2);
    await page.getByRole('region', { name: 'Data that can be restored' }).getByText('posts.views').waitFor();
    await expectAccessible(page, 'schema revisions');
    await page.getByRole('button', { name: 'Show the steps of revision 2' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revision 2' });
    await dialog.getByText('Destroyed field').waitFor();
    await dialog.getByText('destructive').waitFor();
    await dialog.getByText('title: null → "Posts"').waitFor();
    expect([misdeeds.violations, misdeeds.errors, misdeeds.foreign]).toEqual([[], [], []]);
  });
});
