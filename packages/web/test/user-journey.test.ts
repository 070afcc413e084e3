import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import {
  buildWebInterface,
  describeWebEngines,
  expectAccessible,
  openPage,
  rootEmail,
  rootPassword,
} from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('from an empty server to daily work', () => {
  describeWebEngines('the journey of a first user', (engine) => {
    let server: TestServer;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    const base = (): string => server.running.url;
    const text = (pattern: string | RegExp) => page.getByText(pattern).first();
    const cell = (pattern: string | RegExp) => page.getByRole('gridcell', { name: pattern, exact: true });

    const accessible = (what: string): Promise<void> => expectAccessible(page, what);

    beforeAll(async () => {
      buildWebInterface();
      server = await TestServer.start(engine, { signIn: false, env: { INIT_ROOT_EMAIL: '', INIT_ROOT_PASSWORD: '' } });
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, base()));
    }, 60_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
    });

    test('the printed link creates the first administrator and leaves no token in the address', long, async () => {
      await page.goto(base());
      await text('Nobody can sign in yet.').waitFor();
      const link = `${base()}/setup#token=${server.running.setupToken}`;
      await page.goto(link);
      await page.getByLabel('E-mail').fill(rootEmail);
      await page.reload();
      await text('Open the link that the server printed').waitFor();
      await page.evaluate(`location.href = ${JSON.stringify(link)}`); // the link is opened in the same tab
      await page.getByLabel('E-mail').fill(rootEmail);
      await page.getByRole('textbox', { name: 'Password' }).fill(rootPassword);
      expect(page.url()).not.toContain('token');
      await accessible('setup');
      await page.getByRole('button', { name: 'Create administrator' }).click();
      await text('No collections yet').waitFor();
      await accessible('no collections');
      await server.signInAsAdmin();
    });

    test('two collections with a relation are defined', long, async () => {
      await page.getByRole('link', { name: 'New collection', exact: true }).first().click();
      await page.getByLabel('Name').fill('artists');
      await page.getByLabel('Title').fill('Artists');
      await page.getByRole('button', { name: 'Add a field' }).click();
      await page.getByLabel('Name').nth(1).fill('name');
      await page.getByRole('button', { name: 'Create' }).click();
      await text('No records yet').waitFor();

      await page.goto(`${base()}/a/main/collections/new`);
      await page.getByLabel('Name').fill('albums');
      await page.getByLabel('Trash (soft delete)').check();
      await page.getByLabel('Record history').check();
      await addField('title', null);
      await addField('price', 'Decimal, exact');
      await addField('artist', 'Belongs to one', async () => {
        await page.getByRole('combobox', { name: 'Linked collection' }).last().click();
        await page.getByRole('option', { name: 'artists' }).last().click();
      });
      await accessible('new collection');
      await page.getByRole('button', { name: 'Create' }).click();
      await text('No records yet').waitFor();
      expect(await server.data('GET /api/albums:list')).toEqual([]);
    });

    async function addField(name: string, type: string | null, more?: () => Promise<void>): Promise<void> {
      await page.getByRole('button', { name: 'Add a field' }).click();
      await page.getByLabel('Name').last().fill(name);
      if (type !== null) {
        await page.getByRole('combobox', { name: 'Type' }).last().click();
        await page.getByRole('option', { name: type }).last().click();
      }
      await more?.();
    }

    test('records are created with a link to another one', long, async () => {
      await page.goto(`${base()}/a/main/data/artists/new`);
      await page.getByLabel('name').fill('Queen');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { name: 'Queen' }).waitFor();
      await page.goto(`${base()}/a/main/data/albums/new`);
      await page.getByLabel('title').fill('Jazz');
      await page.getByLabel('price').fill('12.50');
      await page.getByRole('combobox', { name: 'artist' }).click();
      await page.getByRole('option', { name: 'Queen' }).click();
      await accessible('new record');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { name: 'Jazz' }).waitFor();
      await accessible('record');
      await server.data('POST /api/albums:create', {
        body: Array.from({ length: 30 }, (_, n) => ({ title: `Album ${n}`, price: `${n}.00`, artistId: 1 })),
      });
      expect(await server.data('GET /api/albums:get?filterByTk=1')).toMatchObject({
        title: 'Jazz',
        price: '12.50',
        artistId: 1,
      });
    });

    test('the grid sorts, filters and searches, and its address reflects this', long, async () => {
      await page.goto(`${base()}/a/main/data/albums`);
      await text('31 records').waitFor();
      await cell('Queen').first().waitFor();
      await accessible('grid');
      await page.getByRole('button', { name: 'price' }).click();
      await page.getByRole('columnheader', { name: /price/ }).and(page.locator('[aria-sort=ascending]')).waitFor();
      await page.getByRole('button', { name: 'price' }).click();
      await expect.poll(() => page.locator('[role=row][aria-rowindex="2"]').textContent()).toContain('29.00');
      expect(page.url()).toContain('sort=-price');
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('button', { name: 'Add a condition' }).click();
      await page.getByRole('textbox', { name: 'Value' }).fill('Album 2');
      await accessible('filter');
      await page.getByRole('button', { name: 'Apply' }).click();
      await text('11 found').waitFor();
      await page.reload();
      await text('11 found').waitFor();
      await page.getByRole('searchbox', { name: 'Search these records' }).fill('29');
      await text('1 found').waitFor();
      await page.goto(`${base()}/a/main/data/albums`);
    });

    test('a cell is edited in place by keyboard only', long, async () => {
      await cell('Jazz').click();
      await page.keyboard.press('Enter');
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type('Jazz (1978)');
      await page.keyboard.press('Tab');
      await cell('Jazz (1978)').waitFor();
      await expect.poll(async () => (await server.data('GET /api/albums:get?filterByTk=1')).title).toBe('Jazz (1978)');
      await page.keyboard.type('13');
      await page.keyboard.press('Enter');
      await expect.poll(async () => (await server.data('GET /api/albums:get?filterByTk=1')).price).toBe('13.00');
    });

    test('changes of other users are shown immediately without moving the page', long, async () => {
      await server.data('POST /api/albums:update?filterByTk=2', { body: { title: 'Album zero' } });
      await cell('Album zero').waitFor();
      await page.locator('[role=row][data-fresh]').first().waitFor();
      await server.data('POST /api/albums:create', { body: { title: 'Later' } });
      await page.getByRole('button', { name: '1 new record' }).waitFor();
    });

    test('an edit of a value that another user has changed asks which one to keep', long, async () => {
      // Simulates a change whose event is still on its way: another user writes between the last read and the save.
      await page.route(
        '**/api/albums:update**',
        async (route) => {
          await server.data('POST /api/albums:update?filterByTk=3', { body: { title: 'Theirs' } });
          await route.continue();
        },
        { times: 1 },
      );
      await cell('Album 1').dblclick();
      await page.getByRole('gridcell').getByRole('textbox').waitFor();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type('Mine');
      await page.keyboard.press('Enter');
      await text('Someone else changed this field').waitFor();
      expect((await server.data('GET /api/albums:get?filterByTk=3')).title).toBe('Theirs');
      await accessible('conflict');
      await page.getByRole('button', { name: 'Save mine' }).click();
      await expect.poll(async () => (await server.data('GET /api/albums:get?filterByTk=3')).title).toBe('Mine');
    });

    test('several records are changed and deleted at once, and the trash restores them', long, async () => {
      await page.goto(`${base()}/a/main/data/albums`);
      await page.getByRole('checkbox', { name: 'Select Album 5' }).check();
      await page.getByRole('checkbox', { name: 'Select Album 6' }).check();
      await page.getByRole('button', { name: 'Edit…' }).click();
      await page.getByRole('combobox', { name: 'Field' }).click();
      await page.getByRole('option', { name: 'price' }).click();
      await page.getByRole('dialog').getByLabel('price').fill('77');
      await page.getByRole('button', { name: 'Update 2 records' }).click();
      await text('2 records updated.').waitFor();
      expect((await server.data('GET /api/albums:get?filterByTk=7')).price).toBe('77.00');
      await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await text('2 records deleted.').waitFor();
      await page.getByRole('button', { name: 'Trash' }).click();
      await text('2 records').waitFor();
      await accessible('trash');
      await page.getByRole('checkbox', { name: 'Select Album 5' }).check();
      await page.getByRole('toolbar').getByRole('button', { name: 'Restore' }).click();
      await text('1 record restored.').waitFor();
      expect((await server.data('GET /api/albums:get?filterByTk=7')).deletedAt).toBeNull();
    });

    test('a record shows its history, and an earlier state is restored', long, async () => {
      await page.goto(`${base()}/a/main/data/albums/1`);
      await page.getByRole('tab', { name: 'History' }).click();
      await page.getByRole('article').nth(2).waitFor();
      await accessible('history');
      await page.getByRole('article').last().getByRole('button', { name: 'Restore this version' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore this version' }).click();
      await expect.poll(async () => (await server.data('GET /api/albums:get?filterByTk=1')).title).toBe('Jazz');
    });

    test('a field is renamed, and a collection is deleted after its report was shown', long, async () => {
      await page.goto(`${base()}/a/main/diagram`);
      await page.getByRole('link', { name: 'albums' }).first().waitFor();
      await accessible('diagram');
      await page.goto(`${base()}/a/main/collections/albums`);
      await accessible('definition');
      await page.getByRole('button', { name: 'Edit title' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('name');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('button', { name: 'Edit name' }).waitFor();
      expect((await server.data('GET /api/albums:get?filterByTk=1')).name).toBe('Jazz');
      await page.getByLabel('Record history').uncheck();
      await page.getByRole('button', { name: 'Save details' }).click();
      await page.getByRole('dialog').getByText('history entries').waitFor();
      await accessible('loss');
      await page.getByRole('button', { name: 'Switch off and delete' }).click();
      await expect
        .poll(async () => (await server.data('GET /api/collections:get?filterByTk=albums')).options.logging)
        .toBe(false);
      await page.goto(`${base()}/a/main/collections/artists`);
      await page.getByRole('button', { name: 'Delete the collection…' }).click();
      await text('albums.artist').waitFor();
      await accessible('impact');
      await page.getByLabel('Type artists to confirm').fill('artists');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await text('Artists was deleted.').waitFor();
      expect((await server.call('GET /api/artists:list')).status).toBe(404);
    });

    test('no page violated its policy or called another server', () => {
      const expected = /status of (404|409|412|422)/;
      expect({ ...misdeeds, errors: misdeeds.errors.filter((each) => !expected.test(each)) }).toEqual({
        violations: [],
        errors: [],
        foreign: [],
      });
    });
  });
});
