/** Reading mail: labels, searches, the layout of the list, invitations, print and swipes. */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { startMailAccountServer, upload } from '../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 60_000 };
/** Where pictures are stored for people who want to look at them. */
const pictures = process.env['SCREENSHOT_DIR'];

describe.skipIf(chromium === null)('reading in the inbox', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const row = (text: string) => page.locator('[data-conversation]').filter({ hasText: text });
  const rows = async (): Promise<string[]> =>
    (await page.locator('[data-conversation] bdi').allTextContents()).map((each) => each.trim());
  const picture = async (name: string): Promise<void> => {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png` });
  };
  const receive = async (subject: string, more: object = {}): Promise<number> => {
    const raw = makeRawMail({ id: `${subject.replaceAll(/\W/g, '')}@example.net`, subject, ...more });
    return (await upload(server, 'ann', 1, raw, 'message/rfc822', '&mailbox=inbox')).ids[0]!;
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await startMailAccountServer(sqlite);
    const bill = await receive('Bill of May');
    await receive('Bill of June');
    await receive('Holiday plans', { from: 'Zoe Zimmer <zoe@example.net>' });
    await server.data(`PATCH /api/emails/${bill}`, { as: 'ann', body: { labels: ['Bills', 'To do'] } });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/inbox`);
    await signIn(page, 'ann@example.com', 'correct horse');
    await row('Bill of May').waitFor();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('labels are shown in rows, counted in the pane of folders, and restrict the list', long, async () => {
    await row('Bill of May').getByText('To do').waitFor();
    const entry = page.getByRole('navigation', { name: 'Folders' }).getByRole('button', { name: /^Bills/ });
    await expect.poll(() => entry.textContent()).toContain('Bills: 1 conversation');
    await picture('labels');
    await expectAccessible(page, 'the list with labels');
    await entry.click();
    await expect.poll(rows).toEqual(['Bill of May']);
    expect(new URL(page.url()).searchParams.get('label')).toBe('Bills');
    await page.getByRole('button', { name: 'Only with the label Bills' }).click();
    await page.getByRole('menuitem', { name: 'Any label' }).click();
    await expect.poll(async () => (await rows()).length).toBe(3);
    await row('Bill of June').click();
    await page.getByRole('heading', { name: 'Bill of June' }).waitFor();
    await page.keyboard.press('l');
    await page.getByRole('checkbox', { name: 'Bills' }).check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await row('Bill of June').getByText('Bills').waitFor();
    await expect.poll(() => entry.textContent(), { timeout: 8000 }).toContain('Bills: 2 conversations');
    await page.keyboard.press('z');
    await expect.poll(() => row('Bill of June').getByText('Bills').count()).toBe(0);
    await page.goto(`${server.running.url}/a/main/inbox/reports`);
    await page.getByRole('combobox', { name: 'Group by' }).click();
    await page.getByRole('option', { name: 'Label' }).click();
    await page.getByRole('row', { name: /^Without a label 2/ }).waitFor();
    await page.getByRole('row', { name: /^To do 1/ }).waitFor();
  });

  test('the search suggests words, labels and people, and remembers and saves searches', long, async () => {
    await page.goto(`${server.running.url}/a/main/inbox`);
    const field = page.getByRole('combobox', { name: 'Search mail' });
    const option = (name: string) => page.getByRole('option', { name, exact: true });
    await field.click();
    await page.keyboard.type('lab');
    await option('label:').click();
    await page.keyboard.type('to');
    await option('label:"To do"').waitFor();
    await picture('suggestions');
    await expectAccessible(page, 'suggestions of a search');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => field.inputValue()).toBe('label:"To do" ');
    await page.keyboard.press('Enter');
    await expect.poll(rows).toEqual(['Bill of May']);
    await page.getByRole('button', { name: 'Save this search' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('My tasks');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const entry = page.getByRole('button', { name: 'My tasks', exact: true });
    await entry.waitFor();
    await field.fill('zimm');
    await option('from: Zoe Zimmer <zoe@example.net>').click();
    await page.keyboard.press('Enter');
    await expect.poll(rows).toEqual(['Holiday plans']);
    await entry.click();
    await expect.poll(rows).toEqual(['Bill of May']);
    await field.click();
    await field.fill('');
    await option('from:zoe@example.net').click();
    await expect.poll(rows).toEqual(['Holiday plans']);
    await page.evaluate('localStorage.clear()');
    await page.reload();
    await entry.hover();
    await page.getByRole('button', { name: 'Delete the saved search My tasks' }).click();
    await expect.poll(() => entry.count()).toBe(0);
  });

  test('no page has reported an error', () => {
    expect(misdeeds).toEqual({ errors: [], violations: [], foreign: [] });
  });
});
