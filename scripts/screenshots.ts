/**
 * Screenshots of the web interface, with the data of the demo store.
 *
 * - `npm run screenshots` writes the two pictures of the README to docs/images.
 * - `npm run screenshots -- <folder> [<part of a name>]` writes every page to the folder: light, dark and 390 pixels wide; two lists
 *   in each of their error states; and the pages as a role with few permissions sees them. People review these pictures;
 *   automated checks of the same pages are in packages/web/test.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { Client, type NewCollection } from '../packages/client/src/client.ts';
import { readConfig } from '../packages/server/src/base/config.ts';
import { generateDemoMail } from '../packages/server/src/mail/demo/demo-mail.ts';
import { writeMbox } from '../packages/server/src/mail/files/mbox-writer.ts';
import { startServer } from '../packages/server/src/server.ts';
import { storeDefinitions, storeRecords } from './demo-store.ts';

const account = { account: 'root@example.com', password: 'correct horse battery' };
const inbox = { name: 'Larkwell Records', address: 'hello@larkwell.example' };
const readmeImages = fileURLToPath(new URL('../docs/images', import.meta.url));
const target = process.argv[2] ?? readmeImages;
/** Only pictures whose name contains this text are written. */
const only = process.argv[3] ?? '';
/** The time that the browser shows and that the newest e-mail has: the pictures do not depend on the day they are taken. */
const now = new Date('2026-11-20T16:20:00Z');
const deepFilter = {
  $and: [
    { price: { $gt: '5' } },
    { $or: [{ title: { $includes: 'a' } }, { 'artist.name': { $startsWith: 'M' } }] },
    { $not: { artist: { $and: [{ country: { $eq: 'Japan' } }, { name: { $notEmpty: true } }] } } },
  ],
};
const filtered = encodeURIComponent(
  JSON.stringify({ $or: [{ title: { $includes: 'a' } }, { title: { $includes: 'e' } }] }),
);

/** Name to path below `/a/main/`. */
const pages: Readonly<Record<string, string>> = {
  collections: 'data',
  grid: 'data/albums',
  'grid-filtered': `data/albums?filter=${filtered}&sort=-title`,
  'grid-nothing': 'data/albums?q=zzzzzz',
  'grid-trash': 'data/orders?trash=true',
  record: 'data/albums/1',
  'record-new': 'data/albums/new',
  'record-lost': 'data/albums/999999',
  definition: 'collections/albums',
  'collection-new': 'collections/new',
  diagram: 'diagram',
  roles: 'access/roles',
  role: 'access/roles/shopWindow',
  rule: 'access/roles/shopWindow?resource=albums&action=list',
  users: 'access/users',
  user: 'access/users/2',
  'user-new': 'access/users/new',
  keys: 'access/keys',
  key: 'access/keys/1',
  webhooks: 'access/webhooks',
  webhook: 'access/webhooks/1',
  'webhook-new': 'access/webhooks/new',
  applications: 'access/applications',
  application: 'access/applications/shop',
  audit: 'access/audit',
  account: 'account',
  docs: 'docs',
  lost: 'nowhere',
};

const looks = {
  light: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 780 }, colorScheme: 'light', hasTouch: true },
} as const;
type Look = keyof typeof looks;

const folder = mkdtempSync(join(tmpdir(), 'tablinum-screens-'));
spawnSync(process.execPath, [fileURLToPath(new URL('../packages/web/build.ts', import.meta.url)), '--if-needed']);
const server = await startServer({
  config: readConfig({
    PORT: '0',
    DATA_DIR: folder,
    APP_KEY: 'a key for screenshots only, long enough to be quiet',
    INIT_ROOT_EMAIL: account.account,
    INIT_ROOT_PASSWORD: account.password,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_CREDENTIAL: 'off',
    RATE_LIMIT_ANONYMOUS: 'off',
  }),
});
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
try {
  mkdirSync(target, { recursive: true });
  await fillStore();
  if (target === readmeImages) await shootForReadme(browser);
  else await shootEverything(browser);
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true });
}
process.stdout.write(`The pictures are in ${target}\n`);

async function fillStore(): Promise<void> {
  const { token } = await new Client({ url: server.url }).auth.signIn(account);
  const client = new Client({ url: server.url, token });
  await client.collections.apply(storeDefinitions as unknown as NewCollection[]);
  for (const [collection, records] of storeRecords) await client.records(collection).createMany(records);
  await client
    .records('roles')
    .create({ name: 'shopWindow', title: 'Shop window', description: 'What everybody may see.' });
  const rule = {
    role: 'shopWindow',
    resource: 'albums',
    actions: ['list', 'get'],
    filter: deepFilter,
    exceptFields: ['stock'],
  };
  await client.records('permissions').create(rule);
  await client
    .records('users')
    .create({ email: 'ann@example.com', nickname: 'Ann', password: account.password, roles: ['shopWindow', 'viewer'] });
  const key = await client.apiKeys.issue({ role: 'shopWindow', name: 'Web shop', expiresIn: '1y' });
  for (let n = 0; n < 5; n += 1) await client.with({ token: key.token }).records('albums').list();
  await client.webhooks.create({ url: 'https://example.com/hook', events: ['albums.*'], role: 'viewer' });
  await client.applications().create({ name: 'shop', displayName: 'Second shop', description: 'Another one.' });
  await importMail(client);
}

async function importMail(client: Client): Promise<void> {
  const { id } = await client.records<{ id: number }>('accounts').create(inbox);
  const messages = generateDemoMail({ seed: 22, count: 200, until: now, inbox });
  for (const [mailbox = 'INBOX', list] of Map.groupBy(messages, (message) => message.mailbox)) {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for await (const piece of writeMbox(list)) pieces.push(Uint8Array.from(piece));
    await client.emails.import({ account: id, mailbox }, new Blob(pieces, { type: 'application/mbox' }));
  }
}

async function shootForReadme(browser: Browser): Promise<void> {
  const page = await signIn(browser, 'light');
  await page.setViewportSize({ width: 1280, height: 700 }); // small files: about 150 kB
  await page.goto(`${server.url}/a/main/data/albums?sort=-released`);
  await page.waitForLoadState('networkidle');
  await shoot(page, 'record-grid');
  await page.goto(`${server.url}/a/main/inbox`);
  await page.getByText('Slow Meridian').first().click();
  await page.waitForLoadState('networkidle');
  await shoot(page, 'inbox');
  await page.context().close();
}

async function shootEverything(browser: Browser): Promise<void> {
  for (const look of Object.keys(looks) as Look[]) await shootPages(browser, look);
  await shootStates(browser);
  await shootAsReader(browser);
}

async function signIn(browser: Browser, look: Look, as = account): Promise<Page> {
  const page = await (await browser.newContext({ ...looks[look], timezoneId: 'UTC', locale: 'en' })).newPage();
  await page.clock.setFixedTime(now);
  await page.goto(`${server.url}/a/main/data`);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  if (target !== readmeImages) await shoot(page, 'sign-in', look);
  await page.getByLabel('E-mail or user name').fill(as.account);
  await page.getByRole('textbox', { name: 'Password' }).fill(as.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('main#content').waitFor();
  return page;
}

/** @param look added to the name of the file; the pictures of the README have none. */
async function shoot(page: Page, name: string, look = ''): Promise<void> {
  const file = look === '' ? name : `${name}-${look}`;
  if (!file.includes(only)) return;
  await page.waitForTimeout(700); // animations have ended
  await page.screenshot({ path: join(target, `${file}.png`) });
}

async function shootPages(browser: Browser, look: Look): Promise<void> {
  const page = await signIn(browser, look);
  for (const [name, path] of Object.entries(pages)) {
    if (!`${name}-${look}`.includes(only)) continue;
    await page.goto(`${server.url}/a/main/${path}`);
    await page.getByRole('heading').first().waitFor();
    await page.waitForLoadState('networkidle');
    await shoot(page, name, look);
    if (name === 'grid-filtered') {
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('button', { name: 'Add a group' }).click();
      await page.getByRole('menuitem').first().click();
      await shoot(page, 'filter', look);
    }
    if (name === 'collections') {
      await page.keyboard.press('Control+k');
      await shoot(page, 'palette', look);
    }
  }
  await page.context().close();
}

/** Two lists while the server is slow, refuses, fails, limits the rate, or cannot be reached. */
async function shootStates(browser: Browser): Promise<void> {
  const page = await signIn(browser, 'light');
  const refusals = {
    403: { error: 'No permissions', code: 'NO_PERMISSION', message: 'The role does not allow list on albums.' },
    429: {
      error: 'Too Many Requests',
      code: 'RATE_LIMITED',
      message: 'Too many requests; wait 30 seconds.',
      retryAfter: 30,
    },
    500: { error: 'Internal Server Error', code: 'INTERNAL', message: 'Something went wrong on the server.' },
  };
  const lists = {
    'state-grid': ['data/albums', 'albums:list'],
    'state-users': ['access/users', 'users:list'],
  } as const;
  for (const [name, [path, action]] of Object.entries(lists)) {
    const pattern = `**/api/${action}*`;
    for (const [status, body] of Object.entries(refusals)) {
      const reply = JSON.stringify({ ...body, requestId: '3f0c' });
      await page.route(pattern, (route) =>
        route.fulfill({ status: Number(status), contentType: 'application/json', body: reply }),
      );
      await page.goto(`${server.url}/a/main/${path}`);
      await shoot(page, name, status);
      await page.unroute(pattern);
    }
    await page.route(pattern, () => {});
    await page.goto(`${server.url}/a/main/${path}`);
    await page.waitForTimeout(4500);
    await shoot(page, name, 'slow');
    await page.unroute(pattern);
    await page.route(pattern, (route) => route.abort());
    await page.goto(`${server.url}/a/main/${path}`);
    await shoot(page, name, 'offline');
    await page.unroute(pattern);
  }
  await page.context().close();
}

/** Pages as a role with few permissions sees them. */
async function shootAsReader(browser: Browser): Promise<void> {
  const page = await signIn(browser, 'light', { ...account, account: 'ann@example.com' });
  for (const [name, path] of Object.entries({
    collections: 'data',
    grid: 'data/albums',
    record: 'data/albums/1',
    new: 'data/albums/new',
    roles: 'access/roles',
    account: 'account',
    keys: 'access/keys',
  })) {
    await page.goto(`${server.url}/a/main/${path}`);
    await page.getByRole('heading').first().waitFor();
    await page.waitForLoadState('networkidle');
    await shoot(page, name, 'reader');
  }
  await page.context().close();
}
