/** The page of reports: figures by day and member, as a table, a chart and files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { startMailAccountServer, upload } from '../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { writeReportCsv } from '../src/inbox/reports/report-csv.ts';
import { mergeRows } from '../src/inbox/reports/report-rows.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
const pictures = process.env['SCREENSHOT_DIR'];

test('the figures of both queries become one row for each group, in order', () => {
  const none = { received: 0, answered: 0, response: null, closed: 0, resolution: null };
  expect(
    mergeRows([
      { group: '2026-11-03', received: 2, answered: 1, response: 60 },
      { group: '2026-11-02', closed: 1, resolution: 5 },
      { group: '2026-11-03', closed: 4, resolution: 7 },
    ]),
  ).toEqual([
    { ...none, group: '2026-11-02', closed: 1, resolution: 5 },
    { group: '2026-11-03', received: 2, answered: 1, response: 60, closed: 4, resolution: 7 },
  ]);
  expect(mergeRows([{ group: 10 }, { group: 9 }, { group: null }]).map(({ group }) => group)).toEqual([null, 9, 10]);
});

test('cells of CSV files are quoted, and no text is executed as a formula', () => {
  expect(
    writeReportCsv([
      ['a,"b"', -1, null],
      ['=1+1', 'x\ny', 0.5],
    ]),
  ).toBe(`"a,""b""",-1,\r\n'=1+1,"x\ny",0.5\r\n`);
});

describe.skipIf(chromium === null)('the page of reports', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const day = 86_400_000;

  beforeAll(async () => {
    buildWebInterface();
    server = await startMailAccountServer(sqlite);
    const receive = async (id: string, time: number, more: object = {}): Promise<void> => {
      const raw = makeRawMail({ id: `${id}@example.net`, subject: `Order ${id}`, ...more });
      await upload(server, 'ann', 1, raw, 'message/rfc822', `&receivedAt=${new Date(time).toISOString()}`);
    };
    const noon = Math.floor(Date.now() / day) * day - day / 2;
    for (const [id, days] of [
      ['a', 1],
      ['b', 1],
      ['c', 2],
    ] as const)
      await receive(id, noon - days * day);
    const answer = { from: 'shop@example.com', references: ['a@example.net'], subject: 'Re: Order a' };
    await receive('answer', noon - day + 3_600_000, answer);
    const [{ id }] = await server.data('GET /api/conversations?search=b&pageSize=1', { as: 'ann' });
    await server.data(`PATCH /api/conversations/${id}`, { as: 'ann', body: { state: 'closed', assigneeId: 2 } });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/inbox`);
    await signIn(page, 'ann@example.com', 'correct horse');
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const readRows = (): Promise<string[][]> =>
    page
      .getByRole('table', { name: 'Reports' })
      .getByRole('row')
      .all()
      .then((rows) => Promise.all(rows.slice(1).map((row) => row.getByRole('cell').allInnerTexts())));

  test('figures are grouped, shown as a chart, and saved as files', long, async () => {
    await page.getByRole('link', { name: 'Reports' }).click();
    await page.getByRole('img', { name: 'Conversations received' }).waitFor();
    const rows = await readRows();
    expect(rows.map(([, ...figures]) => figures)).toEqual([
      ['1', '0', '–', '0', '–'],
      ['2', '1', '1.0 h', '0', '–'],
      ['0', '0', '–', '1', expect.stringMatching(/ h| days/)],
    ]);
    await expectAccessible(page, 'reports');
    if (pictures) await page.screenshot({ path: join(pictures, 'reports.png'), fullPage: true });
    const [csv] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ]);
    const lines = readFileSync(await csv.path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines[0]).toContain('Day,Received,Answered');
    expect(lines[2]).toMatch(/^\d{4}-\d\d-\d\d,2,1,3600,0,$/);
    const [picture] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the chart' }).click(),
    ]);
    expect(readFileSync(await picture.path(), 'utf8')).toMatch(/^<svg .*<rect width="100%".*<\/svg>$/s);
    await page.getByRole('combobox', { name: 'Group by' }).click();
    await page.getByRole('option', { name: 'Assigned member' }).click();
    await expect.poll(readRows).toEqual([
      ['Not assigned', '2', '1', '1.0 h', '0', '–'],
      ['ann@example.com', '1', '0', '–', '1', expect.stringMatching(/ h| days/)],
    ]);
    await page.getByLabel('From').fill('2020-01-02');
    await page.getByLabel('To').fill('2020-01-01');
    await page.getByText('Choose a first day that is not after the last one.').waitFor();
    await page.getByLabel('From').fill('2020-01-01');
    await page.getByText('No conversations in this period').waitFor();
    expect(misdeeds).toEqual({ violations: [], errors: [], foreign: [] });
  });
});
