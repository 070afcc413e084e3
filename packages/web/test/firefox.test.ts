/**
 * The grid and the inbox in Firefox, which has its own HTML parser, key and editor handling, and enforcement of content
 * security policies.
 */
import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sanitiseHtml } from '../../server/src/mail/html/sanitise-html.ts';
import { htmlAttacks } from '../../server/test/mail/html-attacks.ts';
import type { PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { findFirefox, openFirefox, prepareFirefoxPage } from '../../server/test/support/firefox.ts';
import { DeliveryFixture } from '../../server/test/support/mail-delivery-fixture.ts';
import { buildWebInterface, openPage, signIn } from './support/web-page.ts';

const firefox = findFirefox();
const long = { timeout: 120_000 };
/** A folder for screenshots that people look at. */
const pictures = process.env['SCREENSHOT_DIR'];

/**
 * One attack of each kind on the readers of a mail. `JS` stands for a script, `URL` for an address that would reveal
 * the reader.
 */
const hostileHtml = `<p>Dear customer</p>
<img src="x" onerror="JS"><svg onload="JS"><script>JS</script></svg><script>JS</script><script src="URL/script.js"></script>
<a href="javascript:JS">link</a><iframe src="URL/frame"></iframe><object data="URL/object"></object><embed src="URL/embed">
<link rel="stylesheet" href="URL/sheet.css"><link rel="preconnect" href="URL"><meta http-equiv="refresh" content="0;url=URL/refresh">
<style>@import "URL/import.css"; p { background: url(URL/background.png) } @font-face { font-family: x; src: url(URL/font) }</style>
<p style="background-image:url(URL/style.png);list-style:url(URL/list.png);font-family:x">x</p>
<img src="URL/pixel.gif"><img srcset="URL/set.gif 2x"><picture><source srcset="URL/source.gif"></picture>
<video poster="URL/poster.jpg" src="URL/video.mp4" autoplay></video><audio src="URL/audio.mp3" autoplay></audio>
<form action="URL/form"><input autofocus onfocus="JS"></form><details open ontoggle="JS">x</details><base href="URL/">`;

describe.skipIf(firefox === null)('in Firefox', () => {
  let fixture: DeliveryFixture;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  let elsewhere: Server;
  let address: string;
  const hits: string[] = [];
  const getUrl = (path: string): string => `${fixture.server.running.url}/a/main/${path}`;
  const text = (pattern: string | RegExp) => page.getByText(pattern).first();
  const row = (pattern: string) => page.locator('[data-conversation]').filter({ hasText: pattern });
  const find = async (subject: string) => (await fixture.server.data(`GET /api/emails?search=subject:"${subject}"`))[0];
  const picture = async (name: string): Promise<void> => {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png` });
  };

  beforeAll(async () => {
    buildWebInterface();
    elsewhere = createServer(({ url }, response) => {
      hits.push(url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    fixture = await DeliveryFixture.open(sqlite);
    await fixture.server.data('POST /api/collections:create', {
      body: {
        name: 'albums',
        fields: [
          { name: 'title', type: 'string' },
          { name: 'price', type: 'decimal', precision: 10, scale: 2 },
        ],
      },
    });
    const html = hostileHtml.replaceAll('JS', 'top.ran=1').replaceAll('URL', address);
    await fixture.receive({ subject: 'Urgent', from: 'Eve <eve@example.net>', id: 'e1@example.net', html });
    for (const [subject, body] of [
      ['Broken turntable', 'The tonearm is loose.\n\nOn Monday Shop wrote:\n> Enjoy the record.'],
      ['Opening hours', 'Are you open on Sunday?'],
    ] as const)
      await fixture.receive({
        subject,
        from: 'Cora Lind <cora@example.net>',
        id: `${subject.length}@example.net`,
        text: body,
      });
    browser = await openFirefox(firefox!);
    ({ page, misdeeds } = await openPage(browser, fixture.server.running.url));
    await prepareFirefoxPage(page);
    await page.goto(getUrl('data/albums'));
    await signIn(page);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.stop();
    elsewhere?.close();
  });

  test('records are created in a form and edited in the grid by keyboard', long, async () => {
    await text('No records yet').waitFor();
    await page.goto(getUrl('data/albums/new'));
    await page.getByLabel('title').fill('Jazz');
    await page.keyboard.press('Tab');
    await page.keyboard.type('12.50');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jazz' }).waitFor();
    await picture('record');
    await page.goto(getUrl('data/albums'));
    await page.getByRole('gridcell', { name: 'Jazz', exact: true }).click();
    await page.keyboard.press('Enter');
    await page.getByRole('gridcell').getByRole('textbox').waitFor();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('News of the World');
    await page.keyboard.press('Enter');
    await page.getByRole('gridcell', { name: 'News of the World', exact: true }).waitFor();
    await picture('grid');
    await expect
      .poll(() => fixture.server.data('GET /api/albums:get?filterByTk=1'))
      .toMatchObject({ title: 'News of the World', price: '12.50' });
  });

  test('mail is read, starred, filtered and searched, mostly by keyboard', long, async () => {
    await page.goto(getUrl('inbox'));
    await row('Opening hours').waitFor();
    await picture('inbox');
    await row('Broken turntable').click();
    await text('The tonearm is loose.').waitFor();
    await picture('conversation');
    await expect.poll(async () => (await find('Broken turntable')).read).toBe(true);
    await page.keyboard.press('s');
    await expect.poll(async () => (await find('Broken turntable')).starred).toBe(true);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Starred', exact: true }).last().click();
    await expect.poll(() => row('').count()).toBe(1);
    await page.getByRole('button', { name: 'Starred', exact: true }).last().click();
    await row('Opening hours').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('from:cora sunday');
    await page.keyboard.press('Enter');
    await expect.poll(() => row('').count()).toBe(1);
    await row('Opening hours').waitFor();
    await page.getByRole('button', { name: 'Clear the search' }).click();
    await row('Broken turntable').waitFor();
  });

  test('a message that is written by keyboard is sent, and is in Sent', long, async () => {
    await page.keyboard.press('c');
    await page.getByRole('combobox', { name: 'To', exact: true }).waitFor();
    await page.keyboard.type('dora@example.net,');
    await page.getByRole('textbox', { name: 'Subject' }).fill('Greetings');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Dear Dora,');
    await page.keyboard.press('Enter');
    await page.keyboard.press('ControlOrMeta+B');
    await page.keyboard.type('thank you');
    await page.keyboard.press('ControlOrMeta+B');
    await page.keyboard.type('.');
    await text('Draft saved').waitFor();
    await picture('composer');
    await page.keyboard.press('ControlOrMeta+Enter');
    await text('Message queued.').waitFor();
    fixture.advance(10_000);
    await expect.poll(() => fixture.relay.received.length).toBe(1);
    await page.goto(getUrl('inbox?folder=sent'));
    await row('Greetings').click();
    await page.frameLocator('iframe').locator('strong', { hasText: 'thank you' }).waitFor();
    await picture('sent');
    const { id } = await find('Greetings');
    expect((await fixture.get(id)).text.trim()).toBe('Dear Dora,\nthank you.');
  });

  test('hostile HTML runs no script and makes no request', long, async () => {
    await page.goto(getUrl('inbox'));
    await row('Urgent').click();
    await page.frameLocator('iframe').getByText('Dear customer').waitFor();
    await text(/Remote images are blocked/).waitFor();
    await picture('hostile');
    // Playwright's own pictures violate the policy of the page.
    if (pictures === undefined) expect(misdeeds).toEqual({ violations: [], errors: [], foreign: [] });
    expect(hits).toEqual([]);
  });

  test(
    'known attacks do nothing after the server has sanitised them, in a frame with the policy of mails',
    long,
    async () => {
      const attacks = htmlAttacks.map(
        (attack) => sanitiseHtml(attack.replaceAll('https://leak.example', address)).html,
      );
      const outputs = [...new Set(attacks)].filter((html) => html.includes('<'));
      const reader = await browser.newPage();
      const count = await reader.evaluate(`(async (outputs) => {
      const policy = '<meta http-equiv="Content-Security-Policy" content="default-src \\'none\\'; style-src \\'unsafe-inline\\'; img-src data: cid:">';
      for (let from = 0; from < outputs.length; from += 20) {
        const frame = document.createElement('iframe');
        frame.setAttribute('sandbox', 'allow-same-origin');
        frame.srcdoc = policy + outputs.slice(from, from + 20).join('');
        document.body.append(frame);
        await new Promise((resolve) => frame.addEventListener('load', resolve));
      }
      return [...document.querySelectorAll('iframe')].reduce((sum, each) => sum + each.contentDocument.querySelectorAll('*').length, 0);
    })(${JSON.stringify(outputs)})`);
      expect(count).toBeGreaterThan(outputs.length);
      await reader.waitForTimeout(200);
      expect(await reader.evaluate("'ran' in window")).toBe(false);
      expect(hits).toEqual([]);
      // The control: without the policy, the server is reached.
      await reader.evaluate(`document.body.innerHTML = '<img src="${address}/reached">'`);
      await expect.poll(() => hits).toEqual(['/reached']);
      await reader.close();
    },
  );
});
