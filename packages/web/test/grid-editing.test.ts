/** Edits in the grid and in the form of a record: neither typed text nor changes of others are lost without asking. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('editing records', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  const getUrl = (path: string): string => `${server.running.url}${path}`;
  const text = (pattern: string | RegExp) => page.getByText(pattern).first();
  const album = (id: number) => server.data(`GET /api/albums:get?filterByTk=${id}`);
  /** A cell by the record's key and the field, whatever its content. */
  const cell = (id: number, field: string): Locator => {
    const column = ['id', 'title', 'price', 'artist', 'notes', 'live', 'genre'].indexOf(field) + 2;
    const row = page.locator('[role=row]', { has: page.locator(`a[href="/a/main/data/albums/${id}"]`) });
    return row.locator(`[aria-colindex="${column}"]`);
  };
  const write = (id: number, body: object) => server.data(`POST /api/albums:update?filterByTk=${id}`, { body });
  const openGrid = async (search = ''): Promise<void> => {
    await page.goto(getUrl(`/a/main/data/albums${search}`));
    await page.getByRole('gridcell', { name: 'Album 1', exact: true }).waitFor();
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:apply', {
      body: [
        { name: 'artists', fields: [{ name: 'name', type: 'string' }] },
        { name: 'meetings', fields: [{ name: 'at', type: 'datetime' }] },
        {
          name: 'albums',
          options: { paranoid: true },
          fields: [
            { name: 'title', type: 'string' },
            { name: 'price', type: 'decimal', precision: 10, scale: 2 },
            { name: 'artist', type: 'belongsTo', target: 'artists' },
            { name: 'notes', type: 'text' },
            { name: 'live', type: 'boolean' },
            { name: 'genre', type: 'select', enum: ['Rock', 'Jazz'] },
          ],
        },
      ],
    });
    await server.data('POST /api/artists:create', { body: [{ name: 'Queen' }, { name: 'Wings' }, { name: 'Cream' }] });
    await server.data('POST /api/albums:create', {
      body: Array.from({ length: 162 }, (_, n) => ({
        title: `Album ${n + 1}`,
        price: '15.90',
        artistId: 2,
        notes: 'A note',
        live: true,
        genre: 'Rock',
      })),
    });
    browser = await openBrowser(chromium!);
    ({ page } = await openPage(browser, server.running.url));
    await page.goto(getUrl('/a/main/data'));
    await signIn(page);
    const storedChoice = { shown: ['id', 'title', 'price', 'artist', 'notes', 'live', 'genre'], widths: {} };
    await page.evaluate(`localStorage.setItem('tablinum.columns.main.albums', '${JSON.stringify(storedChoice)}')`);
  }, 60_000);
  beforeEach(async () => openGrid());
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test(
    'a cell that another user saved while its editor is open is not overwritten without confirmation',
    long,
    async () => {
      await cell(1, 'title').dblclick();
      await page.getByRole('gridcell').getByRole('textbox').fill('Mine');
      await write(1, { title: 'Theirs' });
      await page.locator('[role=row][data-fresh]').waitFor(); // the change of the other user has arrived
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByText('Theirs', { exact: true }).last().waitFor();
      expect((await album(1)).title).toBe('Theirs');
      await page.getByRole('button', { name: 'Keep theirs' }).click();
      await page.getByRole('gridcell', { name: 'Theirs', exact: true }).waitFor();
      // The user's own successive edits are not a conflict.
      await cell(1, 'title').dblclick();
      for (const name of ['First', 'Album 1']) {
        await page.getByRole('gridcell').getByRole('textbox').fill(name);
        await page.keyboard.press('Enter');
        if (name === 'First') await cell(1, 'title').dblclick();
      }
      await expect.poll(async () => (await album(1)).title).toBe('Album 1');
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    },
  );

  test('choosing the current value again keeps the link and the choice, by mouse and by keyboard', long, async () => {
    await cell(2, 'artist').dblclick();
    await page.getByRole('option', { name: 'Wings' }).click();
    await page.getByRole('option').first().waitFor({ state: 'detached' });
    await cell(2, 'artist').click();
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'Wings' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('option').first().waitFor({ state: 'detached' });
    expect((await album(2)).artistId).toBe(2);
    // The typed text replaces the name.
    await cell(2, 'artist').click();
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'Wings' }).waitFor();
    await page.keyboard.type('Quee');
    await page.getByRole('option', { name: 'Wings' }).waitFor({ state: 'detached' });
    await page.getByRole('option', { name: 'Queen' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await album(2)).artistId).toBe(1);
    // The same is true in a form, also for a list of choices.
    await page.goto(getUrl('/a/main/data/albums/2'));
    for (const [name, chosen] of [
      ['artist', 'Queen'],
      ['genre', 'Rock'],
      ['live', 'Yes'],
    ] as const) {
      await page.getByRole('combobox', { name }).click();
      await page.getByRole('option', { name: chosen }).click();
      expect([name, await page.getByRole('combobox', { name }).inputValue()]).toEqual([name, chosen]);
    }
    await expect.poll(() => page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
  });

  test('an outdated form shows both values, and the user chooses one for each field', long, async () => {
    await page.goto(getUrl('/a/main/data/albums/3'));
    await page.getByLabel('title').fill('Mine');
    await page.getByLabel('price').fill('99.00');
    await page.getByLabel('notes').fill('My note');
    await write(3, { title: 'Theirs', price: '12.00' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Someone else changed this record').waitFor();
    await expectAccessible(page, 'conflict of a form');
    await dialog.getByRole('button', { name: 'Back to the form' }).click();
    await expect.poll(() => page.getByLabel('price').inputValue()).toBe('99.00');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog
      .getByRole('radiogroup', { name: 'title' })
      .getByRole('radio', { name: /Theirs/ })
      .check();
    await expect.poll(() => dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await dialog
      .getByRole('radiogroup', { name: 'price' })
      .getByRole('radio', { name: /Yours: 99/ })
      .check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await text('Saved.').waitFor();
    expect(await album(3)).toMatchObject({ title: 'Theirs', price: '99.00', notes: 'My note' });
    // A change of another field by another user is not a conflict.
    await page.getByLabel('title').fill('Album 3');
    await write(3, { price: '15.90' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect.poll(async () => album(3)).toMatchObject({ title: 'Album 3', price: '15.90' });
  });

  test('an edit of the minutes keeps the hour, also in the hour that is repeated in autumn', long, async () => {
    await server.data('POST /api/meetings:create', { body: { at: '2026-11-01T06:30:00.000Z' } });
    const readTime = async (): Promise<string> => (await server.data('GET /api/meetings:get?filterByTk=1')).at;
    const opened = await openPage(browser, server.running.url, { timezoneId: 'America/New_York' });
    await opened.page.goto(getUrl('/a/main/data/meetings'));
    await signIn(opened.page);
    await opened.page.getByRole('gridcell', { name: /Nov 1, 2026, 1:30/ }).dblclick();
    await opened.page.getByLabel('at', { exact: true }).fill('2026-11-01T01:31:00');
    await opened.page.keyboard.press('Enter');
    await expect.poll(readTime).toBe('2026-11-01T06:31:00.000Z');
    await opened.page.goto(getUrl('/a/main/data/meetings/1'));
    const input = opened.page.getByLabel('at', { exact: true });
    await input.fill(''); // as while the minutes are typed again
    await input.fill('2026-11-01T01:32:00');
    await opened.page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect.poll(readTime).toBe('2026-11-01T06:32:00.000Z');
    await opened.page.context().close();
  });

  test('clearing a field of many records needs explicit confirmation', long, async () => {
    await page.getByRole('checkbox', { name: 'Select Album 4' }).check();
    await page.getByRole('checkbox', { name: 'Select Album 5' }).check();
    await page.getByRole('button', { name: 'Edit…' }).click();
    const dialog = page.getByRole('dialog');
    await page.getByRole('combobox', { name: 'Field' }).click();
    await page.getByRole('option', { name: 'genre' }).click();
    await dialog.locator('button[type=submit]').press('Enter'); // a second Enter would cancel, because the focus moves to Cancel
    await dialog.getByRole('button', { name: 'Clear this field in 2 records' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Cancel');
    await expectAccessible(page, 'bulk clear');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect((await album(4)).genre).toBe('Rock');
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByRole('combobox', { name: 'Field' }).click();
    await page.getByRole('option', { name: 'genre' }).click();
    await dialog.getByRole('button', { name: 'Update 2 records' }).click();
    await dialog.getByRole('button', { name: 'Clear this field in 2 records' }).click();
    await text('2 records updated.').waitFor();
    expect([(await album(4)).genre, (await album(5)).genre, (await album(6)).genre]).toEqual([null, null, 'Rock']);
  });

  test('all matching records can be selected and changed, whether they are loaded or not', long, async () => {
    await openGrid(`?filter=${encodeURIComponent('{"price":"15.90"}')}`);
    await page.getByRole('checkbox', { name: /^Select the/ }).check();
    await text('100 selected').waitFor();
    await page.getByRole('button', { name: 'Select all 162 matching records' }).click();
    await text('All 162 matching records selected').waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.getAttribute('role')")).toBe('toolbar');
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByRole('combobox', { name: 'Field' }).click();
    await page.getByRole('option', { name: 'price' }).click();
    await page.getByRole('dialog').getByLabel('price').fill('7');
    await page.getByRole('button', { name: 'Update 162 records' }).click();
    await text('162 records updated.').waitFor();
    expect((await album(162)).price).toBe('7.00');
    // Without a filter, all records match.
    await openGrid();
    await page.getByRole('checkbox', { name: /^Select the/ }).check();
    await page.getByRole('button', { name: 'Select all 162 matching records' }).click();
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByRole('combobox', { name: 'Field' }).click();
    await page.getByRole('option', { name: 'price' }).click();
    await page.getByRole('dialog').getByLabel('price').fill('8');
    await page.getByRole('button', { name: 'Update 162 records' }).click();
    await expect.poll(async () => (await album(162)).price).toBe('8.00');
    // A search is not a filter: the matching records are first found, then deleted.
    await page.goto(getUrl('/a/main/data/albums?q=Album 1'));
    await text('74 found').waitFor();
    await page.getByRole('checkbox', { name: /^Select the/ }).check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await text('74 records deleted.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await text('74 records restored.').waitFor();
  });

  test('the editor of a long text and its error are shown on top of the next rows', long, async () => {
    /** Whether a click on the lower edge of an element would hit this element. */
    const onTop = (selector: string): Promise<unknown> =>
      page.evaluate(`(() => {
        const element = document.querySelector('[role=gridcell] ${selector}');
        const { left, top, width, height } = element.getBoundingClientRect();
        return document.elementFromPoint(left + Math.min(width / 2, 40), top + height - 4) === element;
      })()`);
    await cell(6, 'notes').dblclick();
    expect(await onTop('textarea')).toBe(true);
    await page.keyboard.press('Escape');
    await cell(6, 'id').click();
    await server.data('POST /api/collections:create', {
      body: { name: 'sizes', fields: [{ name: 'width', type: 'integer' }] },
    });
    await server.data('POST /api/sizes:create', { body: [{ width: 1 }, { width: 2 }, { width: 3 }] });
    await page.goto(getUrl('/a/main/data/sizes'));
    await page.getByRole('gridcell', { name: '1', exact: true }).last().dblclick();
    await page.getByRole('gridcell').getByRole('textbox').fill('abc');
    await page.keyboard.press('Enter');
    await page.getByRole('gridcell').getByRole('alert').waitFor();
    expect(await onTop('[role=alert]')).toBe(true);
    await page.keyboard.press('Escape');
  });
});
