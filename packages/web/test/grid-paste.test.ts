/**
 * Pasting cells of a spreadsheet into the grid: with the keyboard, a summary, undo, and refusals that change nothing.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('pasting into the grid', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const dialog = () => page.getByRole('dialog');
  const columns = ['title', 'price', 'artist', 'genre', 'live'];
  const cell = (on: Page, key: number, field: string): Locator =>
    on
      .locator('[role=row]', { has: on.locator(`a[href="/a/main/data/albums/${key}"]`) })
      .locator(`[aria-colindex="${columns.indexOf(field) + 2}"]`);
  const list = async (): Promise<unknown[][]> => {
    const albums = await server.data('GET /api/albums:list?sort=id');
    return albums.map((each: Record<string, unknown>) => [
      each['title'],
      each['price'],
      each['artistId'],
      each['genre'],
      each['live'],
    ]);
  };
  const write = (key: number, body: object) => server.data(`POST /api/albums:update?filterByTk=${key}`, { body });
  /** Pastes as a browser does: the text is put on the clipboard, and the keys are pressed. */
  const paste = async (on: Page, text: string): Promise<void> => {
    await on.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await on.keyboard.press('Control+V');
  };
  const gridIsFocused = (): Promise<void> =>
    expect.poll(() => page.evaluate("document.activeElement.getAttribute('role')")).toBe('grid');
  const openGrid = async (on: Page): Promise<void> => {
    await on.goto(`${server.running.url}/a/main/data/albums?sort=id`);
    const shown = JSON.stringify({ shown: columns, widths: {} });
    await on.evaluate(`localStorage.setItem('tablinum.columns.main.albums', '${shown}')`);
    await on.reload();
    await on.getByTestId('count').waitFor();
    await cell(on, 1, 'title').click();
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:apply', {
      body: [
        { name: 'artists', fields: [{ name: 'name', type: 'string' }] },
        {
          name: 'albums',
          fields: [
            { name: 'title', type: 'string', unique: true },
            { name: 'price', type: 'decimal', precision: 10, scale: 2 },
            { name: 'artist', type: 'belongsTo', target: 'artists' },
            { name: 'genre', type: 'select', enum: ['Rock', 'Jazz'] },
            { name: 'live', type: 'boolean' },
          ],
        },
      ],
    });
    await server.data('POST /api/artists:create', { body: [{ name: 'Queen' }, { name: 'Wings' }] });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url, {
      permissions: ['clipboard-read', 'clipboard-write'],
    }));
    await page.goto(`${server.running.url}/a/main/data`);
    await signIn(page);
  }, 60_000);
  beforeEach(async () => {
    await server.data('POST /api/albums:destroy?filter={"id":{"$gt":0}}');
    await server.data('POST /api/albums:create', {
      body: ['A', 'B', 'C'].map((title, n) => ({
        id: n + 1,
        title,
        price: '1.00',
        artistId: 1,
        genre: 'Rock',
        live: true,
      })),
    });
    await openGrid(page);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('a table changes records, creates others, and is undone as a whole', long, async () => {
    const before = await list();
    await cell(page, 2, 'title').click();
    await paste(page, 'B2\t2.50\tWings\tjazz\tFALSE\r\n"C\n2"\t3\t1\tRock\tyes\r\nD\t4\t\t\tno\r\n');
    await dialog().getByText('2 records change.').waitFor();
    await dialog().getByText('1 new record is created.').waitFor();
    expect(await list()).toEqual(before);
    await expectAccessible(page, 'the summary of a paste');
    await page.keyboard.press('Tab');
    await dialog().getByRole('button', { name: 'Paste' }).press('Enter');
    await page.getByText('2 records updated, 1 record created.').waitFor();
    expect(await list()).toEqual([
      before[0],
      ['B2', '2.50', 2, 'Jazz', false],
      ['C\n2', '3.00', 1, 'Rock', true],
      ['D', '4.00', null, null, false],
    ]);
    // The grid must have the focus again, so that the keys for undo reach it.
    await gridIsFocused();
    await page.keyboard.press('Control+Z');
    await page.getByText('The paste was undone.').waitFor();
    expect(await page.getByText('2 records updated, 1 record created.').count()).toBe(0);
    expect(await list()).toEqual(before);
    await page.getByRole('gridcell', { name: 'B', exact: true }).waitFor();
  });

  test('one cell is pasted at once, and undone by the button', long, async () => {
    await paste(page, 'A2');
    await page.getByText('1 record updated.').waitFor();
    expect((await list())[0]?.[0]).toBe('A2');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The paste was undone.').waitFor();
    expect((await list())[0]?.[0]).toBe('A');
    await gridIsFocused();
  });

  test('an undo is refused if somebody else has changed a record meanwhile', long, async () => {
    await paste(page, 'A2\nB2');
    await dialog().getByRole('button', { name: 'Paste' }).click();
    await page.getByText('2 records updated.').waitFor();
    await write(2, { price: '9.00' });
    await page.keyboard.press('Control+Z');
    await page.getByText('one of the records has been changed since').waitFor();
    expect((await list()).map(([title]) => title)).toEqual(['A2', 'B2', 'C']);
  });

  test('a paste is refused if a record was changed after the page read it', long, async () => {
    await page.route('**/api/batch*', async (route) => {
      await write(1, { price: '7.00' });
      await route.continue();
    });
    await paste(page, 'A2\nB2');
    await dialog().getByRole('button', { name: 'Paste' }).click();
    await dialog().getByRole('alert').waitFor();
    await page.unroute('**/api/batch*');
    expect((await list()).map(([title, price]) => [title, price])).toEqual([
      ['A', '7.00'],
      ['B', '1.00'],
      ['C', '1.00'],
    ]);
  });

  test('invalid cells are listed with their reasons, and left out', long, async () => {
    await paste(page, 'A2\tcheap\tNobody\nB2\t5\tQueen');
    await dialog().getByText('2 invalid cells').waitFor();
    await dialog().getByText('Write a number, with a point before the decimals.').waitFor();
    await dialog().getByText('artists has no record with this key or name that you can read.').waitFor();
    await expectAccessible(page, 'a paste with invalid cells');
    await dialog().getByRole('button', { name: 'Paste without the invalid cells' }).click();
    await page.getByText('2 records updated.').waitFor();
    expect((await list()).slice(0, 2).map((each) => each.slice(0, 3))).toEqual([
      ['A2', '1.00', 1],
      ['B2', '5.00', 1],
    ]);
  });

  test('a refusal of the server is shown at the cell that it concerns, and nothing is written', long, async () => {
    const before = await list();
    await paste(page, 'X\t1\nC\t2');
    await dialog().getByRole('button', { name: 'Paste' }).click();
    await dialog().getByText('Nothing was written. The server has refused the value of a cell.').waitFor();
    await dialog().getByText('1 invalid cell').waitFor();
    expect(await list()).toEqual(before);
    await dialog().getByRole('button', { name: 'Paste without the invalid cells' }).click();
    await page.getByText('2 records updated.').waitFor();
    expect((await list()).map(([title, price]) => [title, price])).toEqual([
      ['X', '1.00'],
      ['B', '2.00'],
      ['C', '1.00'],
    ]);
  });

  test('several batches are written and undone as one paste', long, async () => {
    const titles = Array.from({ length: 450 }, (_, n) => `$${n}`);
    await paste(page, titles.join('\n'));
    await dialog().getByText('447 new records are created.').waitFor();
    await dialog().getByRole('button', { name: 'Paste' }).click();
    await page.getByText('3 records updated, 447 records created.').waitFor();
    const { meta } = (await server.call('GET /api/albums:list?pageSize=1')).body;
    expect(meta.count).toBe(450);
    expect((await list())[0]?.[0]).toBe('$0');
    await page.keyboard.press('Control+Z');
    await page.getByText('The paste was undone.').waitFor();
    expect((await list()).map(([title]) => title)).toEqual(['A', 'B', 'C']);
    await paste(page, 'x\n'.repeat(1001));
    await page.getByText('At most 1,000 rows can be pasted at once.').waitFor();
  });

  test('several pastes are undone and redone one after another', long, async () => {
    const titles = async (): Promise<unknown[]> => (await list()).map(([title]) => title);
    const toast = (text: string): Promise<void> => page.getByText(text).last().waitFor();
    const before = await list();
    await paste(page, 'A2');
    await toast('1 record updated.');
    await cell(page, 3, 'title').click();
    await paste(page, 'C2\nD\nE');
    await dialog().getByRole('button', { name: 'Paste' }).click();
    await toast('1 record updated, 2 records created.');
    // The next paste changes a record that this one has created. The arrow key needs that row, and the focus on the
    // grid.
    await page.getByRole('gridcell', { name: 'D', exact: true }).waitFor();
    await gridIsFocused();
    await page.keyboard.press('ArrowDown');
    await paste(page, 'D2');
    await expect.poll(titles).toEqual(['A2', 'B', 'C2', 'D2', 'E']);
    for (const expected of [
      ['A2', 'B', 'C2', 'D', 'E'],
      ['A2', 'B', 'C'],
      ['A', 'B', 'C'],
    ]) {
      await page.keyboard.press('Control+Z');
      await expect.poll(titles).toEqual(expected);
    }
    expect(await list()).toEqual(before);
    await page.keyboard.press('Control+Z'); // there is nothing more to undo
    for (const expected of [
      ['A2', 'B', 'C'],
      ['A2', 'B', 'C2', 'D', 'E'],
      ['A2', 'B', 'C2', 'D2', 'E'],
    ]) {
      await page.keyboard.press(expected.length === 3 ? 'Control+Y' : 'Control+Shift+Z');
      await expect.poll(titles).toEqual(expected);
    }
    await toast('The paste was repeated.');
    await page.keyboard.press('Control+Z');
    await page.keyboard.press('Control+Z'); // without waiting for the first undo
    await expect.poll(titles).toEqual(['A2', 'B', 'C']);
    // After another paste, nothing can be redone.
    await cell(page, 2, 'title').click();
    await paste(page, 'B2');
    await expect.poll(titles).toEqual(['A2', 'B2', 'C']);
    await page.keyboard.press('Control+Shift+Z');
    await page.keyboard.press('Control+Z');
    await expect.poll(titles).toEqual(['A2', 'B', 'C']);
    // A change of the record prevents the undo of its paste, but not of the others.
    await write(1, { price: '9.00' });
    await page.keyboard.press('Control+Z');
    await toast('The paste was not undone: one of the records has been changed since. Nothing was changed.');
    expect(await titles()).toEqual(['A2', 'B', 'C']);
  });

  test('a phone has a button that pastes, and a field if the clipboard cannot be read', long, async () => {
    expect(await page.getByRole('button', { name: 'Paste cells' }).count()).toBe(0); // the button is hidden if a mouse is used
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    const permissions = ['clipboard-read', 'clipboard-write'];
    const { page: other } = await openPage(browser, server.running.url, { ...phone, permissions });
    await other.goto(`${server.running.url}/a/main/data/albums?sort=id`);
    await signIn(other);
    await other.getByTestId('count').waitFor();
    const button = other.getByRole('button', { name: 'Paste cells' });
    await other.evaluate("navigator.clipboard.writeText('A3\\nB3')");
    await other.getByRole('gridcell', { name: 'B', exact: true }).tap();
    await button.tap();
    await other.getByRole('dialog').getByText('2 records change.').waitFor();
    await expectAccessible(other, 'a paste on a phone');
    await other.getByRole('dialog').getByRole('button', { name: 'Paste' }).tap();
    await expect.poll(async () => (await list()).map(([title]) => title)).toEqual(['A', 'A3', 'B3']);
    await other.context().clearPermissions();
    await button.tap();
    await other.getByRole('textbox', { name: 'Cells of a spreadsheet' }).fill('B4');
    await expectAccessible(other, 'the field for pasting');
    await other.getByRole('button', { name: 'Continue' }).tap();
    await expect.poll(async () => (await list()).map(([title]) => title)).toEqual(['A', 'B4', 'B3']);
    await other.context().close();
  });

  test('cells that were copied in the grid are pasted with their line breaks', long, async () => {
    await write(1, { title: 'two\nlines' });
    await openGrid(page);
    await page.keyboard.press('Control+C');
    await cell(page, 2, 'title').click();
    await write(1, { title: 'other' }); // the values are unique
    await page.keyboard.press('Control+V');
    await page.getByText('1 record updated.').waitFor();
    expect((await list())[1]?.[0]).toBe('two\nlines');
    expect(misdeeds.violations).toEqual([]);
  });

  test('a role that can only read cannot paste', long, async () => {
    const account = { email: 'vic@example.com', password: 'a password of vic' };
    await server.data('POST /api/roles:create', { body: { name: 'reader' } });
    await server.data('POST /api/permissions:create', {
      body: { role: 'reader', resource: 'albums', actions: ['list', 'get'] },
    });
    await server.data('POST /api/users:create', { body: { ...account, roles: ['reader'] } });
    const { page: other } = await openPage(browser, server.running.url, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await other.goto(`${server.running.url}/a/main/data/albums`);
    await signIn(other, account.email, account.password);
    const before = await list();
    await other.getByTestId('count').waitFor();
    await openGrid(other);
    await paste(other, 'x\ny');
    await other.keyboard.press('ArrowDown');
    expect(await other.getByRole('dialog').count()).toBe(0);
    expect(await list()).toEqual(before);
    await other.context().close();
  });
});
