/** `node bench/web-interface.ts`: what the interface weighs, how soon it can be used, and how it scrolls over 100,000 rows. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { Client } from '../packages/client/src/client.ts';
import { readConfig } from '../packages/server/src/base/config.ts';
import { startServer } from '../packages/server/src/server.ts';

const web = fileURLToPath(new URL('../packages/web/', import.meta.url));
const rows = Number(process.env['ROWS'] ?? 100_000);
const account = { account: 'root@example.com', password: 'correct horse battery' };

spawnSync(process.execPath, [join(web, 'build.ts'), '--if-needed'], { stdio: 'inherit' });
const folder = mkdtempSync(join(tmpdir(), 'tablinum-web-bench-'));
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
  await fill();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  console.log(`first screen, packed: ${await weight(page)} kB`);
  console.log(`sign-in can be used after ${await usable(page)} ms`);
  await signIn(page);
  const shown = performance.now();
  await page.goto(`${server.url}/a/main/data/lines`);
  await page.getByRole('gridcell', { name: 'row 1', exact: true }).waitFor();
  console.log(
    `a grid of ${rows} rows is there after ${Math.round(performance.now() - shown)} ms (address entered anew)`,
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
  const fields = ['title', 'a', 'b', 'c'].map((name) => ({ name, type: 'string' }));
  await client.collections.create({ name: 'lines', fields: [...fields, { name: 'n', type: 'integer' }] });
  for (let from = 1; from <= rows; from += 1000) {
    const records = Array.from({ length: Math.min(1000, rows - from + 1) }, (_, i) => {
      const n = from + i;
      return { title: `row ${n}`, a: `a ${n % 97}`, b: `b ${n % 13}`, c: 'some text that is longer', n };
    });
    await client.records('lines').createMany(records);
  }
}

/** Everything that is loaded until the sign-in stands there, in kB as it is sent. */
async function weight(page: Page): Promise<string> {
  await page.goto(server.url);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  const html = await page.content();
  const names = [...html.matchAll(/\/assets\/([\w.-]+\.(?:js|css))/g)].map((match) => match[1]!);
  const sizes = [...new Set(names)].map((name) => readFileSync(join(web, 'dist/assets', `${name}.gz`)).length);
  return (sizes.reduce((sum, size) => sum + size, 0) / 1000).toFixed(0);
}

/** From an empty cache; the best of three, since the machine is shared. */
async function usable(page: Page): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const context = await page.context().browser()!.newContext();
    const fresh = await context.newPage();
    await fresh.goto(server.url, { waitUntil: 'commit' });
    await fresh.getByRole('button', { name: 'Sign in' }).waitFor();
    times.push(await fresh.evaluate<number>('performance.now()'));
    await context.close();
  }
  return Math.round(Math.min(...times));
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail or user name').fill(account.account);
  await page.getByRole('textbox', { name: 'Password' }).fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
}

/** 600 frames downwards, 120 pixels each, then a jump to the end. */
async function scrolled(page: Page): Promise<string> {
  const frames = (await page.evaluate(`new Promise((resolve) => {
    const grid = document.querySelector('[role=grid]');
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      grid.scrollTop += 120;
      if (times.length < 600) requestAnimationFrame(step);
      else resolve(times.slice(1).sort((a, b) => a - b));
    };
    requestAnimationFrame(step);
  })`)) as number[];
  const at = (part: number): string => frames[Math.floor(frames.length * part)]!.toFixed(1);
  const start = performance.now();
  await page.evaluate("document.querySelector('[role=grid]').scrollTop = 1e9");
  await page.getByRole('gridcell', { name: `row ${rows}`, exact: true }).waitFor();
  return `frames of ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(0.99)} ms (99 %); the end after ${Math.round(performance.now() - start)} ms`;
}
