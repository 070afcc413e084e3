/** `node bench/inbox.ts`: how the inbox scrolls and reacts over 100,000 e-mails; `MAILS=5000` for a short run. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { Client } from '../packages/client/src/client.ts';
import { readConfig } from '../packages/server/src/base/config.ts';
import { demoMail } from '../packages/server/src/mail/demo/demo-mail.ts';
import { writeMbox } from '../packages/server/src/mail/files/mbox-writer.ts';
import { startServer } from '../packages/server/src/server.ts';

const mails = Number(process.env['MAILS'] ?? 100_000);
const account = { account: 'root@example.com', password: 'correct horse battery' };
/** Messages of one upload: a request must be sent within a minute. */
const portion = 1000;

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
  await fill();
  console.log(`${mails} e-mails imported in ${((performance.now() - filled) / 1000).toFixed(0)} s`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.url}/a/main/inbox`);
  await signIn(page);
  const started = performance.now();
  await page.goto(`${server.url}/a/main/inbox`);
  await page.locator('[data-conversation]').first().waitFor();
  console.log(`the list is there after ${Math.round(performance.now() - started)} ms (address entered anew)`);
  console.log(
    `a star shows after ${await starred(page)} ms, j opens the next conversation after ${await stepped(page)} ms`,
  );
  console.log(`scrolling: ${await scrolled(page)}`);
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true });
}

async function fill(): Promise<void> {
  const { token } = await new Client({ url: server.url }).auth.signIn(account);
  const client = new Client({ url: server.url, token });
  const address = 'shop@example.com';
  await client.post('accounts:create', { name: 'Shop', address });
  for (let seed = 0; seed * portion < mails; seed += 1) {
    const until = new Date(Date.UTC(2026, 9, 1) - seed * 86_400_000);
    const count = Math.min(portion, mails - seed * portion);
    const made = demoMail({ seed, count, until, days: 900, inbox: { name: 'Shop', address } });
    const response = await fetch(`${server.url}/api/emails:import?account=1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/mbox' },
      body: writeMbox(made.map((each) => ({ ...each, mailbox: 'INBOX' }))),
      duplex: 'half',
    } as never);
    if (!response.ok) throw new Error(await response.text());
  }
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail or user name').fill(account.account);
  await page.getByRole('textbox', { name: 'Password' }).fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('[data-conversation]').first().waitFor();
}

/** From a key to what it changes on the page, in milliseconds; measured inside the page, the middle of five. */
async function reacting(page: Page, press: () => Promise<void>, shown: string): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const time = page.evaluate<number>(`new Promise((resolve) => {
      const before = (() => ${shown})();
      addEventListener('keydown', () => {
        const start = performance.now();
        setTimeout(() => resolve(5000), 5000);
        const look = () => ((() => ${shown})() === before ? requestAnimationFrame(look) : resolve(performance.now() - start));
        look();
      }, { once: true, capture: true });
    })`);
    await page.waitForTimeout(50);
    await press();
    times.push(await time);
    await page.waitForTimeout(400);
  }
  return Math.round(times.sort((a, b) => a - b)[2]!);
}

async function starred(page: Page): Promise<number> {
  await page.keyboard.press('j');
  const pressed = "document.querySelector('[data-current] button[aria-pressed]')?.getAttribute('aria-pressed')";
  return reacting(page, () => page.keyboard.press('s'), pressed);
}

async function stepped(page: Page): Promise<number> {
  await page.keyboard.press('Enter');
  await page.locator('article').first().waitFor();
  await page.waitForTimeout(500);
  return reacting(
    page,
    () => page.keyboard.press('j'),
    "document.querySelector('article')?.closest('section')?.textContent",
  );
}

/** 600 frames downwards, 120 pixels each. */
async function scrolled(page: Page): Promise<string> {
  const frames = (await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('[data-list]');
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      list.scrollTop += 120;
      if (times.length < 600) requestAnimationFrame(step);
      else resolve(times.slice(1).sort((a, b) => a - b));
    };
    requestAnimationFrame(step);
  })`)) as number[];
  const at = (part: number): string => frames[Math.floor(frames.length * part)]!.toFixed(1);
  const top = (await page.evaluate("document.querySelector('[data-list]').scrollTop")) as number;
  return `frames of ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(0.99)} ms (99 %); ${Math.round(top / 76)} conversations further down`;
}
