/** Exports from the grid: what is exported, how it is saved, and who is offered it. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { readSheetValues, readWorkbook } from '../../server/test/support/workbook.ts';
import { buildExportParameters, type ExportChoice } from '../src/admin/records/export-request.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const choice: ExportChoice = { records: 'shown', format: 'csv', shownColumns: false, titles: false, bom: false };

test('the parameters are the list of the grid, or the selected keys, and options that the format has', () => {
  const author = { name: 'author', type: 'belongsTo', target: 'authors', foreignKey: 'authorId' };
  const fields = [{ name: 'title', type: 'string' }, author];
  const key = { name: 'id', type: 'integer', primaryKey: true };
  const authors = { name: 'authors', fields: [key, { name: 'name', type: 'string' }] };
  const list = {
    view: { filter: { n: 1 }, search: 'x', sort: ['-title'], appends: ['author'], onlyDeleted: true },
    selected: [3, 5],
    fields,
    targets: new Map([['authors', authors as never]]),
  };
  const sort = ['-title'];
  expect(buildExportParameters(choice, list)).toEqual({
    format: 'csv',
    filter: { n: 1 },
    search: 'x',
    onlyDeleted: true,
    sort,
  });
  expect(buildExportParameters({ ...choice, records: 'all', titles: true, bom: true }, list)).toEqual({
    format: 'csv',
    sort,
    header: 'titles',
    bom: true,
  });
  const columns = { ...choice, records: 'selected', shownColumns: true } as const;
  expect(buildExportParameters({ ...columns, format: 'json', titles: true, bom: true }, list)).toEqual({
    format: 'json',
    filterByTk: [3, 5],
    onlyDeleted: true,
    sort,
    fields: ['title', 'authorId', 'author.name'],
  });
  expect(buildExportParameters({ ...choice, records: 'all', format: 'ndjson', titles: true, bom: true }, list)).toEqual(
    {
      format: 'ndjson',
      sort,
    },
  );
  expect(buildExportParameters(columns, { ...list, targets: new Map() })).toMatchObject({
    fields: ['title', 'authorId'],
  });
});

const chromium = findChromium();

describe.skipIf(chromium === null)('exports from the grid', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const dialog = () => page.getByRole('dialog');

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    const fields = [{ name: 'title', type: 'string', title: 'Title' }];
    await server.data('POST /api/collections:create', { body: { name: 'notes', title: 'Notes', fields } });
    await server.data('POST /api/notes:create', { body: ['one', 'two', 'three'].map((title) => ({ title })) });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    // No test can operate the file dialog of the system.
    await page.addInitScript('delete window.showSaveFilePicker');
    await page.goto(`${server.running.url}/a/main/data/notes?sort=-title`);
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  /** Submits the dialog. */
  async function save(): Promise<{ name: string; bytes: Buffer }> {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog().getByRole('button', { name: 'Export' }).click(),
    ]);
    await dialog().waitFor({ state: 'hidden' });
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  }

  test('the records of the list are saved as CSV, in its order', { timeout: 120_000 }, async () => {
    await page.getByRole('button', { name: 'Export' }).click();
    await dialog().getByLabel('Only the columns of the list').check();
    await expectAccessible(page, 'the export dialog');
    const { name, bytes } = await save();
    expect(name).toMatch(/^Notes \d{4}-\d{2}-\d{2}\.csv$/);
    expect(
      bytes
        .toString()
        .split('\r\n')
        .map((line) => line.split(',')[1]),
    ).toEqual(['title', 'two', 'three', 'one', undefined]);
  });

  test('the selected records are saved as XLSX, with titles', { timeout: 120_000 }, async () => {
    await page.getByRole('checkbox', { name: 'Select two' }).check();
    await page.getByRole('button', { name: 'Export' }).click();
    await dialog().getByLabel('Titles of fields in the first line').check();
    await dialog().getByRole('combobox', { name: 'Format' }).click();
    await page.getByRole('option', { name: 'Excel (XLSX)' }).click();
    const { name, bytes } = await save();
    expect(name).toMatch(/\.xlsx$/);
    const [header, ...rows] = readSheetValues(readWorkbook(bytes)[0]!);
    expect(header!.slice(0, 2)).toEqual(['id', 'Title']);
    expect(rows.map((row) => row[1])).toEqual(['two']);
  });

  test('a browser with a file picker writes the reply to the file while it arrives', { timeout: 120_000 }, async () => {
    await page.evaluate(`window.showSaveFilePicker = async ({ suggestedName }) =>
      (await navigator.storage.getDirectory()).getFileHandle(suggestedName.replace(/ .*\\./, '.'), { create: true })`);
    await page.getByRole('button', { name: 'Export' }).click();
    await dialog().getByLabel('All records').check();
    await dialog().getByRole('button', { name: 'Export' }).click();
    await dialog().waitFor({ state: 'hidden' });
    const text: string = await page.evaluate(`(async () => {
      const root = await navigator.storage.getDirectory();
      return (await (await root.getFileHandle('Notes.csv')).getFile()).text();
    })()`);
    expect(text.split('\r\n')).toHaveLength(5);
    // The user closes the picker: nothing is saved, and the dialog stays.
    await page.evaluate(
      "window.showSaveFilePicker = () => Promise.reject(new DOMException('The picker was closed.', 'AbortError'))",
    );
    await page.getByRole('button', { name: 'Export' }).click();
    await dialog().getByRole('button', { name: 'Export' }).click();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    expect(misdeeds.violations).toEqual([]);
  });

  test('a role without the permission is not offered an export', { timeout: 120_000 }, async () => {
    const account = { email: 'vic@example.com', password: 'a password of vic' };
    await server.data('POST /api/roles:create', { body: { name: 'lister' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'lister', resource: 'notes', actions: ['list', 'get'] },
    });
    await server.data('POST /api/users:create', { body: { ...account, roles: ['lister'] } });
    const other = await openPage(browser, server.running.url);
    await other.page.goto(`${server.running.url}/a/main/data/notes`);
    await signIn(other.page, account.email, account.password);
    await other.page.getByTestId('count').waitFor();
    expect(await other.page.getByRole('button', { name: 'Export' }).count()).toBe(0);
  });
});
