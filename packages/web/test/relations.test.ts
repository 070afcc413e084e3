/**
 * Relations from the inverse side: existing links are offered first, and the effect of a delete is described where it
 * is chosen.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('defining relations', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  const getUrl = (path: string): string => `${server.running.url}${path}`;
  const dialog = () => page.getByRole('dialog');
  const fields = async (name: string): Promise<{ name: string; [option: string]: unknown }[]> =>
    (await server.data('GET /api/collections:list')).find((each: { name: string }) => each.name === name).fields;

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:apply', {
      body: [
        { name: 'artists', fields: [{ name: 'name', type: 'string' }] },
        { name: 'genres', fields: [{ name: 'name', type: 'string' }] },
        {
          name: 'albums',
          fields: [
            { name: 'title', type: 'string' },
            { name: 'artist', type: 'belongsTo', target: 'artists' },
            { name: 'genres', type: 'belongsToMany', target: 'genres' },
          ],
        },
      ],
    });
    await server.data('POST /api/artists:create', { body: { name: 'Queen' } });
    await server.data('POST /api/genres:create', { body: { name: 'Rock' } });
    await server.data('POST /api/albums:create', { body: { title: 'Jazz', artistId: 1, genres: [1] } });
    browser = await openBrowser(chromium!);
    ({ page } = await openPage(browser, server.running.url));
    await page.goto(getUrl('/a/main/collections/artists'));
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  async function begin(name: string, type: string, target: string): Promise<void> {
    await page.getByRole('button', { name: 'Add a field' }).click();
    await dialog().getByLabel('Name').fill(name);
    await dialog().getByRole('combobox', { name: 'Type' }).click();
    await page.getByRole('option', { name: type }).click();
    await dialog().getByRole('combobox', { name: 'Linked collection' }).click();
    await page.getByRole('option', { name: target, exact: true }).click();
  }
  const add = async (): Promise<void> => {
    await dialog().getByRole('button', { name: 'Add' }).click();
    await dialog().waitFor({ state: 'detached' });
  };

  test(
    'a has-many relation offers the existing link, and does not silently create a second foreign key',
    long,
    async () => {
      await begin('albums', 'Has many', 'albums');
      expect(await dialog().getByRole('radio', { name: 'Use the link of albums.artist' }).isChecked()).toBe(true);
      await dialog().getByText('Each record of albums points to one record of artists').waitFor();
      await expectAccessible(page, 'has many');
      await add();
      const albums = await fields('albums');
      expect(albums.map(({ name }) => name)).not.toContain('artistsId');
      await page.goto(getUrl('/a/main/data/artists/1'));
      await page.getByRole('tab', { name: 'albums' }).click();
      await page.getByRole('cell', { name: 'Jazz', exact: true }).waitFor();
    },
  );

  test(
    'another foreign key is created if the user chooses that, and the effect of a delete is described for the right side',
    long,
    async () => {
      await page.goto(getUrl('/a/main/collections/artists'));
      await begin('producedAlbums', 'Has many', 'albums');
      await dialog().getByRole('radio', { name: 'Create another, separate link' }).check();
      await dialog().getByRole('combobox', { name: 'When a record of artists is deleted' }).click();
      await page.getByRole('option', { name: 'Delete its albums too' }).click();
      await dialog()
        .getByText('All records of albums that point to the deleted record of artists are deleted with it.')
        .waitFor();
      await add();
      const made = (await fields('artists')).find(({ name }) => name === 'producedAlbums')!;
      expect(made).toMatchObject({ type: 'hasMany', onDelete: 'cascade' });
      expect(made.foreignKey).not.toBe('artistId');
      await page.getByText('Deleting a record of artists deletes its albums').waitFor();
    },
  );

  test(
    'a many-to-many relation asks for its name and target, and can be the inverse of another one',
    long,
    async () => {
      await page.goto(getUrl('/a/main/collections/genres'));
      await begin('albums', 'Many to many', 'albums');
      await expect.poll(() => dialog().getByRole('textbox').count()).toBeLessThanOrEqual(3); // the name, and the two select boxes
      expect(await dialog().getByRole('radio', { name: 'Use the link of albums.genres' }).isChecked()).toBe(true);
      await expectAccessible(page, 'many to many');
      await add();
      await page.goto(getUrl('/a/main/data/genres/1'));
      await page.getByRole('tab', { name: 'albums' }).click();
      await page.getByRole('cell', { name: 'Jazz', exact: true }).waitFor();
    },
  );
});
