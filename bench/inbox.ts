/** `node bench/inbox.ts`: how the inbox scrolls and reacts over 100,000 conversations; `MAILS=5000` for a short run. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { Client } from '../packages/client/src/client.ts';
import { readConfig } from '../packages/server/src/base/config.ts';
import { startServer } from '../packages/server/src/server.ts';
import { parsedCorpus, storeCopies } from '../packages/server/test/support/mail-copies.ts';

const mails = Number(process.env['MAILS'] ?? 100_000);
const account = { account: 'root@example.com', password: 'correct horse battery' };
/** Messages that are parsed; the others are copies of them, in conversations of their own. */
const parsed = 1500;
/** What of the open conversation is shown. */
const thread = "document.querySelector('article')?.closest('section')";
/** A step of the measured reader, in milliseconds; whoever reads is not asked to wait longer. */
const longest = 5000;

spawnSync(process.execPath, [fileURLToPath(new URL('../packages/web/build.ts', import.meta.url)), '--if-needed']);
const folder = mkdtempSync(join(tmpdir(), 'tablinum-inbox-bench-'));
const config = readConfig({
  PORT: '0',
  DATA_DIR: folder,
  APP_KEY: 'a key for benchmarks only, long enough to be quiet',
  INIT_ROOT_EMAIL: account.account,
  INIT_ROOT_PASSWORD: account.password,
  LOG_LEVEL: 'silent',
  RATE_LIMIT_CREDENTIAL: 'off',
  RATE_LIMIT_ANONYMOUS: 'off',
});
const server = await startServer({ config });
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
try {
  const filled = performance.now();
  const conversations = await fill();
  console.log(`${conversations} conversations filled in ${((performance.now() - filled) / 1000).toFixed(0)} s`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.url}/a/main/inbox`);
  await signIn(page);
  const started = performance.now();
  await page.goto(`${server.url}/a/main/inbox`);
  await page.locator('[data-conversation]').first().waitFor();
  console.log(`the list is there after ${Math.round(performance.now() - started)} ms (address entered anew)`);
  console.log(`a star shows after ${await starred(page)}`);
  console.log(`an archived conversation is gone after ${await archived(page)}`);
  console.log(`Enter opens a conversation after ${await opened(page)}`);
  console.log(`j opens the next one after ${await stepped(page)}`);
  console.log(`scrolling: ${await scrolled(page)}`);
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true });
}

/** Rows as an import writes them, without its parsing. @returns how many conversations there are. */
async function fill(): Promise<number> {
  const { token } = await new Client({ url: server.url }).auth.signIn(account);
  const client = new Client({ url: server.url, token });
  const address = 'shop@example.com';
  const { id } = await client.post<{ id: number }>('accounts:create', { name: 'Shop', address });
  const corpus = await parsedCorpus(null, parsed);
  const first = corpus.filter(({ inReplyTo, references }) => inReplyTo.length + references.length === 0);
  await storeCopies({ running: server }, { id, address }, first, mails);
  const query = { pageSize: 1, count: 'exact' };
  return (await client.call<unknown, { count: number }>('conversations:list', { query })).meta.count;
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail or user name').fill(account.account);
  await page.getByRole('textbox', { name: 'Password' }).fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('[data-conversation]').first().waitFor();
}

/** From a key to what it changes on the page; measured inside the page, the middle of nine and the slowest. */
async function reacting(page: Page, key: string, shown: string, between: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let turn = 0; turn < 9; turn += 1) {
    await page.evaluate(`window.reacted = new Promise((resolve) => {
      const look = () => ${shown};
      const before = look();
      addEventListener('keydown', () => {
        const start = performance.now();
        const again = (now) =>
          look() !== before || now - start > ${longest} ? resolve(performance.now() - start) : requestAnimationFrame(again);
        requestAnimationFrame(again);
      }, { once: true, capture: true });
    }); undefined`);
    await page.keyboard.press(key);
    times.push((await page.evaluate('window.reacted')) as number);
    await between();
    await page.waitForTimeout(300);
  }
  const [median, slowest] = [times.sort((a, b) => a - b)[4]!, times[8]!];
  return `${median.toFixed(0)} ms (median), ${slowest.toFixed(0)} ms (the slowest of nine)`;
}

async function starred(page: Page): Promise<string> {
  await page.keyboard.press('j');
  const pressed = "document.querySelector('[data-current] button[aria-pressed]')?.getAttribute('aria-pressed')";
  return reacting(page, 's', pressed, async () => {});
}

async function archived(page: Page): Promise<string> {
  const at = "document.querySelector('[data-conversation][data-current]')?.dataset.conversation";
  return reacting(page, 'e', at, async () => {});
}

async function opened(page: Page): Promise<string> {
  const close = async (): Promise<void> => {
    await page.keyboard.press('Escape');
    await page.locator('article').first().waitFor({ state: 'detached' });
    await page.keyboard.press('j');
  };
  return reacting(page, 'o', "document.querySelector('article') !== null", close);
}

async function stepped(page: Page): Promise<string> {
  await page.keyboard.press('o');
  await page.locator('article').first().waitFor();
  await page.waitForTimeout(500);
  return reacting(page, 'j', `${thread}?.textContent`, async () => {});
}

/** 1200 frames downwards, 120 pixels each: pages are read on the way. */
async function scrolled(page: Page): Promise<string> {
  const frames = (await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('[data-list]');
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      list.scrollTop += 120;
      if (times.length < 1200) requestAnimationFrame(step);
      else resolve(times.slice(1).sort((a, b) => a - b));
    };
    requestAnimationFrame(step);
  })`)) as number[];
  const at = (part: number): string => frames[Math.floor(frames.length * part)]!.toFixed(1);
  const top = (await page.evaluate("document.querySelector('[data-list]').scrollTop")) as number;
  return `frames of ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(0.99)} ms (99 %); ${Math.round(top / 76)} conversations further down`;
}
