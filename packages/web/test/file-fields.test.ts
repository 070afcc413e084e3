/** Fields of the type `file`: uploads on the page of a record, pictures in the grid, and what is refused. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { addUser, png } from '../../server/test/support/file-server.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
const picture = (name: string) => ({ name, mimeType: 'image/png', buffer: png });
const text = (name: string, content = 'text') => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });

describe.skipIf(chromium === null)('file fields', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const getUrl = (path: string): string => `${server.running.url}/a/main/${path}`;
  const field = (name: string) => page.getByRole('group', { name, exact: true });
  const choose = (name: string, ...files: ReturnType<typeof picture>[]): Promise<void> =>
    field(name).locator('input[type=file]').setInputFiles(files);
  const download = (name: string) => page.getByRole('button', { name: `Download ${name}`, exact: true });
  /** The number of pictures that the browser has decoded. */
  const countPictures = (selector: string): Promise<number> =>
    page.evaluate(`[...document.querySelectorAll('${selector}')].filter((each) => each.naturalWidth > 0).length`);
  /** Saves the record, and waits until the form has no unsaved changes. */
  const save = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.locator('button:disabled:not([data-loading])', { hasText: /^Save$/ }).waitFor();
  };
  const readFileNames = async (key: number, name: string): Promise<string[]> =>
    [(await server.data(`GET /api/posts:get?filterByTk=${key}`))[name] ?? []]
      .flat()
      .map((file: { name: string }) => file.name);

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'photo', type: 'file', accept: ['image/*'], maxSize: 1000 },
      { name: 'papers', type: 'file', multiple: true, maxCount: 3 },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
    await server.data('POST /api/posts:create', { body: { title: 'First' } });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(getUrl('data/posts/1'));
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('a chosen picture is uploaded, saved with the record, and shown on its page and in the grid', long, async () => {
    await choose('photo', picture('cover.png'));
    await download('cover.png').waitFor();
    await expect.poll(() => countPictures('form img')).toBe(1);
    await save();
    expect(await readFileNames(1, 'photo')).toEqual(['cover.png']);
    await choose('papers', text('one.txt'), text('two.txt'));
    await download('two.txt').waitFor();
    await save();
    expect(await readFileNames(1, 'papers')).toEqual(['one.txt', 'two.txt']);
    await expectAccessible(page, 'files of a record');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, 'files of a record, dark');
    await page.emulateMedia({ colorScheme: 'light' });
    const [saved] = await Promise.all([page.waitForEvent('download'), download('one.txt').click()]);
    expect(saved.suggestedFilename()).toBe('one.txt');

    await page.goto(getUrl('data/posts'));
    await page.getByRole('gridcell', { name: 'cover.png' }).waitFor();
    await expect.poll(() => countPictures('[role=gridcell] img')).toBe(1);
    await page.getByRole('gridcell', { name: /one\.txt\s*\+1$/ }).waitFor();
    await expectAccessible(page, 'files in the grid');
    await page.getByRole('gridcell', { name: 'cover.png' }).dblclick();
    await download('cover.png').waitFor();
  });

  test(
    'a dropped picture replaces the other one; a removed file is removed when the record is saved',
    long,
    async () => {
      await page.goto(getUrl('data/posts/1'));
      await field('photo').waitFor();
      const dropped = await page.evaluateHandle(
        `(() => { const data = new DataTransfer(); const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (c) => c.charCodeAt(0));
        data.items.add(new File([bytes], 'other.png', { type: 'image/png' })); return data; })()`,
      );
      await field('photo').dispatchEvent('drop', { dataTransfer: dropped });
      await download('other.png').waitFor();
      expect(await download('cover.png').count()).toBe(0);
      expect(await readFileNames(1, 'photo')).toEqual(['cover.png']);
      await page.getByRole('button', { name: 'Remove one.txt' }).click();
      await save();
      expect(await readFileNames(1, 'photo')).toEqual(['other.png']);
      expect(await readFileNames(1, 'papers')).toEqual(['two.txt']);
      await page.getByRole('button', { name: 'Remove other.png' }).click();
      await field('photo').locator('button:focus', { hasText: 'Choose a file' }).waitFor();
      await save();
      expect(await readFileNames(1, 'photo')).toEqual([]);
    },
  );

  test('files of a wrong type, of a wrong size, or too many files are refused before the upload', long, async () => {
    const uploads: string[] = [];
    page.on('request', (request) => request.url().includes('files:upload') && uploads.push(request.url()));
    await choose('photo', text('notes.txt'));
    await field('photo')
      .getByRole('alert')
      .getByText('its type is text/plain, and this field accepts image/*')
      .waitFor();
    await choose('photo', { ...picture('huge.png'), buffer: Buffer.alloc(1001) });
    await field('photo').getByRole('alert').getByText('at most 1000 B are allowed').waitFor();
    expect(uploads).toEqual([]);
    await choose('papers', text('a.txt'), text('b.txt'), text('c.txt'));
    await field('papers').getByRole('alert').getByText('c.txt was not added: this field takes at most 3').waitFor();
    await download('b.txt').waitFor();
    await expect.poll(() => uploads.length).toBe(2);
    await page.getByRole('button', { name: 'Discard' }).click();
    await download('b.txt').waitFor({ state: 'detached' });
    expect(await readFileNames(1, 'papers')).toEqual(['two.txt']);
  });

  test('while a file is being uploaded, the record cannot be saved; the upload can be cancelled', long, async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/files:upload', async (route) => {
      await held;
      await route.abort().catch(() => undefined);
    });
    await choose('photo', picture('slow.png'));
    await page.getByRole('progressbar', { name: 'Upload of slow.png' }).waitFor({ state: 'attached' });
    expect(await page.getByText('Enter a number.').count()).toBe(0);
    await page.getByLabel('title').fill('Second');
    expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Cancel the upload of slow.png' }).click();
    await page.getByRole('progressbar').waitFor({ state: 'detached' });
    release();
    await page.unroute('**/api/files:upload');
    await save();
    expect(await readFileNames(1, 'photo')).toEqual([]);
    expect(misdeeds.violations).toEqual([]);
    expect(misdeeds.foreign).toEqual([]);
  });

  test('the form of a field definition stores which files the field accepts', long, async () => {
    await page.goto(getUrl('collections/posts'));
    await page.getByRole('button', { name: 'Edit photo' }).click();
    const accept = page.getByRole('dialog').getByLabel('Accepted media types');
    await expect.poll(() => accept.inputValue()).toBe('image/*');
    await accept.fill('image/png\nimage/jpeg');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const collections = await server.data('GET /api/collections:list');
    const { fields } = collections.find((each: { name: string }) => each.name === 'posts');
    expect(fields.find((each: { name: string }) => each.name === 'photo')).toMatchObject({
      accept: ['image/png', 'image/jpeg'],
      maxSize: 1000,
    });
  });

  test(
    'a role that may write the field but not upload reads why; a role that may not write it has no controls',
    long,
    async () => {
      await server.data('POST /api/roles:create', { body: { name: 'writer' } });
      await server.data('POST /api/permissions:create', {
        body: { role: 'writer', resource: 'posts', actions: ['list', 'get', 'update'] },
      });
      await addUser(server, 'wim', 'writer');
      await addUser(server, 'vic', 'viewer');
      for (const [name, mayWrite] of [
        ['wim', true],
        ['vic', false],
      ] as const) {
        const other = await openPage(browser, server.running.url);
        await other.page.goto(getUrl('data/posts/1'));
        await signIn(other.page, `${name}@example.com`, `a quiet password of ${name}`);
        await other.page.getByRole('button', { name: 'Download two.txt' }).waitFor();
        expect(await other.page.locator('input[type=file]').count(), name).toBe(0);
        expect(await other.page.getByText('Your role cannot upload files.').count(), name).toBe(mayWrite ? 2 : 0);
        expect(await other.page.getByRole('button', { name: 'Remove two.txt' }).count(), name).toBe(mayWrite ? 1 : 0);
        await other.page.context().close();
      }
    },
  );

  test('an editor creates a record with a file', long, async () => {
    await addUser(server, 'ann', 'editor');
    const { page: other } = await openPage(browser, server.running.url);
    await other.goto(getUrl('data/posts/new'));
    await signIn(other, 'ann@example.com', 'a quiet password of ann');
    await other.getByLabel('title').fill('Of Ann');
    await other.getByRole('group', { name: 'photo' }).locator('input[type=file]').setInputFiles(picture('Füße 1.png'));
    await other.getByRole('button', { name: 'Download Füße 1.png' }).waitFor();
    await other.getByRole('button', { name: 'Create' }).click();
    await other.waitForURL('**/data/posts/2');
    await other.getByRole('button', { name: 'Download Füße 1.png' }).waitFor();
    expect(await readFileNames(2, 'photo')).toEqual(['Füße 1.png']);
    await other.context().close();
  });
});
