/** The built interface on a real server, in a real browser. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type PageProblems, watchPage } from '../../../server/test/support/browser.ts';
import { describeEngines, sqlite } from '../../../server/test/support/engines.ts';

export const rootEmail = 'root@example.com';
export const rootPassword = 'correct horse battery';

let isBuilt = false;

/** Builds the interface once for all tests, and only if sources have changed. */
export function buildWebInterface(): void {
  if (isBuilt) return;
  const build = fileURLToPath(new URL('../../build.ts', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [build, '--if-needed'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the web interface could not be built: ${stderr}`);
  isBuilt = true;
}

/** A page that is watched from its first moment on. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; misdeeds: PageProblems }> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    timezoneId: 'UTC',
    locale: 'en',
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const route = page.route.bind(page);
  page.route = async (...parameters) => {
    const handle = await route(...parameters);
    // Chromium confirms a route before the page uses it: without this, one in a hundred requests right after it
    // bypassed the route.
    await page.evaluate('0');
    return handle;
  };
  return { page, misdeeds: await watchPage(page, url) };
}

export async function signIn(page: Page, email = rootEmail, password = rootPassword): Promise<void> {
  await page.getByLabel('E-mail or user name').fill(email);
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page
    .getByRole('navigation', { name: 'Main' })
    .or(page.getByRole('button', { name: 'Menu' }))
    .first()
    .waitFor();
}

/** The API requests of pages are tested on both engines elsewhere; `WEB_ENGINES=all` runs the pages on both too. */
export const describeWebEngines: typeof describeEngines = (name, body) =>
  process.env['WEB_ENGINES'] === 'all' ? describeEngines(name, body) : describe(`${name} (sqlite)`, () => body(sqlite));

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Pages of each test file that were already checked: they are the same with both engines. */
const checked = new Set<string>();

/**
 * Expects no serious axe finding once the page has come to rest: elements that are still fading in have no full
 * contrast.
 */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  const looked = `${expect.getState().testPath} ${what}`;
  if (checked.has(looked)) return;
  checked.add(looked);
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const found = async (): Promise<string[]> =>
    (await page.evaluate(
      "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations'] }).then((r) => r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary.slice(0, 200)).join(' | ')))",
    )) as string[];
  await expect.poll(found, { message: what, timeout: 60_000, interval: 200 }).toEqual([]);
}
