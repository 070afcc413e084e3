/**
 * `npm run screenshots -- <folder>`: every page of the web interface over a small music store, light, dark and 390 pixels wide,
 * and one list in each of its states. Looked at by people; what a machine can say of them is in packages/web/test.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { Client, type NewCollection } from '../packages/client/src/client.ts';
import { readConfig } from '../packages/server/src/base/config.ts';
import { startServer } from '../packages/server/src/server.ts';
import { storeDefinitions, storeRecords } from './demo-store.ts';

const account = { account: 'root@example.com', password: 'correct horse battery' };
const target = process.argv[2] ?? join(tmpdir(), 'tablinum-screenshots');
/** Of these alone, by a part of their name. */
const only = process.argv[3] ?? '';
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

/** Name to address below `/a/main/`. */
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
  await fill();
  for (const look of Object.keys(looks) as (keyof typeof looks)[]) await everyPage(browser, look);
  await everyState(browser);
  await asReader(browser);
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true });
}
process.stdout.write(`The pictures are in ${target}\n`);

async function fill(): Promise<void> {
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
}

async function opened(browser: Browser, look: keyof typeof looks, as = account): Promise<Page> {
  const page = await (await browser.newContext({ ...looks[look], timezoneId: 'UTC', locale: 'en' })).newPage();
  await page.goto(`${server.url}/a/main/data`);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await shoot(page, 'sign-in', look);
  await page.getByLabel('E-mail or user name').fill(as.account);
  await page.getByRole('textbox', { name: 'Password' }).fill(as.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('main#content').waitFor();
  return page;
}

async function shoot(page: Page, name: string, look: string): Promise<void> {
  if (!`${name}-${look}`.includes(only)) return;
  await page.waitForTimeout(700); // what fades in has come to rest
  await page.screenshot({ path: join(target, `${name}-${look}.png`) });
}

async function everyPage(browser: Browser, look: keyof typeof looks): Promise<void> {
  const page = await opened(browser, look);
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

/** A list that is slow, refused, asked too often, or out of reach. */
async function everyState(browser: Browser): Promise<void> {
  const page = await opened(browser, 'light');
  const refusals = {
    403: { error: 'No permissions', code: 'NO_PERMISSION', message: 'The role does not allow list on albums.' },
    429: {
      error: 'Too Many Requests',
      code: 'RATE_LIMITED',
      message: 'Too many requests; wait 30 seconds.',
      retryAfter: 30,
    },
    500: { error: 'Internal Server Error', code: 'INTERNAL', message: 'Something went wrong inside.' },
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

/** What a role sees that may look at little. */
async function asReader(browser: Browser): Promise<void> {
  const page = await opened(browser, 'light', { ...account, account: 'ann@example.com' });
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
