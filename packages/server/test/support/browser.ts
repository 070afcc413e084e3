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

/** Where a real Chromium is, or null: said on a laptop, a failure in CI. */
export function findChromium(): string | null {
  const found = chromiumPaths.find((path) => path && existsSync(path)) ?? null;
  if (found !== null) return found;
  if (process.env['CI'])
    throw new Error('Chromium is needed in CI: apt-get install chromium-headless-shell, or name it in CHROMIUM.');
  process.stdout.write('Tests in the browser are skipped: there is no Chromium; name one in CHROMIUM.\n');
  return null;
}

/** Without them Chromium emulates a graphics processor, which is a quarter of the time that it takes of the real one. */
const withoutGraphics = ['--disable-gpu', '--disable-software-rasterizer'];

export function openBrowser(path: string): Promise<Browser> {
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: path, args: [...withoutGraphics, ...asRoot] });
}

/** What a page does that it should not. */
export interface PageProblems {
  readonly violations: string[];
  readonly errors: string[];
  readonly foreign: string[];
}

/** Watches a page from its first moment on: its policy, its console, and whom it calls. */
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
