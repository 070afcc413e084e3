/**
 * Measures how the inbox loads, scrolls and reacts with 100,000 conversations. `MAILS=5000` makes a short run.
 *
 *     node bench/inbox.ts [--engine sqlite|postgres]
 */
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { parseCorpus, storeMailCopies } from '../packages/server/test/support/stored-mail-copies.ts';
import type { Engine } from './places.ts';
import { onSite, type Site, scrolled, signIn } from './web-site.ts';

const { values: options } = parseArgs({ options: { engine: { type: 'string', default: 'sqlite' } } });

const mails = Number(process.env['MAILS'] ?? 100_000);
/** Messages that are parsed; the others are copies of them, in conversations of their own. */
const parsed = 1500;
/** The part of the open conversation that is shown. */
const thread = "document.querySelector('article')?.closest('section')";
/** Conversations that are opened one after another to see whether their memory is freed. */
const readings = 1000;
/** Maximum time of one step of the measured reader, in milliseconds; a reader should not wait longer. */
const longest = 5000;

await onSite(async (site) => {
  const { server, browser } = site;
  const filled = performance.now();
  const conversations = await fill(site);
  console.log(`${conversations} conversations filled in ${((performance.now() - filled) / 1000).toFixed(0)} s`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.url}/a/main/inbox`);
  await signIn(page, page.locator('[data-conversation]').first());
  console.log(`the list is displayed after ${await loaded(page, server.url)} (page loaded from its URL)`);
  console.log(`a star shows after ${await starred(page)}`);
  console.log(`an archived conversation is gone after ${await archived(page)}`);
  console.log(`Enter opens a conversation after ${await opened(page)}`);
  console.log(`j opens the next one after ${await stepped(page)}`);
  console.log(`memory of the page: ${await remembered(page)}`);
  // Further pages are read while it scrolls.
  const frames = await scrolled(page, '[data-list]', 1200);
  const top = (await page.evaluate("document.querySelector('[data-list]').scrollTop")) as number;
  console.log(`scrolling: ${frames}; ${Math.round(top / 76)} conversations further down`);
}, options.engine as Engine);

/** Rows as an import writes them, without its parsing. @returns how many conversations there are. */
async function fill({ server, client }: Site): Promise<number> {
  const address = 'shop@example.com';
  const { id } = await client.post<{ id: number }>('accounts:create', { name: 'Shop', address });
  const corpus = await parseCorpus(null, parsed);
  const first = corpus.filter(({ inReplyTo, references }) => inReplyTo.length + references.length === 0);
  await storeMailCopies({ running: server }, { id, address }, first, mails);
  // A server that has run for a minute has statistics; without them, PostgreSQL reads all conversations for a page.
  if (options.engine === 'postgres')
    await server.applications.main.database.write((transaction) => transaction.run({ text: 'ANALYZE', values: [] }));
  const query = { pageSize: 1, count: 'exact' };
  return (await client.call<unknown, { count: number }>('conversations:list', { query })).meta.count;
}

/** Loads the inbox several times: the time until the list is displayed, and until the reply with its rows has arrived. */
async function loaded(page: Page, url: string): Promise<string> {
  const times: number[] = [];
  const replies: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const started = performance.now();
    const reply = page.waitForResponse(/conversations:list/);
    await page.goto(`${url}/a/main/inbox`);
    replies.push((await reply).request().timing().responseStart);
    await page.locator('[data-conversation]').first().waitFor();
    times.push(performance.now() - started);
  }
  const [reply] = replies.toSorted((a, b) => a - b).slice(2);
  const sorted = times.toSorted((a, b) => a - b).map(Math.round);
  return `${sorted[2]} ms (median), ${sorted[4]} ms (the slowest of five); the server replies after ${reply?.toFixed(0)} ms`;
}

/**
 * Measures the time from a key press to the change on the page, in the page itself: the median of nine runs, and the
 * slowest.
 */
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

/** The memory of scripts after a garbage collection, after few conversations and after many. */
async function remembered(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const measure = async (): Promise<string> => {
    await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    const get = (wanted: string): number => metrics.find(({ name }) => name === wanted)!.value;
    return `${(get('JSHeapUsedSize') / 1e6).toFixed(1)} MB, ${get('Nodes')} nodes, ${get('Documents')} documents`;
  };
  const turn = async (): Promise<void> => {
    const before = await page.evaluate(`${thread}?.textContent`);
    await page.keyboard.press('j');
    await page.waitForFunction(`(before) => (${thread})?.textContent !== before`, before, { timeout: longest });
  };
  for (let count = 0; count < 20; count += 1) await turn();
  const early = await measure();
  for (let count = 20; count < readings; count += 1) await turn();
  return `${early} after 20 conversations; ${await measure()} after ${readings}`;
}
