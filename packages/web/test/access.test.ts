/** The pages of access: their settings apply to people and programs, and secrets are shown only once. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { WebhookReceiver } from '../../server/test/support/webhook-receiver.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
const samEmail = 'sam@example.com';
const samPassword = 'a quiet password';

interface Site {
  readonly server: TestServer;
  readonly browser: Browser;
  readonly page: Page;
  readonly misdeeds: PageProblems;
}

async function openSite(engine: typeof sqlite): Promise<Site> {
  buildWebInterface();
  const server = await TestServer.start(engine, { env: { OUTBOUND_ALLOW: '127.0.0.1' } });
  await server.data('POST /api/collections:apply', {
    body: [
      {
        name: 'posts',
        title: 'Posts',
        fields: [
          { name: 'title', type: 'string' },
          { name: 'secretNote', type: 'string' },
          { name: 'owner', type: 'belongsTo', target: 'users' },
        ],
      },
    ],
  });
  const browser = await openBrowser(chromium!);
  const { page, misdeeds } = await openPage(browser, server.running.url);
  await page.goto(`${server.running.url}/a/main/access/roles`);
  await signIn(page);
  return { server, browser, page, misdeeds };
}

describe.skipIf(chromium === null)('the permissions of a role, its users and its API keys', () => {
  describeWebEngines('the pages of roles, users and API keys', (engine) => {
    let site: Site;
    let token: string;
    const getUrl = (path: string): string => `${site.server.running.url}/a/main/${path}`;
    const text = (pattern: string | RegExp) => site.page.getByText(pattern).first();
    const button = (name: string | RegExp) => site.page.getByRole('button', { name, exact: typeof name === 'string' });

    beforeAll(async () => {
      site = await openSite(engine);
    }, 60_000);
    afterAll(async () => {
      await site?.browser.close();
      await site?.server.stop();
    });

    test('a role is created with a rule for some records and some fields', long, async () => {
      const { page, server } = site;
      await button('New role').click();
      await page.getByLabel('Name').fill('sales');
      await page.getByLabel('Title').fill('Sales');
      await button('Create').click();
      await page.getByRole('heading', { name: 'Sales', exact: true }).waitFor();
      await button('List, Posts: not allowed').click();
      const rule = page.getByRole('dialog');
      await rule.getByRole('checkbox', { name: 'Update' }).check();
      await rule.getByRole('button', { name: 'Add a condition' }).click();
      await rule.getByRole('combobox', { name: 'Field' }).click();
      await page.getByRole('option', { name: 'ownerId', exact: true }).click();
      await rule.getByRole('combobox', { name: 'Value' }).fill('{{$user.id}}');
      await page.keyboard.press('Escape');
      await rule.getByText('All but these').click();
      await rule.getByRole('combobox', { name: 'Fields' }).click();
      await page.getByRole('option', { name: 'secretNote' }).click();
      await page.keyboard.press('Tab');
      await expectAccessible(page, 'rule');
      await rule.getByRole('button', { name: 'Save the rule' }).click();
      await button('List, Posts: allowed, some records, some fields').waitFor();
      await expectAccessible(page, 'role');
      expect(await server.data('GET /api/permissions:list?filter={"role":"sales"}')).toMatchObject([
        {
          resource: 'posts',
          actions: ['list', 'get', 'update'],
          filter: { $and: [{ ownerId: { $eq: '{{$user.id}}' } }] },
          fields: null,
          exceptFields: ['secretNote'],
        },
      ]);
    });

    test('another rule takes over an action in one transaction', long, async () => {
      const { page, server } = site;
      await page.goto(getUrl('access/roles/sales?resource=posts&action=create'));
      const rule = page.getByRole('dialog');
      await rule.getByRole('checkbox', { name: 'Create' }).waitFor();
      await rule.getByRole('checkbox', { name: 'Update' }).check();
      await rule.getByRole('button', { name: 'Save the rule' }).click();
      await button('Update, Posts: allowed').waitFor();
      const rules = (await server.data('GET /api/permissions:list?filter={"role":"sales"}&sort=id')) as object[];
      expect(rules).toMatchObject([
        { actions: ['list', 'get'], exceptFields: ['secretNote'] },
        { actions: ['create', 'update'], filter: null, exceptFields: null },
      ]);
    });

    test('a user with the role is created and sees exactly what the role permits', long, async () => {
      const { page, server, browser } = site;
      await page.goto(getUrl('access/users/new'));
      await page.getByLabel('E-mail').fill(samEmail);
      await page.getByRole('textbox', { name: 'Password' }).fill(samPassword);
      await page.getByRole('combobox', { name: 'Roles' }).click();
      await page.getByRole('option', { name: 'sales' }).click();
      await page.keyboard.press('Tab');
      await expectAccessible(page, 'new user');
      await button('Create').click();
      await button('Suspend').waitFor();
      const id = Number(page.url().split('/').at(-1));
      await server.data('POST /api/posts:create', {
        body: [
          { title: 'Of Sam', secretNote: 'what nobody sees', ownerId: id },
          { title: 'Of nobody', secretNote: 'what nobody sees' },
        ],
      });
      const sam = await openPage(browser, server.running.url);
      await sam.page.goto(getUrl('data/posts'));
      await signIn(sam.page, samEmail, samPassword);
      await sam.page.getByRole('gridcell', { name: 'Of Sam', exact: true }).waitFor();
      await sam.page.getByText('1 record', { exact: false }).first().waitFor();
      await expect.poll(() => sam.page.getByText(/Of nobody|what nobody sees/).count()).toBe(0);
      await sam.page.goto(getUrl('access/roles'));
      await sam.page.getByText('Your role does not allow this').waitFor();
      await expectAccessible(sam.page, 'roles denied');
      await expect.poll(() => sam.page.getByRole('navigation', { name: 'Main' }).getByText('Audit').count()).toBe(0);
      await sam.page.context().close();
    });

    test('the server explains which rule decides, also for a record and a user', long, async () => {
      const { page } = site;
      const userId = page.url().split('/').at(-1)!;
      await page.goto(getUrl('access/roles/sales'));
      await page.getByRole('combobox', { name: 'Collection' }).click();
      await page.getByRole('option', { name: 'Posts' }).click();
      await page.getByRole('textbox', { name: 'Record', exact: true }).fill('2');
      await page.getByLabel('User', { exact: true }).fill(userId);
      await button('Explain').click();
      await text('does not match record 2').waitFor();
      await page.getByRole('textbox', { name: 'Record', exact: true }).fill('1');
      await button('Explain').click();
      await text('matches record 1').waitFor();
      await expectAccessible(page, 'explained');
    });

    test('a role in use is not deleted, and the page shows who uses it', long, async () => {
      const { page, server } = site;
      await button('Delete').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await text('This role is still in use and cannot be deleted').waitFor();
      await expectAccessible(page, 'held role');
      await page.getByRole('link', { name: 'Users with this role' }).click();
      await text('1 found').waitFor();
      await page.getByRole('link', { name: samEmail }).waitFor();
      await expectAccessible(page, 'users');
      expect(await server.data('GET /api/roles:get?filterByTk=sales')).toMatchObject({ name: 'sales' });
    });

    test(
      'the token of an API key is shown once, has the permissions of its role, and is invalid after it is revoked',
      long,
      async () => {
        const { page, server } = site;
        await page.goto(getUrl('access/keys'));
        await text('No API keys yet').waitFor();
        await expectAccessible(page, 'no keys');
        await button('New API key').first().click();
        await page.getByLabel('Name').fill('Report');
        await page.getByRole('combobox', { name: 'Role' }).click();
        await page.getByRole('option', { name: 'viewer' }).click();
        await button('Create').click();
        const tokenField = page.getByRole('textbox', { name: 'API key' });
        token = await tokenField.inputValue();
        expect(token).toMatch(/^tbk_/);
        await expectAccessible(page, 'token');
        const requestWithKey = (): Promise<Response> =>
          fetch(`${server.running.url}/api/posts:list`, { headers: { authorization: `Bearer ${token}` } });
        expect((await requestWithKey()).status).toBe(200);
        await button('I have copied it').click();
        await page.getByRole('link', { name: 'Report' }).click();
        await text('posts:list').waitFor();
        await expectAccessible(page, 'key');
        expect(await page.content()).not.toContain(token);
        expect(await page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}])')).not.toContain(token);
        await button('Revoke').click();
        await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
        await text('Report was revoked.').waitFor();
        expect((await requestWithKey()).status).toBe(401);
      },
    );

    test('a rotated API key stays valid during the overlap, next to its successor', long, async () => {
      const { page, server } = site;
      const old = await server.data('POST /api/apiKeys:create', { body: { name: 'Import', role: { name: 'viewer' } } });
      await page.goto(getUrl(`access/keys/${old.id}`));
      await button('Rotate').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
      const next = await page.getByRole('textbox', { name: 'API key' }).inputValue();
      const status = async (bearer: string): Promise<number> =>
        (await fetch(`${server.running.url}/api/posts:list`, { headers: { authorization: `Bearer ${bearer}` } }))
          .status;
      expect([await status(old.token), await status(next)]).toEqual([200, 200]);
      await button('I have copied it').click();
      await expect.poll(() => page.url()).not.toContain(`keys/${old.id}`);
    });

    test('a suspended user is signed out and can be activated again', long, async () => {
      const { page, server } = site;
      await page.goto(getUrl('access/users?q=sam'));
      await page.getByRole('link', { name: samEmail }).click();
      await button('Suspend').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
      await text('This user is suspended').waitFor();
      await expectAccessible(page, 'suspended user');
      const body = JSON.stringify({ account: samEmail, password: samPassword });
      const headers = { 'content-type': 'application/json' };
      const trySignIn = async (): Promise<number> =>
        (await fetch(`${server.running.url}/api/auth:signIn`, { method: 'POST', headers, body })).status;
      expect(await trySignIn()).toBe(401);
      await button('Reactivate').click();
      await button('Suspend').waitFor();
      expect(await trySignIn()).toBe(200);
    });

    test('the audit journal shows all entries, and filters them by user, action and outcome', long, async () => {
      const { page } = site;
      await page.goto(getUrl('access/audit?action=apiKeys:destroy'));
      await text('1 found').waitFor();
      await expectAccessible(page, 'journal');
      await page.getByRole('button', { name: /^Open entry/ }).click();
      await page.getByRole('dialog').getByText('Hash', { exact: true }).waitFor();
      expect(page.url()).toContain('entry=');
      await page.keyboard.press('Escape');
      await button('Verify').click();
      await text(/All \d+ entries are unchanged/).waitFor();
      await page.getByLabel('Action').fill('nothing like it');
      await text('No entries match').waitFor();
      const errors = site.misdeeds.errors.filter((each) => !each.startsWith('Failed to load resource')); // a request that the test provokes and that is refused
      expect({ ...site.misdeeds, errors }).toEqual({ violations: [], errors: [], foreign: [] });
    });
  });
});

describe.skipIf(chromium === null)('webhooks, applications and the own account', () => {
  let site: Site;
  let receiver: WebhookReceiver;
  const getUrl = (path: string): string => `${site.server.running.url}/a/main/${path}`;
  const text = (pattern: string | RegExp) => site.page.getByText(pattern).first();
  const button = (name: string | RegExp) => site.page.getByRole('button', { name, exact: typeof name === 'string' });

  beforeAll(async () => {
    site = await openSite(sqlite);
    receiver = await WebhookReceiver.start();
  }, 60_000);
  afterAll(async () => {
    await site?.browser.close();
    await site?.server.stop();
    await receiver?.stop();
  });

  test('a webhook is created and tested, and shows what it sent', long, async () => {
    const { page, server } = site;
    await page.goto(getUrl('access/webhooks'));
    await text('No webhooks yet').waitFor();
    await page.getByRole('link', { name: 'New webhook' }).first().click();
    await page.getByLabel('URL').fill(receiver.url());
    await page.getByRole('combobox', { name: 'Events' }).fill('posts.*');
    await page.keyboard.press('Enter');
    await page.getByLabel('URL').click();
    await expectAccessible(page, 'new webhook');
    await button('Create').click();
    await expect.poll(() => page.getByRole('textbox', { name: 'Signing secret' }).inputValue()).toMatch(/^whsec_/);
    await button('I have copied it').click();
    await button('Send a test').click();
    await text('The test was delivered: 204.').waitFor();
    expect(receiver.received).toHaveLength(1);
    await server.data('POST /api/posts:create', { body: { title: 'One' } });
    await page.getByRole('cell', { name: 'posts.created' }).waitFor();
    await text('delivered').waitFor();
    await expectAccessible(page, 'webhook');
    await button('Send again').click();
    await text('1 message is sent again.').waitFor();
    await button('Switch off').click();
    await button('Switch on').waitFor();
  });

  test('an application is created, entered, stopped, and deleted only after typing its name', long, async () => {
    const { page } = site;
    await page.goto(getUrl('access/applications'));
    await button('New application').click();
    await page.getByLabel('Name').fill('shop');
    await page.getByLabel('Title').fill('The shop');
    await button('Create').click();
    await page.getByRole('heading', { name: 'The shop' }).waitFor();
    await expectAccessible(page, 'application');
    await button('Enter').click();
    await text('No collections yet').waitFor();
    expect(page.url()).toContain('/a/shop/data');
    await button('Switch application: The shop').waitFor();
    await page.goto(getUrl('access/applications/shop'));
    await button('Stop').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await button('Start').waitFor();
    await button('Delete the application…').click();
    const sure = page.getByRole('dialog').getByRole('button', { name: 'Delete' });
    await expect.poll(() => sure.isDisabled()).toBe(true);
    await page.getByLabel('Type shop to confirm').fill('shop');
    await sure.click();
    await text('shop was deleted.').waitFor();
    await expectAccessible(page, 'applications');
  });

  test('other sessions are ended on the account page, and the password is changed', long, async () => {
    const { page, server } = site;
    await page.goto(getUrl('account'));
    await button('End all others').click();
    await text('You have no other sessions.').waitFor();
    await expectAccessible(page, 'account');
    await page.getByRole('textbox', { name: 'Current password' }).fill('wrong');
    await page.getByRole('textbox', { name: 'New password' }).fill('a longer password');
    await page.getByRole('textbox', { name: 'Repeat the password' }).fill('a longer password');
    await button('Change the password').click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('textbox', { name: 'Current password' }).fill('correct horse battery');
    await button('Change the password').click();
    await text('Your password was changed').waitFor();
    const body = JSON.stringify({ account: 'root@example.com', password: 'a longer password' });
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${server.running.url}/api/auth:signIn`, { method: 'POST', headers, body })).status).toBe(200);
  });

  test('every page fits on a phone, and has enough contrast in dark mode', long, async () => {
    const { browser, server } = site;
    const options = { viewport: { width: 390, height: 780 }, hasTouch: true, colorScheme: 'dark' } as const;
    const { page } = await openPage(browser, server.running.url, options);
    await page.goto(getUrl('access/roles'));
    await signIn(page, 'root@example.com', 'a longer password');
    for (const [path, pattern] of [
      ['access/roles', 'viewer'],
      ['access/roles/viewer', 'All collections'],
      ['access/roles/viewer?resource=posts&action=get', 'Which records'],
      ['access/users', 'root@example.com'],
      ['access/users/1', 'Suspend'],
      ['access/keys', 'No API keys yet'],
      ['access/applications', 'running'],
      ['access/webhooks', 'off'],
      ['access/webhooks/1', 'posts.created'],
      ['access/audit', 'webhooks:test'],
      ['access/activity', 'Slow requests'],
      ['account', 'this session'],
    ] as const) {
      await page.goto(getUrl(path));
      await page.getByText(pattern).first().waitFor();
      expect([path, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([path, true]);
      await expectAccessible(page, `${path} on a phone in the dark`);
    }
    await page.context().close();
  });
});
