/** Thumbnails in lists of files and in the grid, and the gallery of the pictures of a field. */
import type { Browser, Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { uploadFile } from '../../server/test/support/file-server.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('the gallery', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const requested: string[] = [];
  const getUrl = (path: string): string => `${server.running.url}/a/main/${path}`;
  const gallery = (name: string): Locator => page.getByRole('dialog', { name: `Preview of ${name}`, exact: true });
  const show = (name: string): Locator => page.getByRole('button', { name: `Show ${name}`, exact: true });
  /** Waits until the gallery shows a picture that the browser has decoded. */
  const expectPicture = async (name: string): Promise<void> => {
    await gallery(name).getByRole('img', { name, exact: true }).waitFor();
    await expect
      .poll(() => page.evaluate(`document.querySelector('[role=dialog] img[data-loaded]')?.naturalWidth ?? 0`))
      .toBeGreaterThan(0);
  };
  const isFocusWithin = (selector: string): Promise<boolean> =>
    page.evaluate(`document.activeElement?.closest('${selector}') !== null`);

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'photos', type: 'file', multiple: true },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
    const draw = async (color: string, width: number, height: number): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(
        await sharp({ create: { width, height, channels: 3, background: color } })
          .png()
          .toBuffer(),
      );
    const files = [
      { name: 'red.png', content: await draw('red', 900, 300) },
      { name: 'archive.zip', content: 'PK\u0003\u0004 \u0000' },
      { name: 'green.png', content: await draw('green', 300, 900) },
      { name: 'blue.png', content: await draw('blue', 50, 50) },
      { name: 'broken.png', content: (await draw('black', 400, 400)).slice(0, 60) },
    ];
    const ids: number[] = [];
    for (const file of files) ids.push((await uploadFile(server, file, 'admin')).id);
    await server.data('POST /api/posts:create', { body: { title: 'First', photos: ids } });
    const sound = Buffer.alloc(44 + 8000);
    sound.write('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data', 'latin1');
    sound.writeUInt32LE(36 + 8000, 4);
    sound.writeUInt32LE(8000, 40);
    const others: number[] = [];
    for (const file of [
      { name: 'page.html', type: 'text/html', content: `<b>bold</b>${'x'.repeat(300 * 1024)}` },
      { name: 'data.json', type: 'application/json', content: Buffer.from('\ufeff{"umlaut": "ü"}', 'utf16le') },
      { name: 'sound.wav', content: sound },
      { name: 'film.mp4', content: '\0\0\0\x18ftypisom no film' },
      { name: 'letter.pdf', content: '%PDF-1.4\n' },
    ])
      others.push((await uploadFile(server, file, 'admin')).id);
    await server.data('POST /api/posts:create', { body: { title: 'Second', photos: others } });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(getUrl('data/posts/1'));
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('lists of files load thumbnails into boxes of a fixed size, and an icon where there is none', long, async () => {
    await show('red.png').waitFor();
    const sizeOfBox = async (name: string): Promise<unknown> => {
      const box = await show(name).locator('span').first().boundingBox();
      return [box?.width, box?.height];
    };
    expect(await sizeOfBox('red.png')).toEqual([48, 48]);
    await expect
      .poll(() => page.evaluate(`[...document.querySelectorAll('form img')].filter((i) => i.naturalWidth > 0).length`))
      .toBe(3);
    await show('broken.png').locator('svg').waitFor();
    expect(await sizeOfBox('red.png')).toEqual([48, 48]);
    const pictures = requested.filter((url) => /\/api\/files\/\d+\?/.test(url));
    expect(pictures.length).toBeGreaterThan(3);
    expect(pictures.filter((url) => !url.includes('&width=48&height=48&fit=cover'))).toEqual([]);
    expect(await show('archive.zip').count()).toBe(0);
  });

  test('keys, buttons and swipes move between the pictures; Escape closes, and the focus returns', long, async () => {
    await show('green.png').click();
    await expectPicture('green.png');
    await gallery('green.png').getByRole('status').getByText('2 of 4').waitFor();
    await expectAccessible(page, 'the gallery');
    await page.keyboard.press('ArrowRight');
    await expectPicture('blue.png');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await expectPicture('red.png');
    await page.getByRole('button', { name: 'Next file' }).click();
    await expectPicture('green.png');
    for (let press = 0; press < 8; press += 1) {
      await page.keyboard.press('Tab');
      expect(await isFocusWithin('[role=dialog]')).toBe(true);
    }
    const swipe = async (from: number, to: number): Promise<void> => {
      const stage = page.locator('[role=dialog] img');
      const touch = { pointerType: 'touch', isPrimary: true, pointerId: 7, bubbles: true, clientY: 300 };
      await stage.dispatchEvent('pointerdown', { ...touch, clientX: from });
      await stage.dispatchEvent('pointerup', { ...touch, clientX: to });
    };
    await swipe(300, 200);
    await expectPicture('blue.png');
    await swipe(200, 230); // too short to count as a swipe
    await expectPicture('blue.png');
    await swipe(200, 300);
    await expectPicture('green.png');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      gallery('green.png').getByRole('button', { name: 'Download green.png' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('green.png');
    await page.keyboard.press('End');
    await gallery('broken.png').getByText('The file cannot be displayed.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => isFocusWithin('[aria-label="Show green.png"]')).toBe(true);
  });

  test('a picture in the grid opens the gallery, and going back closes it', long, async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(getUrl('data/posts'));
    await show('red.png').click();
    await expectPicture('red.png');
    await page.keyboard.press('ArrowRight');
    await expectPicture('green.png');
    await expectAccessible(page, 'the gallery, dark');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => isFocusWithin('[role=grid]')).toBe(true);
    await expectAccessible(page, 'pictures in the grid, dark');
    await show('red.png').click();
    await expectPicture('red.png');
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByLabel('title').waitFor();
    expect(misdeeds.violations).toEqual([]);
    expect(misdeeds.foreign).toEqual([]);
  });

  test('in the grid, Enter and the space bar show the pictures of the active cell', long, async () => {
    await page.goto(getUrl('data/posts'));
    await page.getByRole('gridcell', { name: 'First', exact: true }).click();
    const titles = await page.getByRole('columnheader').allTextContents();
    const column = titles.findIndex((text) => text.includes('photos'));
    for (const key of ['Enter', 'Space']) {
      await page.keyboard.press('Home');
      for (let press = 1; press < column; press += 1) await page.keyboard.press('ArrowRight');
      await page.keyboard.press(key);
      await expectPicture('red.png');
      await page.keyboard.press('ArrowRight');
      await expectPicture('green.png');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await expect.poll(() => isFocusWithin('[role=grid]')).toBe(true);
    }
    expect(page.url()).toBe(getUrl('data/posts')); // the record was not opened
    expect(await page.getByRole('row', { selected: true }).count()).toBe(0);
    // Other cells keep their keys.
    await page.keyboard.press('Home');
    await page.keyboard.press('Space');
    await expect.poll(() => page.getByRole('row', { selected: true }).count()).toBe(1);
    await page.keyboard.press('Space');
  });

  test('texts, audio, video and PDF files are shown too, and markup is only shown as text', long, async () => {
    await page.goto(getUrl('data/posts/2'));
    await show('page.html').click();
    const readText = (name: string): Promise<string> => gallery(name).getByRole('textbox', { name }).inputValue();
    const shown = await readText('page.html');
    expect([shown.slice(0, 14), shown.length]).toEqual(['<b>bold</b>xxx', 256 * 1024]);
    await gallery('page.html').getByText('This is the beginning of the file.').waitFor();
    await expectAccessible(page, 'a text in the gallery');
    const text = gallery('page.html').getByRole('textbox', { name: 'page.html' });
    await text.focus();
    await page.keyboard.press('PageDown');
    await expect.poll(() => page.evaluate(`document.querySelector('textarea').scrollTop`)).toBeGreaterThan(0);
    await text.blur();
    await page.keyboard.press('ArrowRight');
    expect(await readText('data.json')).toContain('{"umlaut": "ü"}');
    await page.keyboard.press('ArrowRight');
    await gallery('sound.wav').getByLabel('sound.wav', { exact: true }).waitFor();
    await expect.poll(() => page.evaluate(`document.querySelector('audio')?.duration`)).toBe(1);
    await expectAccessible(page, 'a sound in the gallery');
    await page.keyboard.press('ArrowRight');
    await gallery('film.mp4').getByText('The file cannot be displayed.').waitFor();
    const setViewer = (isEnabled: boolean): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(navigator, 'pdfViewerEnabled', { value: ${isEnabled}, configurable: true })`,
      );
    await setViewer(false);
    await page.keyboard.press('ArrowRight');
    await gallery('letter.pdf').getByText('This browser does not display PDF files.').waitFor();
    await page.keyboard.press('ArrowLeft');
    await setViewer(true);
    const [pdf] = await Promise.all([
      page.waitForResponse((response) => /\/api\/files\/\d+\?signature=/.test(response.url())),
      page.keyboard.press('ArrowRight'),
    ]);
    expect([pdf.status(), pdf.headers()['content-type'], pdf.request().isNavigationRequest()]).toEqual([
      ...[200, 'application/pdf', true],
    ]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(misdeeds.violations).toEqual([]);
  });

  test('screens with two device pixels per CSS pixel load larger thumbnails', long, async () => {
    const other = await openPage(browser, server.running.url, { deviceScaleFactor: 2 });
    const thumbnail = other.page.waitForRequest((request) => request.url().includes('&width=96&height=96&fit=cover'));
    await other.page.goto(getUrl('data/posts/1'));
    await signIn(other.page);
    await thumbnail;
    await other.page.context().close();
  });
});
