/** The environment for measurements of the web interface: a server, a browser, and a signed-in user. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { Client } from '../packages/client/src/client.ts';
import { readConfig } from '../packages/server/src/base/config.ts';
import { type RunningServer, startServer } from '../packages/server/src/server.ts';
import { findChromium } from '../packages/server/test/support/browser.ts';
import { type Engine, places } from './places.ts';

export const web = fileURLToPath(new URL('../packages/web/', import.meta.url));
const account = { account: 'root@example.com', password: 'correct horse battery' };

export interface Site {
  readonly server: RunningServer;
  readonly browser: Browser;
  /** Signed in as the administrator. */
  readonly client: Client;
}

/** Builds the web interface if necessary, serves it from an empty store, and removes everything after the work. */
export async function onSite(work: (site: Site) => Promise<void>, engine: Engine = 'sqlite'): Promise<void> {
  spawnSync(process.execPath, [join(web, 'build.ts'), '--if-needed'], { stdio: 'inherit' });
  const store = await places(engine);
  if (store === null) return;
  const config = readConfig({
    PORT: '0',
    DATA_DIR: store.dataDir,
    ...(store.serverUrl !== null && { DATABASE_URL: store.serverUrl }),
    APP_KEY: 'a key for benchmarks only, long enough to be quiet',
    INIT_ROOT_EMAIL: account.account,
    INIT_ROOT_PASSWORD: account.password,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_CREDENTIAL: 'off',
    RATE_LIMIT_ANONYMOUS: 'off',
  });
  const server = await startServer({ config });
  const browser = await chromium.launch({
    executablePath: findChromium() ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    const { token } = await new Client({ url: server.url }).auth.signIn(account);
    await work({ server, browser, client: new Client({ url: server.url, token }) });
  } finally {
    await browser.close();
    await server.stop();
    await store.remove();
  }
}

/** @param ready an element that is shown after the sign-in. */
export async function signIn(page: Page, ready: Locator): Promise<void> {
  await page.getByLabel('E-mail or user name').fill(account.account);
  await page.getByRole('textbox', { name: 'Password' }).fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await ready.waitFor();
}

/** How long the frames take while an element scrolls, 120 pixels each. */
export async function scrolled(page: Page, selector: string, frames: number): Promise<string> {
  const times = (await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('${selector}');
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      list.scrollTop += 120;
      if (times.length < ${frames}) requestAnimationFrame(step);
      else resolve(times.slice(1).sort((a, b) => a - b));
    };
    requestAnimationFrame(step);
  })`)) as number[];
  const at = (part: number): string => times[Math.floor(times.length * part)]!.toFixed(1);
  return `frames of ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(0.99)} ms (99 %)`;
}
