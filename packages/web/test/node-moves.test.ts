/** The nodes of a Citus cluster on the page of applications. Only `npm run test:citus -- node-moves` runs this. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { postgres } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 120_000 };

describe.skipIf(chromium === null || inject('clusterNodes') === null)('applications on a Citus cluster', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(postgres);
    for (const name of ['shop', 'blog', 'wiki']) await server.data('POST /api/applications:create', { body: { name } });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/access/applications`);
    await signIn(page);
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const screenshot = async (name: string): Promise<void> => {
    if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/${name}.png` });
  };

  test('an administrator sees the nodes and sizes, and moves an application', long, async () => {
    const { node } = await server.data('GET /api/applications:get?filterByTk=shop');
    const row = page.getByRole('row').filter({ hasText: 'shop' });
    await row.getByText(node).waitFor();
    await row.getByText(/ MB$/).waitFor();
    await screenshot('nodes');
    await row.getByRole('button', { name: /^Move to/ }).click();
    const dialog = page.getByRole('dialog');
    const target = await dialog.getByLabel('Node').inputValue();
    expect(target).not.toBe(node);
    await expectAccessible(page, 'move to another node');
    await screenshot('dialog');
    await dialog.getByRole('button', { name: 'Move', exact: true }).click();
    await row.getByText(`moving to ${target}`).waitFor();
    await screenshot('moving');
    await row.getByText(`moving to ${target}`).waitFor({ state: 'detached', timeout: 60_000 });
    await row.getByText(target).waitFor();
    await screenshot('moved');
    expect((await server.data('GET /api/applications:get?filterByTk=shop')).node).toBe(target);
    expect(misdeeds).toEqual({ violations: [], errors: [], foreign: [] });
  });
});
