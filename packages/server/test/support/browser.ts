import { existsSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

const chromiumPaths = [
  process.env['CHROMIUM'],
  // The browser without its windows uses a quarter less processor time.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** The path of Chromium, or null: see {@link findBrowser}. */
export function findChromium(): string | null {
  return findBrowser({
    name: 'Chromium',
    paths: chromiumPaths,
    systemPackage: 'chromium-headless-shell',
    variable: 'CHROMIUM',
  });
}

interface BrowserPlaces {
  readonly name: string;
  readonly paths: readonly (string | undefined)[];
  /** The Debian package. */
  readonly systemPackage: string;
  /** The environment variable that contains the path of another one. */
  readonly variable: string;
}

/** The path of a browser, or null. If it is not installed, a message is printed; in CI this is an error. */
export function findBrowser({ name, paths, systemPackage, variable }: BrowserPlaces): string | null {
  const found = paths.find((path) => path && existsSync(path)) ?? null;
  if (found !== null) return found;
  if (process.env['CI'])
    throw new Error(`${name} is needed in CI: apt-get install ${systemPackage}, or name it in ${variable}.`);
  process.stdout.write(`Tests in ${name} are skipped: it is not installed. Name one in ${variable}.\n`);
  return null;
}

/** Without these flags, Chromium emulates a GPU, which takes a quarter of its processor time. */
const withoutGraphics = ['--disable-gpu', '--disable-software-rasterizer'];

/**
 * Pages of tests are too short-lived for optimised code: compiling it takes a tenth of the processor time of the pages.
 */
const withoutOptimiser = '--js-flags=--no-lazy-feedback-allocation --always-sparkplug --no-maglev --no-turbofan';

/** The browser of this test worker: all files that the worker runs share it, because each start takes a second. */
let shared: Promise<Browser> | null = null;

/** `close` closes all pages; Playwright ends the browser itself with the process. */
export function openBrowser(path: string): Promise<Browser> {
  const forget = (): void => {
    shared = null;
  };
  shared ??= launch(path, forget).catch((error: unknown) => {
    forget();
    throw error;
  });
  return shared;
}

async function launch(path: string, onEnd: () => void): Promise<Browser> {
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({
    executablePath: path,
    args: [...withoutGraphics, withoutOptimiser, ...asRoot],
  });
  browser.once('disconnected', onEnd);
  browser.close = async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
  };
  return browser;
}

/** Violations that a page must not cause. */
export interface PageProblems {
  readonly violations: string[];
  readonly errors: string[];
  readonly foreign: string[];
}

/** Watches a page from its first moment on: its policy, its console, and requests to other servers. */
export async function watchPage(page: Page, origin: string): Promise<PageProblems> {
  const misdeeds: PageProblems = { violations: [], errors: [], foreign: [] };
  await page.exposeFunction('noteViolation', (text: string) => void misdeeds.violations.push(text));
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (e) => noteViolation([e.violatedDirective, e.blockedURI, e.sourceFile].join(' ')))",
  );
  page.on('pageerror', (error) => misdeeds.errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      misdeeds.errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) misdeeds.foreign.push(url);
  });
  return misdeeds;
}
