/** The import wizard: a file is imported into an existing collection, and into a new one. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { changeType, columnTypes } from '../src/admin/imports/definition-draft.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('imports', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const folder = mkdtempSync(path.join(tmpdir(), 'imports-'));
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
  const count = async (collection: string): Promise<number> =>
    (await server.call(`GET /api/${collection}:list?pageSize=1`)).body.meta.count;
  const writeText = (name: string, text: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    return file;
  };
  /** Chooses a file with the button, as a user does. */
  const choose = async (file: string): Promise<void> => {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button('Choose a file').click()]);
    await chooser.setFiles(file);
  };
  const select = async (label: string, option: string): Promise<void> => {
    await page.getByRole('combobox', { name: label }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:apply', {
      body: [
        {
          name: 'customers',
          title: 'Customers',
          fields: [
            { name: 'name', type: 'string' },
            { name: 'email', type: 'email', unique: true, title: 'E-mail' },
          ],
        },
        {
          name: 'orders',
          title: 'Orders',
          fields: [
            { name: 'number', type: 'string', unique: true, title: 'Number' },
            { name: 'price', type: 'decimal', precision: 10, scale: 2, title: 'Price' },
            { name: 'customer', type: 'belongsTo', target: 'customers', title: 'Customer' },
          ],
        },
      ],
    });
    await server.data('POST /api/customers:create', {
      body: [
        { name: 'Ann', email: 'ann@example.com' },
        { name: 'Bob', email: 'bob@example.com' },
      ],
    });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.addInitScript('delete window.showSaveFilePicker');
    await page.goto(`${server.running.url}/a/main/data/orders`);
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a file of 5,000 rows is imported without its 20 bad rows', long, async () => {
    const rows = Array.from(
      { length: 5000 },
      (_, n) => `N${n};${n % 250 === 7 ? 'cheap' : `${n}.50`};ann@example.com;x`,
    );
    const file = writeText('orders.csv', `Number;Price;Customer mail;Remark\r\n${rows.join('\r\n')}\r\n`);
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Choose a file' }).waitFor();
    await expectAccessible(page, 'choose a file');
    await choose(file);
    await page.getByRole('heading', { name: 'Match the columns with the fields' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H2');
    expect(await page.getByRole('combobox', { name: 'Field for Price' }).inputValue()).toBe('Price');
    expect(await page.getByRole('combobox', { name: 'Field for Remark' }).inputValue()).toBe('Do not import');
    await select('Field for Customer mail', 'Price');
    await page.getByText('Each field can only be imported from one column.').waitFor();
    expect(await button('Check the rows').isDisabled()).toBe(true);
    await select('Field for Customer mail', 'Customer');
    await select('How Customer mail names the record', 'Customers: by E-mail');
    const preview = page.getByRole('table', { name: 'First rows' });
    expect(await preview.getByRole('columnheader').allTextContents()).toEqual(['Number', 'Price', 'Customer']);
    await expectAccessible(page, 'the mapping');
    await button('Check the rows').click();
    await page.getByText('4,980 records will be created. 20 rows are refused and left out.').waitFor();
    const errors = page.getByRole('table', { name: 'Bad rows', exact: true }).getByRole('row');
    expect(await errors.count()).toBe(21);
    const first = await errors.nth(1).getByRole('cell').allTextContents();
    expect(first.slice(0, 3)).toEqual(['9', 'Price', 'cheap']);
    expect(first[3]).not.toBe('');
    // The bad rows are also shown in the table of the file, with the reason in the bad cell.
    const inPlace = page.getByRole('table', { name: 'The bad rows in the file' });
    expect(await inPlace.getByRole('columnheader').allTextContents()).toEqual([
      'Line',
      'Number',
      'Price',
      'Customer mail',
    ]);
    const bad = inPlace.locator('tr[data-bad]');
    expect(await bad.count()).toBe(20);
    expect(await bad.first().getByRole('cell').allTextContents()).toEqual([
      '9',
      'N7',
      `cheap${first[3]}`,
      'ann@example.com',
    ]);
    expect(await bad.first().locator('td[data-bad]').allTextContents()).toEqual([`cheap${first[3]}`]);
    const good = inPlace.getByRole('row', { name: '8 N6 6.50 ann@example.com', exact: true });
    expect(await good.count()).toBe(1);
    await expectAccessible(page, 'the bad rows');
    expect(await count('orders')).toBe(0);
    await button('Import 4,980 records, without 20 bad rows').click();
    await page.getByRole('heading', { name: 'The import into Orders is complete' }).waitFor({ timeout: 120_000 });
    expect(await count('orders')).toBe(4980);
    await expectAccessible(page, 'the result of an import');
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download as CSV').click()]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines).toHaveLength(21);
    expect(lines[1]).toContain('cheap');
    // The list of imports leads back to the import.
    await page.getByRole('link', { name: 'Imports' }).first().click();
    await page.getByRole('link', { name: 'orders.csv' }).waitFor();
    await expectAccessible(page, 'the imports');
    await page.getByRole('link', { name: 'orders.csv' }).click();
    await page.getByRole('link', { name: 'Show the records' }).click();
    await page.getByText('4,980 records').waitFor();
  });

  test('existing records are found by a field, and the choice is kept after a step back', long, async () => {
    const file = writeText('prices.csv', 'Number,Price\nN1,77.00\nX1,5.00\n');
    await page.goto(`${server.running.url}/a/main/data/orders/import`);
    await choose(file);
    await select('What to do', 'Update existing records, create the others');
    await page.getByText('Choose the fields by which existing records are found.').waitFor();
    await page.getByRole('combobox', { name: 'Find records by' }).click();
    await page.getByRole('option', { name: 'Number' }).click();
    await page.keyboard.press('Escape');
    await button('Check the rows').click();
    await page.getByText('1 record will be created and 1 updated.').waitFor();
    await button('Back').click();
    expect(await page.getByRole('combobox', { name: 'What to do' }).inputValue()).toContain('Update existing');
    await page.reload(); // the id of the uploaded file is in the address
    await page.getByRole('heading', { name: 'Match the columns with the fields' }).waitFor();
    await select('What to do', 'Update existing records, create the others');
    await page.getByRole('combobox', { name: 'Find records by' }).click();
    await page.getByRole('option', { name: 'Number' }).click();
    await page.keyboard.press('Escape');
    await button('Check the rows').click();
    await button('Import 2 records').click();
    await page.getByRole('heading', { name: 'The import into Orders is complete' }).waitFor();
    const [order] = await server.data('GET /api/orders:list?filter={"number":"N1"}');
    expect(order).toMatchObject({ price: '77.00', customerId: 1 });
  });

  test('a file that cannot be read is explained, and another one can be chosen', long, async () => {
    await page.goto(`${server.running.url}/a/main/data/orders/import`);
    await choose(writeText('empty.csv', ''));
    await page.getByText('empty.csv is empty.').waitFor();
    await choose(writeText('broken.json', '[{"a": 1}, {'));
    await page.getByRole('button', { name: 'Choose another file' }).click();
    await page.getByRole('heading', { name: 'Choose a file' }).waitFor();
    // An upload that takes long is cancelled, and the focus goes back to the button.
    await page.route('**/api/files:upload', () => {});
    await choose(writeText('long.csv', 'a\n1\n'));
    await button('Cancel').click();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Choose a file');
    await page.unroute('**/api/files:upload');
  });

  test('a column of a new collection can be changed to every type that is offered', long, async () => {
    const fields = columnTypes.map((type) => changeType({ name: `a_${type}`, type: 'select', enum: ['a'] }, type));
    const body = { name: 'types', fields };
    expect(await server.call('POST /api/collections:create', { body })).toMatchObject({ status: 200 });
    await server.data('POST /api/collections:destroy?filterByTk=types');
  });

  test('a new collection is created from a file', long, async () => {
    await page.goto(`${server.running.url}/a/main/data`);
    await page.getByRole('link', { name: 'New collection from a file' }).click();
    await choose(
      writeText('Price list.csv', 'Article,Unit price,Since,Secret\nTea,2.50,2026-01-02,x\nMilk,1.25,2026-02-03,y\n'),
    );
    await page.getByRole('heading', { name: 'Fields of the new collection' }).waitFor();
    await page.getByRole('checkbox', { name: 'Import Secret' }).uncheck();
    await page.getByRole('textbox', { name: 'Title for Article' }).fill('Product');
    await select('Type of Since', 'Text, one line');
    await expectAccessible(page, 'the fields of a new collection');
    const collections = await server.data('GET /api/collections:list');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('orders');
    await button('Check the rows').click();
    await page.getByRole('alert').first().waitFor();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('prices');
    await button('Check the rows').click();
    await page.getByText('2 records will be created.').waitFor();
    await expectAccessible(page, 'the check of a new collection');
    expect(await server.data('GET /api/collections:list')).toEqual(collections);
    await button('Create the collection and import 2 records').click();
    await page.getByRole('heading', { name: 'The import into Price list is complete' }).waitFor();
    const records = await server.data('GET /api/prices:list?sort=id');
    expect(records).toMatchObject([
      { Article: 'Tea', unitPrice: '2.50', Since: '2026-01-02' },
      { Article: 'Milk', unitPrice: '1.25', Since: '2026-02-03' },
    ]);
    expect(records[0]).not.toHaveProperty('Secret');
    expect(misdeeds.violations).toEqual([]);
  });

  test(
    'the rows are checked before a new collection is created, and its fields can be changed until then',
    long,
    async () => {
      await page.goto(`${server.running.url}/a/main/collections/import`);
      await choose(writeText('weights.csv', 'Thing,Weight\nPen,12\nBook,300\n,5\nCar,1200000\n'));
      await page.getByRole('heading', { name: 'Fields of the new collection' }).waitFor();
      await page.getByRole('checkbox', { name: 'Thing is required' }).check();
      await select('Type of Weight', 'Date');
      await button('Check the rows').click();
      await page.getByText('Nothing can be imported: 4 rows are refused.').waitFor();
      expect(await button(/^Create the collection/).isDisabled()).toBe(true);
      await button('Back').click();
      await select('Type of Weight', 'Whole number');
      await button('Check the rows').click();
      await page.getByText('3 records will be created. 1 row is refused and left out.').waitFor();
      const bad = page.getByRole('table', { name: 'The bad rows in the file' }).locator('tr[data-bad]');
      expect(await bad.count()).toBe(1);
      expect((await bad.getByRole('cell').allTextContents())[0]).toBe('4');
      expect(await bad.locator('td[data-bad]').textContent()).not.toBe('');
      await expectAccessible(page, 'bad rows of a new collection');
      expect((await server.call('GET /api/weights:list')).status).toBe(404);
      await button('Create the collection and import 3 records, without 1 bad row').click();
      await page.getByRole('heading', { name: 'The import into weights is complete' }).waitFor();
      expect(await count('weights')).toBe(3);
    },
  );

  test('if the import fails after the collection was created, the user can try the import again', long, async () => {
    await page.goto(`${server.running.url}/a/main/collections/import`);
    await choose(writeText('stock.csv', 'Place,Amount\nShelf,3\n'));
    await page.getByRole('heading', { name: 'Fields of the new collection' }).waitFor();
    await page.route('**/api/stock:import', (route) => route.abort());
    await button('Check the rows').click();
    await button('Create the collection and import 1 record').click();
    await page.getByText('The collection stock was created, but the import failed').waitFor();
    await expectAccessible(page, 'a failed import after a created collection');
    expect(await count('stock')).toBe(0);
    await page.unroute('**/api/stock:import');
    await button('Try the import again').click();
    await page.getByRole('heading', { name: 'The import into stock is complete' }).waitFor();
    expect(await count('stock')).toBe(1);
  });

  test('a role without the permission is offered no import', long, async () => {
    const account = { email: 'vic@example.com', password: 'a password of vic' };
    await server.data('POST /api/roles:create', { body: { name: 'writer' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'writer', resource: 'orders', actions: ['list', 'get', 'create', 'update'] },
    });
    await server.data('POST /api/users:create', { body: { ...account, roles: ['writer'] } });
    const { page: other } = await openPage(browser, server.running.url);
    await other.goto(`${server.running.url}/a/main/data/orders`);
    await signIn(other, account.email, account.password);
    await other.getByTestId('count').waitFor();
    expect(await other.getByRole('link', { name: 'Import', exact: true }).count()).toBe(0);
    expect(await other.getByRole('link', { name: 'Imports' }).count()).toBe(0);
    await other.goto(`${server.running.url}/a/main/data`);
    await other.getByRole('heading', { name: 'Data' }).waitFor();
    expect(await other.getByRole('link', { name: 'New collection from a file' }).count()).toBe(0);
    await other.goto(`${server.running.url}/a/main/data/orders/import`);
    await other.getByText('Not allowed').or(other.getByText('role')).first().waitFor();
    expect(await other.getByRole('button', { name: 'Choose a file' }).count()).toBe(0);
  });

  test('an import that has not ended is shown above the records, and cancelled', long, async () => {
    const rows = Array.from({ length: 1001 }, (_, n) => `C${n},1`);
    const file = writeText('many.csv', `Number,Price\n${rows.join('\n')}\n`);
    const body = new FormData();
    body.append('file', new Blob([readFileSync(file)]), 'many.csv');
    await page.goto(`${server.running.url}/a/main/data/orders`);
    await page.getByTestId('count').waitFor();
    await server.running.applications.main.imports.close(); // the import waits as long as the test needs
    const reply = await fetch(`${server.running.url}/api/orders:import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.tokens.get('admin')}` },
      body,
    });
    expect(reply.status).toBe(202);
    await page.getByText(/^Import of many.csv/).waitFor();
    await page.getByRole('link', { name: 'Show the import' }).click();
    await button('Cancel the import').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the import' }).click();
    await page.getByRole('heading', { name: 'The import into Orders was cancelled' }).waitFor();
    expect(await server.data('GET /api/orders:list?filter={"number":"C0"}')).toEqual([]);
  });
});
