/**
 * `node bench/web-interface.ts`: the size of the web interface, how soon it can be used, and how it scrolls over
 * 100,000 rows.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { onSite, type Site, scrolled, signIn, web } from './web-site.ts';

const rows = Number(process.env['ROWS'] ?? 100_000);

await onSite(async (site) => {
  const { server, browser } = site;
  await fill(site);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  console.log(`first screen, packed: ${await weight(page, server.url)} kB`);
  console.log(`sign-in can be used after ${await usable(page, server.url)} ms`);
  await signIn(page, page.getByRole('navigation'));
  const shown = performance.now();
  await page.goto(`${server.url}/a/main/data/lines`);
  await page.getByRole('gridcell', { name: 'row 1', exact: true }).waitFor();
  console.log(
    `a grid of ${rows} rows is there after ${Math.round(performance.now() - shown)} ms (address entered anew)`,
  );
  const frames = await scrolled(page, '[role=grid]', 600);
  console.log(`scrolling: ${frames}; the end after ${await ended(page)} ms`);
});

async function fill({ client }: Site): Promise<void> {
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

/** The transferred size of everything that is loaded until the sign-in page is shown, in kB. */
async function weight(page: Page, url: string): Promise<string> {
  await page.goto(url);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  const html = await page.content();
  const names = [...html.matchAll(/\/assets\/([\w.-]+\.(?:js|css))/g)].map((match) => match[1]!);
  const sizes = [...new Set(names)].map((name) => readFileSync(join(web, 'dist/assets', `${name}.gz`)).length);
  return (sizes.reduce((sum, size) => sum + size, 0) / 1000).toFixed(0);
}

/** From an empty cache; the best of three, since the machine is shared. */
async function usable(page: Page, url: string): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const context = await page.context().browser()!.newContext();
    const fresh = await context.newPage();
    await fresh.goto(url, { waitUntil: 'commit' });
    await fresh.getByRole('button', { name: 'Sign in' }).waitFor();
    times.push(await fresh.evaluate<number>('performance.now()'));
    await context.close();
  }
  return Math.round(Math.min(...times));
}

/** A jump to the end, until it is shown. */
async function ended(page: Page): Promise<number> {
  const start = performance.now();
  await page.evaluate("document.querySelector('[role=grid]').scrollTop = 1e9");
  await page.getByRole('gridcell', { name: `row ${rows}`, exact: true }).waitFor();
  return Math.round(performance.now() - start);
}
