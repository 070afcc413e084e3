import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sanitiseHtml } from '../../src/mail/html/sanitise-html.ts';
import { findChromium, openBrowser } from '../support/browser.ts';
import { htmlAttacks } from './html-attacks.ts';

const chromium = findChromium();
/** The sanitised attacks, without duplicates. */
const outputs = [...new Set(htmlAttacks.map((attack) => sanitiseHtml(attack).html))].filter((html) =>
  html.includes('<'),
);

const origin = 'http://reader.example';
/** The content security policy of the frame in which the interface shows a message. */
const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data: cid:">`;

/** Functions of the test that run in the page. */
const pageText = `<!doctype html><body><script>
function showFrames(texts, sandboxed) {
  const loads = texts.map((text) => {
    const frame = document.createElement('iframe');
    if (sandboxed) frame.setAttribute('sandbox', '');
    frame.srcdoc = text;
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
    document.body.append(frame);
    return Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, 3000))]);
  });
  return Promise.all(loads).then(() => document.body.replaceChildren());
}
function showParts(texts) {
  for (const text of texts) {
    const holder = document.createElement('div');
    holder.innerHTML = text;
    document.body.append(holder);
  }
}
function placed() {
  const away = ['fixed', 'absolute', 'sticky'];
  return [...document.querySelectorAll('*')].filter((each) => away.includes(getComputedStyle(each).position)).length;
}
</script></body>`;

interface Seen {
  readonly requests: string[];
  readonly dialogs: string[];
  readonly ran: boolean;
}

describe.skipIf(chromium === null)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(chromium!);
  });
  afterAll(() => browser.close());

  test('attacks that were not sanitised run and make requests', async () => {
    const seen = await shown(browser, htmlAttacks.slice(0, 120), '');
    expect(seen.ran || seen.dialogs.length > 0).toBe(true);
    expect(seen.requests.some((url) => url.startsWith('https://leak.example/'))).toBe(true);
  });

  test('sanitised attacks do nothing, even in a page that permits everything', async () => {
    const seen = await shown(browser, outputs, '');
    expect(seen).toEqual({ requests: [], dialogs: [], ran: false });
  });

  test('sanitised attacks do nothing in the frame that shows messages', async () => {
    const seen = await shown(
      browser,
      outputs.map((html) => policy + html),
      'sandbox=""',
    );
    expect(seen).toEqual({ requests: [], dialogs: [], ran: false });
  });

  test('sanitised attacks do nothing when they are inserted into a page', async () => {
    const page = await browser.newPage();
    const seen = await watched(page);
    await page.evaluate(`showParts(${JSON.stringify(outputs)})`);
    await page.waitForTimeout(200);
    const fixed = await page.evaluate('placed()');
    expect([await ended(page, seen), fixed]).toEqual([{ requests: [], dialogs: [], ran: false }, 0]);
  });
});

/** Shows each text as a separate document in a frame, fifty at a time. */
async function shown(browser: Browser, documents: readonly string[], attributes: string): Promise<Seen> {
  const page = await browser.newPage();
  const seen = await watched(page);
  for (let at = 0; at < documents.length; at += 50) {
    const slice = JSON.stringify(documents.slice(at, at + 50));
    await page.evaluate(`showFrames(${slice}, ${attributes !== ''})`);
  }
  await page.waitForTimeout(100);
  return ended(page, seen);
}

interface Watch {
  readonly requests: string[];
  readonly dialogs: string[];
}

/** Prepares an empty page that records its requests and dialogs; nothing reaches a network. */
async function watched(page: Page): Promise<Watch> {
  const seen: Watch = { requests: [], dialogs: [] };
  await page.route('**', (route) => {
    const url = route.request().url();
    if (url === `${origin}/`) return route.fulfill({ contentType: 'text/html', body: pageText });
    seen.requests.push(url);
    return route.abort();
  });
  page.on('dialog', (dialog) => {
    seen.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(`${origin}/`);
  return seen;
}

async function ended(page: Page, { requests, dialogs }: Watch): Promise<Seen> {
  const ran = await page.evaluate<boolean>("'ran' in window");
  await page.close();
  return { requests: requests.filter((url) => !/^(?:data|blob|about):/.test(url)), dialogs, ran };
}
