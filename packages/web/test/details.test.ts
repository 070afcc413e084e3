/** Details of the interface: values and messages of forms, going back, names of users, and what a role is offered. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('details of the interface', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  const getUrl = (path: string): string => `${server.running.url}${path}`;
  const text = (pattern: string | RegExp) => page.getByText(pattern).first();
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const things = (query = '') => server.data(`GET /api/things:list?sort=-id${query}`);

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'things',
        options: { paranoid: true, logging: true },
        fields: [
          { name: 'name', type: 'string', required: true },
          { name: 'shade', type: 'color' },
          { name: 'phone', type: 'phone' },
          { name: 'code', type: 'uid' },
          { name: 'size', type: 'integer', max: 10 },
          { name: 'made', type: 'date' },
          { name: 'extra', type: 'json' },
        ],
      },
    });
    await server.data('POST /api/things:create', {
      body: Array.from({ length: 90 }, (_, n) => ({ name: `Thing ${n + 1}`, shade: '#aa3311' })),
    });
    await server.data('POST /api/roles:create', {
      body: [
        { name: 'reader', title: 'Reader' },
        { name: 'shopWindow', title: 'Shop window' },
      ],
    });
    await server.data('POST /api/permissions:create', {
      body: { role: 'reader', resource: 'things', actions: ['view'] },
    });
    await server.data('POST /api/permissions:create', {
      body: { role: 'reader', resource: 'emails', actions: ['view'] },
    });
    const half = [
      { role: 'reader', resource: 'apiKeys', actions: ['create'] },
      { role: 'reader', resource: 'conversations', actions: ['list', 'get'] },
      { role: 'shopWindow', resource: 'accounts', actions: ['create', 'list', 'get'], exceptFields: ['address'] },
      ...['mailboxes', 'conversations'].map((resource) => ({ role: 'shopWindow', resource, actions: ['list'] })),
    ];
    for (const body of half) await server.data('POST /api/permissions:create', { body });
    await server.data('POST /api/users:create', {
      body: {
        email: 'rita@example.com',
        password: 'a quiet password',
        roles: ['reader', 'shopWindow'],
        defaultRole: 'reader',
      },
    });
    browser = await openBrowser(chromium!);
    ({ page } = await openPage(browser, server.running.url));
    await page.goto(getUrl('/a/main/data/things'));
    await signIn(page);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('each refused value is marked once at its field, and a corrected field is no longer marked', long, async () => {
    await page.goto(getUrl('/a/main/data/things/new'));
    await page.getByLabel('shade').fill('red');
    await page.getByLabel('size', { exact: true }).fill('99');
    await page.getByLabel('phone').fill('+44 20 7946 0000');
    await page.getByLabel('code').fill('nothing');
    await page.getByLabel('code').fill('');
    await expect.poll(() => page.getByLabel('shade').inputValue()).toBe('red');
    await button('Create').click();
    await text('Check the 3 marked fields.').waitFor();
    await expectAccessible(page, 'marked fields');
    const size = page.getByLabel('size', { exact: true });
    await expect.poll(() => size.getAttribute('aria-invalid')).toBe('true');
    const said = await page.locator('form').innerText();
    expect(said).not.toMatch(/see details|values are invalid/);
    await size.fill('9');
    await text('Check the 2 marked fields.').waitFor();
    await expect.poll(() => size.getAttribute('aria-invalid')).not.toBe('true');
    await page.getByLabel('shade').fill('#ff0000');
    await page.getByLabel('name').fill('Made by hand');
    await button('Create').click();
    await page.getByRole('heading', { name: 'Made by hand' }).waitFor();
    const [made] = await things();
    expect(made).toMatchObject({ shade: '#ff0000', phone: '+442079460000', size: 9, code: expect.stringMatching(/-/) });
  });

  test('numbers in json fields are shown and saved with all digits', long, async () => {
    const exact = '{"a":9007199254740993,"b":0.12345678901234567890123}';
    const raw = async (): Promise<string> => (await server.call('GET /api/things:get?filterByTk=2&fields=extra')).text;
    await server.data('POST /api/things:update?filterByTk=2', {
      body: { extra: { a: JSON.rawJSON('9007199254740993'), b: JSON.rawJSON('0.12345678901234567890123') } },
    });
    expect(await raw()).toContain(exact);
    await page.goto(getUrl('/a/main/data/things/2'));
    const extra = page.getByLabel('extra');
    await expect.poll(() => extra.inputValue()).toBe(exact);
    await extra.fill(exact.replace('}', ',"c":12345678901234567890}'));
    await button('Save').click();
    await text('Saved.').waitFor();
    expect(await raw()).toContain(`${exact.slice(0, -1)},"c":12345678901234567890}`);
  });

  test('going back from a record shows the same list at the same position', long, async () => {
    await page.goto(getUrl('/a/main/data/things?sort=-name'));
    await page.getByRole('gridcell', { name: 'Thing 90', exact: true }).waitFor();
    const top = () => page.evaluate("document.querySelector('[role=grid]').scrollTop");
    await page.evaluate("document.querySelector('[role=grid]').scrollTop = 900");
    await page.getByRole('gridcell', { name: 'Thing 60', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Open Thing 60' }).click();
    await page.getByRole('heading', { name: 'Thing 60' }).waitFor();
    await page.goBack();
    await page.getByRole('gridcell', { name: 'Thing 60', exact: true }).waitFor();
    expect(await top()).toBe(900);
    await page.getByRole('link', { name: 'Open Thing 60' }).click();
    await page.getByRole('heading', { name: 'Thing 60' }).waitFor();
    await page.locator('header').getByRole('link', { name: 'things' }).click();
    await page.getByRole('gridcell', { name: 'Thing 60', exact: true }).waitFor();
    expect(page.url()).toContain('sort=-name');
  });

  test('Back closes the opened rule or entry and stays on its page', long, async () => {
    await page.goto(getUrl('/a/main/access/roles'));
    await page.getByRole('link', { name: 'Reader' }).first().click();
    await page
      .getByRole('button', { name: /things/ })
      .first()
      .click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Reader' }).waitFor();
    await page.goto(getUrl('/a/main/access/audit?action=users'));
    await page
      .getByRole('button', { name: /^Open entry/ })
      .first()
      .click();
    await page.getByRole('dialog').getByText('Hash', { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('main').getByRole('cell').getByRole('link').first().click();
    await page.getByRole('heading', { name: /root|admin/i }).waitFor();
    await page.goBack();
    await page
      .getByRole('button', { name: /^Open entry/ })
      .first()
      .waitFor();
    expect(page.url()).toContain('action=users');
  });

  test('Escape closes the list of choices but not the filter, and a refused filter can be cleared', long, async () => {
    await page.goto(getUrl('/a/main/data/things'));
    await button('Filter').click();
    await button('Add a condition').click();
    await page.getByRole('textbox', { name: 'Value' }).fill('unfinished');
    await page.getByRole('combobox', { name: 'Operator' }).click();
    await page.getByRole('option', { name: 'is not', exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('option').first().waitFor({ state: 'hidden' });
    await expect.poll(() => page.getByRole('textbox', { name: 'Value' }).inputValue()).toBe('unfinished');
    await page.keyboard.press('Escape');
    await page.getByRole('textbox', { name: 'Value' }).waitFor({ state: 'hidden' });
    await button('Filter').click();
    await expect.poll(() => page.getByRole('textbox', { name: 'Value' }).inputValue()).toBe('unfinished');
    await page.getByRole('combobox', { name: 'Field' }).click();
    await page.getByRole('option', { name: 'made', exact: true }).click();
    await page.getByRole('combobox', { name: 'Value' }).fill('1970s');
    await page.keyboard.press('Escape');
    await button('Apply').click();
    await text('Enter a period such as 2026').waitFor();
    expect(page.url()).not.toContain('filter=');
    await expectAccessible(page, 'refused filter');
    await page.goto(getUrl(`/a/main/data/things?filter=${encodeURIComponent('{"made":{"$dateOn":"1970s"}}')}`));
    await button('Clear filter and search').click();
    await page.getByRole('gridcell', { name: 'Thing 1', exact: true }).waitFor();
  });

  test(
    'history and journal show names of users and no empty tables, and a colour sample has its size',
    long,
    async () => {
      await server.data('POST /api/things:destroy?filterByTk=1');
      await page.goto(getUrl('/a/main/data/things/1'));
      const swatch = page.locator('main span[style*="background-color"]');
      expect((await swatch.boundingBox())!.width).toBeGreaterThan(10);
      await page.getByRole('tab', { name: 'History' }).click();
      const entry = page.getByRole('article').first();
      await entry.getByText('Deleted').waitFor();
      await entry.getByRole('link', { name: /root|admin/i }).waitFor();
      await expect.poll(() => entry.getByRole('table').count()).toBe(0);
      await page.goto(getUrl('/a/main/access/audit'));
      await page
        .getByRole('cell', { name: /root|admin/i })
        .first()
        .waitFor();
      await expect.poll(() => page.getByRole('cell', { name: 'user:1' }).count()).toBe(0);
    },
  );

  test('roles are shown by title wherever they are read or chosen', long, async () => {
    const rita = await openPage(browser, server.running.url);
    await rita.page.goto(getUrl('/a/main/data'));
    await signIn(rita.page, 'rita@example.com', 'a quiet password');
    await rita.page.getByRole('button', { name: 'rita@example.com Reader' }).click();
    await rita.page.getByRole('menuitem', { name: 'Act as Shop window', exact: true }).click();
    await rita.page.goto(getUrl('/a/main/access/roles'));
    await rita.page.getByText('Your current role is Shop window.').waitFor();
    await rita.page.goto(getUrl('/a/main/account'));
    await rita.page.locator('main').getByText('Shop window', { exact: true }).first().waitFor();
    await rita.page.getByRole('button', { name: 'Switch application: Main' }).waitFor();
    await expect.poll(() => rita.page.getByText('shopWindow').count()).toBe(0);
    await rita.page.context().close();
    const key = await server.data('POST /api/apiKeys:create', { body: { name: 'Till', role: { name: 'shopWindow' } } });
    for (const path of ['users', 'users/new', 'keys', `keys/${key.id}`, 'webhooks/new']) {
      await page.goto(getUrl(`/a/main/access/${path}`));
      const list = { 'users/new': 'Roles', 'webhooks/new': 'Role' }[path];
      if (list) await page.getByRole('combobox', { name: list }).click();
      else await page.locator('main').getByText('Shop window', { exact: true }).first().waitFor();
      if (list) await page.getByRole('option', { name: 'Shop window', exact: true }).waitFor();
      expect([path, await page.getByText('shopWindow', { exact: true }).count()]).toEqual([path, 0]);
    }
    await page.goto(getUrl('/a/main/access/roles'));
    await page.getByRole('link', { name: 'Shop window', exact: true }).click();
    await page.locator('main').getByText('shopWindow', { exact: true }).waitFor(); // the internal name is shown as well, because programs use it
  });

  test(
    'a role sees the system collections in a separate group, and cannot create records that it could not read',
    long,
    async () => {
      await page.goto(getUrl('/a/main/data/users'));
      await page.getByRole('grid').waitFor();
      await expect.poll(() => page.getByRole('link', { name: 'New record' }).count()).toBe(0);
      const rita = await openPage(browser, server.running.url);
      await rita.page.goto(getUrl('/a/main/data'));
      await signIn(rita.page, 'rita@example.com', 'a quiet password');
      const navigation = rita.page.getByRole('navigation', { name: 'Main' });
      await navigation.getByRole('link', { name: 'things' }).waitFor();
      await expect.poll(() => navigation.getByRole('link', { name: /E-mails|API keys|Inbox/ }).count()).toBe(0);
      await rita.page.locator('main').getByRole('heading', { name: 'System collections' }).waitFor();
      await rita.page.goto(getUrl('/a/main/access/keys'));
      await rita.page.getByText('Your role does not allow this').waitFor();
      await expect.poll(() => rita.page.getByRole('button', { name: /new/i }).count()).toBe(0);
      await rita.page.getByRole('button', { name: 'rita@example.com Reader' }).click();
      await rita.page.getByRole('menuitem', { name: 'Act as Shop window' }).click();
      await navigation.getByRole('link', { name: 'Inbox' }).click();
      await rita.page.getByText('No mail account yet').waitFor();
      await expect.poll(() => rita.page.getByRole('link', { name: 'Add an account' }).count()).toBe(0);
      await rita.page.context().close();
    },
  );
});
