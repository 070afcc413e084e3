/** Writing a message with formatting: what the editor accepts, what is stored, and what recipients get. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { pngBase64 } from '../../server/test/support/mail-compose-server.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { transferToEditor } from './support/editor-transfer.ts';
import { startShopInboxServer } from './support/shop-inbox-server.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 120_000 };

/**
 * Markup that would run a script or load something if it were inserted into a page. Every class of the attack corpora
 * is included.
 */
const hostileHtml = `
<p onclick="taken()">plain <b>bold</b></p><script>taken()</script><img src="x" onerror="taken()">
<img src="https://pixels.example/paste.gif"><img src="//pixels.example/2.gif" srcset="https://pixels.example/3.gif 2x">
<svg onload="taken()"><a xlink:href="javascript:taken()"><text>svg</text></a><image href="https://pixels.example/4.gif"/></svg>
<math><mtext><style><img src="x" onerror="taken()"></style></mtext></math>
<style>@import url(https://pixels.example/5.css); body { background: url(https://pixels.example/6.gif) }</style>
<link rel="stylesheet" href="https://pixels.example/7.css"><iframe src="https://pixels.example/8.html"></iframe>
<a href="javascript:taken()">script link</a><a href="data:text/html,<script>taken()</script>">data link</a>
<a href="https://example.org/good" target="_top" onclick="taken()">good link</a>
<table background="https://pixels.example/9.gif"><tr><td style="background:url(https://pixels.example/10.gif)">cell</td></tr></table>
<form action="https://pixels.example/11"><input name="password" autofocus onfocus="taken()"><button>go</button></form>
<video src="https://pixels.example/12.mp4" autoplay></video><object data="https://pixels.example/13"></object>
<img data-cid="not-of-this-message@x"><noscript><p title="</noscript><img src=x onerror=taken()>"></noscript>`;

describe.skipIf(chromium === null)('writing with formatting', () => {
  describeWebEngines('in the inbox of a shop', (engine) => {
    let server: TestServer;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    const getUrl = (search = ''): string => `${server.running.url}/a/main/inbox${search}`;
    const text = () => page.getByRole('textbox', { name: 'Text' });
    const button = (name: string | RegExp) => page.getByRole('button', { name });
    /** The bytes of a message in the outbox, with soft line breaks of quoted-printable removed. */
    const readRaw = async (id: number): Promise<string> =>
      (await server.call(`GET /api/emails:raw?filterByTk=${id}`, { as: 'ann' })).text
        .replaceAll('=\r\n', '')
        .replaceAll('=3D', '=');
    const saved = () => page.getByText('Draft saved').waitFor();
    const get = (path: string) => server.data(`GET /api/${path}`, { as: 'ann' });
    /** The only draft, with all fields. */
    const readDraft = async () => get(`emails/${(await get('emails?folder=drafts'))[0].id}`);
    const discard = async (): Promise<void> => {
      await button('Discard the draft').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click();
      await expect.poll(async () => (await get('emails?folder=drafts')).length).toBe(0);
    };
    const transfer = (type: 'paste' | 'drop', data: Readonly<Record<string, string>>, png?: string): Promise<void> =>
      transferToEditor(page, type, { texts: data, ...(png !== undefined && { png }) });

    beforeAll(async () => {
      buildWebInterface();
      server = await startShopInboxServer(engine);
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, server.running.url));
      page.setDefaultTimeout(10_000);
      await page.goto(getUrl());
      await signIn(page, 'ann@example.com', 'correct horse');
      await page.locator('[data-conversation]').first().waitFor();
      // Keyboard shortcuts work as soon as the permissions are known.
      await button('New message').waitFor();
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
    });

    test(
      'formatting by keys and buttons is stored as plain elements, and sent with a text alternative',
      long,
      async () => {
        await button('New message').click();
        await page.getByRole('combobox', { name: 'To', exact: true }).fill('cora@example.net,');
        await page.getByRole('textbox', { name: 'Subject' }).fill('With formatting');
        await text().click();
        await page.keyboard.type('Plain, ');
        await page.keyboard.press('ControlOrMeta+b');
        await page.keyboard.type('bold');
        await page.keyboard.press('ControlOrMeta+b');
        await page.keyboard.type(' and linked');
        for (let n = 0; n < 6; n += 1) await page.keyboard.press('Shift+ArrowLeft');
        await page.keyboard.press('ControlOrMeta+k');
        await page.getByRole('textbox', { name: 'Address of the link' }).fill('shop.example/new');
        await page.keyboard.press('Enter');
        await page.keyboard.press('End');
        await page.keyboard.press('Enter');
        await page.keyboard.type('First');
        // The whole toolbar is one stop of the Tab key, after the text.
        await page.keyboard.press('Tab');
        for (let n = 0; n < 6; n += 1) await page.keyboard.press('ArrowRight');
        await page.keyboard.press('Enter');
        await page.keyboard.press('Enter');
        await page.keyboard.type('Second');
        await page.keyboard.press('Enter');
        await page.keyboard.press('Enter');
        await page.keyboard.press('ControlOrMeta+Shift+9');
        await page.keyboard.type('Said <earlier>');
        await saved();
        await expectAccessible(page, 'composer with formatting');
        const { html } = await readDraft();
        expect(html.trim()).toBe(
          '<div>Plain, <strong>bold</strong> and <a href="https://shop.example/new" rel="noopener noreferrer" target="_blank">linked</a></div>' +
            '<ul><li><div>First</div></li><li><div>Second</div></li></ul><blockquote><div>Said &lt;earlier&gt;</div></blockquote>',
        );
        await page.keyboard.press('ControlOrMeta+Enter');
        await page.getByText('Message queued.').waitFor();
        const [{ id }] = await get('emails?folder=outbox');
        const raw = await readRaw(id);
        expect(raw).toContain('multipart/alternative');
        expect(raw).toMatch(/Content-Type: text\/plain[\s\S]*Plain, bold and linked <https:\/\/shop\.example\/new>/);
      },
    );

    test(
      'a pasted picture is shown, sent as part of the text, and shown again when the draft is opened',
      long,
      async () => {
        await button('New message').click();
        await text().click();
        await page.keyboard.type('See ');
        await transfer('paste', {}, pngBase64);
        await page.getByRole('combobox', { name: 'To', exact: true }).fill('cora@example.net,');
        await page.getByRole('textbox', { name: 'Subject' }).fill('With a picture');
        await expect.poll(async () => (await readDraft()).attachments.length).toBe(1);
        await saved();
        const isShown = () =>
          page.evaluate<boolean>(
            `document.querySelector('[aria-label=Text] img:not(.ProseMirror-separator)')?.naturalWidth > 0`,
          );
        expect(await isShown()).toBe(true);
        expect(await page.getByRole('list', { name: 'Attached files' }).count()).toBe(0);
        await button('Close and keep the draft').click();
        await page.goto(getUrl('?folder=drafts'));
        await page.locator('[data-conversation]').filter({ hasText: 'With a picture' }).click();
        await button('Continue writing').click();
        await expect.poll(isShown).toBe(true);
        await page.keyboard.press('ControlOrMeta+Enter');
        await page.getByText('Message queued.').waitFor();
        const [{ id }] = await get('emails?folder=outbox&search=subject:picture');
        const raw = await readRaw(id);
        expect(raw).toMatch(/multipart\/related[\s\S]*<img src="cid:(pasted-[^"]+)"[\s\S]*Content-Id: <\1>/i);
        await button('Undo send').click();
        await expect.poll(isShown).toBe(true);
        // A picture that was deleted from the text is not sent.
        await text().click();
        await page.keyboard.press('ControlOrMeta+a');
        await page.keyboard.type('Nothing to see.');
        await page.keyboard.press('ControlOrMeta+Enter');
        await page.getByText('Message queued.').last().waitFor();
        await expect
          .poll(async () => (await get('emails?folder=outbox&search=subject:picture'))[0]?.hasAttachments)
          .toBe(false);
      },
    );

    test('a reply quotes HTML as it was received, or as plain text if the user wants that', long, async () => {
      await page.goto(getUrl());
      await page.locator('[data-conversation]').filter({ hasText: 'Spring sale' }).click();
      await page.getByRole('region', { name: 'Conversation', exact: true }).locator('article').first().waitFor();
      await page.keyboard.press('r');
      await text().waitFor();
      await page.keyboard.type('No, thank you.');
      await saved();
      const draft = await readDraft();
      expect(draft.html).toMatch(
        /^<style>[\s\S]*<div class="m-scope"><div>No, thank you\.<\/div>[\s\S]*<div class="m-gmail_quote">[\s\S]*<p class="m-big" style="[^"]*">Spring sale/,
      );
      expect(draft.text).toMatch(/^No, thank you\.[\s\S]*> Spring sale/);
      await button('Show the quoted message').click();
      const quoted = page.getByRole('region', { name: 'Quoted message' });
      await quoted.locator('iframe').contentFrame().getByText('Spring sale').waitFor();
      await expectAccessible(page, 'reply with a quoted message');
      // The draft has the same format when it is opened again.
      await button('Close and keep the draft').click();
      await button('Continue writing').click();
      await text().getByText('No, thank you.').waitFor();
      expect(await text().getByText('Spring sale').count()).toBe(0);
      await text().click();
      await page.keyboard.press('ControlOrMeta+Home');
      await page.keyboard.type('Sorry: ');
      await expect.poll(async () => (await readDraft()).html).toContain('Sorry: No, thank you.');
      expect((await readDraft()).html).not.toContain('m-m-');
      await button('Plain text').click();
      await expect(text().inputValue()).resolves.toMatch(/^Sorry: No, thank you\.\n[\s\S]*wrote:\n+> Spring sale/);
      await expect.poll(async () => (await readDraft()).html).toBeNull();
      await button('Rich text').click();
      await text().getByText('> Spring sale').waitFor();
      await discard();
    });

    test('a message is sent at a chosen time, and one that is sent offline is sent once', long, async () => {
      const write = async (subject: string): Promise<void> => {
        await button('New message').click();
        await page.getByRole('combobox', { name: 'To', exact: true }).fill('cora@example.net,');
        await page.getByRole('textbox', { name: 'Subject' }).fill(subject);
        await text().click();
        await page.keyboard.type('Words.');
      };
      await write('For later');
      await button('Send later').click();
      await expectAccessible(page, 'menu of times');
      await page.getByRole('menuitem', { name: 'Choose a time…' }).click();
      const time = page.getByLabel('Date and time');
      await time.fill('2020-01-01T08:00');
      await page.getByText('This time is in the past.').waitFor();
      const later = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 16);
      await time.fill(later);
      await button('Send at this time').click();
      await page.getByText(/^The message is sent /).waitFor();
      const [{ id }] = await get('emails?folder=outbox&search=subject:later');
      expect((await get(`emails/${id}`)).delivery.sendAt).toBe(`${later}:00.000Z`);
      await write('Offline');
      await saved();
      await page.route('**/api/**', (route) => route.abort());
      await page.keyboard.press('ControlOrMeta+Enter');
      await page.getByText('1 message waits for the connection.').waitFor();
      expect(await text().count()).toBe(0);
      await page.unroute('**/api/**');
      await expect
        .poll(async () => (await get('emails?folder=outbox&search=subject:offline')).length, { timeout: 15_000 })
        .toBe(1);
      await expect.poll(() => page.getByText('1 message waits for the connection.').count()).toBe(0);
      expect(await get('emails?folder=drafts')).toEqual([]);
    });

    test('on a phone and in dark mode, the composer fits and is accessible', long, async () => {
      await page.setViewportSize({ width: 390, height: 780 });
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.goto(`${server.running.url}/a/main/inbox`);
      await button('Write an e-mail').click();
      await text().click();
      await page.keyboard.type('Short.');
      await saved();
      await expectAccessible(page, 'composer on a phone, dark');
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow).toBeLessThanOrEqual(0);
      if (process.env['SCREENSHOTS'])
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/compose-phone.png` });
      await discard();
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
    });

    test('did not violate the policy of the page or call another server', () => {
      // The conversation may still request a picture of a message that has just become a draft again.
      const errors = misdeeds.errors.filter(
        (each) => !/status of 403.*\/attachments\/|ERR_FAILED|WebSocket/.test(each),
      );
      expect({ ...misdeeds, errors }).toEqual({ violations: [], errors: [], foreign: [] });
    });

    test('hostile HTML that is pasted or dropped runs nothing, requests nothing, and leaves text', long, async () => {
      await page.evaluate('globalThis.taken = () => { globalThis.isTaken = true; }');
      await button('New message').click();
      await text().click();
      await transfer('paste', { 'text/html': hostileHtml, 'text/plain': 'plain' });
      await transfer('drop', { 'text/html': hostileHtml });
      await saved();
      const { html } = await readDraft();
      expect(html.match(/<(?!\/)[^>]*>/g).filter((tag: string) => !/^<(div|p|br|strong|em|u)>$/.test(tag))).toEqual(
        Array.from(
          { length: 2 },
          () => '<a href="https://example.org/good" rel="noopener noreferrer" target="_blank">',
        ),
      );
      expect(html).toMatch(/plain <strong>bold<\/strong>[\s\S]*script link/);
      expect(await text().locator('img, style, [onclick], [style]').count()).toBe(0);
      expect(await page.evaluate('globalThis.isTaken')).toBeUndefined();
      // The parser reports each attribute that the policy of the page forbids, but the parsed document runs nothing.
      expect(misdeeds.foreign).toEqual([]);
      expect(misdeeds.violations.filter((each) => !/^(script|style)-src-attr inline /.test(each))).toEqual([]);
      await discard();
    });
  });
});
