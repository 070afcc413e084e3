/** Contacts: the page lists, searches, edits and groups them, and the composer suggests them and their groups. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import type { Json } from '../../server/test/support/json.ts';
import { startMailAccountServer, upload } from '../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 60_000 };
/** A folder for screenshots that people look at. */
const pictures = process.env['CONTACT_PICTURES'];

describe.skipIf(chromium === null)('contacts in the inbox', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const field = (name: string) => page.getByRole('textbox', { name, exact: true });
  const row = (text: string) =>
    page.getByRole('table', { name: 'Contacts' }).getByRole('row').filter({ hasText: text });
  const get = (path: string): Promise<Json> => server.data(`GET /api/${path}`, { as: 'ann' });
  const picture = async (name: string): Promise<void> => {
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await startMailAccountServer(sqlite);
    // A second account, because contacts of all accounts are suggested.
    const other = { name: 'Support', address: 'support@example.com' };
    await server.data('POST /api/accounts:create', { as: 'ann', body: other });
    await upload(server, 'ann', 2, makeRawMail({ subject: 'Hi', from: 'Cory Stone <cory@example.org>', id: 's@1' }));
    const to = [{ name: 'Cora Lind', address: 'cora@example.net' }, 'dan@example.net'];
    await server.data('POST /api/emails:send', {
      as: 'ann',
      body: { account: 1, to, subject: 'Hello', text: 'Hello.' },
    });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    page.setDefaultTimeout(10_000);
    await page.goto(`${server.running.url}/a/main/inbox/contacts`);
    await signIn(page, 'ann@example.com', 'correct horse');
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('correspondents of sent mail are listed, and other contacts are added, searched and changed', long, async () => {
    await row('Cora Lind').getByText('From mail').waitFor();
    await row('dan@example.net').waitFor();
    await button('New contact').click();
    await field('Name').fill('Eve Holm');
    await field('E-mail address').fill('CORA@example.net');
    await button('Save').click();
    await page.getByText('The account already has a contact with this address.').waitFor();
    await field('E-mail address').fill('eve@example.net');
    await field('Company').fill('Holm Ltd');
    await expectAccessible(page, 'form of a contact');
    await picture('contact-form');
    await button('Save').click();
    await row('Holm Ltd').waitFor();
    await page.getByRole('searchbox', { name: 'Search by name, address or company' }).fill('holm eve');
    await expect.poll(() => page.getByRole('table', { name: 'Contacts' }).getByRole('row').count()).toBe(2);
    await button('Edit Eve Holm').click();
    await field('Phone').fill('+44 20 7946 0000');
    await button('Save').click();
    await row('+44 20 7946 0000').waitFor();
    await page.getByRole('searchbox').fill('nobody');
    await page.getByText('No contact matches.').waitFor();
    await page.getByRole('searchbox').fill('');
    expect((await get('contacts?sort=address')).map(({ address, company }: Json) => [address, company])).toEqual([
      ['cora@example.net', null],
      ['dan@example.net', null],
      ['eve@example.net', 'Holm Ltd'],
    ]);
  });

  test('contacts are added to groups, on the page of the group and on that of the contact', long, async () => {
    await button('New group').click();
    await field('Name of the group').fill('Board');
    await page.getByRole('combobox', { name: 'Members' }).fill('cora');
    await page.getByRole('option', { name: /Cora Lind/ }).click();
    await expectAccessible(page, 'form of a group');
    await picture('group-form');
    await page.keyboard.press('Tab');
    await button('Save').click();
    await page.getByText('The group was saved.').waitFor();
    await row('Cora Lind').getByText('Board').waitFor();
    await button('Edit Eve Holm').click();
    await page.getByRole('combobox', { name: 'Groups' }).click();
    await page.getByRole('option', { name: 'Board' }).click();
    await page.keyboard.press('Tab');
    await button('Save').click();
    await row('Eve Holm').getByText('Board').waitFor();
    await button('Show the contacts of Board').click();
    await row('dan@example.net').waitFor({ state: 'detached' });
    await expectAccessible(page, 'contacts');
    await picture('contacts');
    const [group] = await get('contactGroups?appends=members');
    expect(group.members.map(({ address }: Json) => address).sort()).toEqual(['cora@example.net', 'eve@example.net']);
  });

  test(
    'a message is written to a group, and suggestions come from contacts, groups and all accounts',
    long,
    async () => {
      await button('Write to the group Board').click();
      const to = page.getByRole('combobox', { name: 'To', exact: true });
      await to.waitFor();
      await page.getByText('Cora Lind <cora@example.net>').waitFor();
      await page.getByText('Eve Holm <eve@example.net>').waitFor();
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Backspace');
      await to.fill('cor');
      await page.getByRole('option', { name: 'Cory Stone <cory@example.org>' }).waitFor();
      expect(await page.getByRole('option').allTextContents()).toEqual([
        'Cora Lind <cora@example.net>',
        'Cory Stone <cory@example.org>',
      ]);
      await to.fill('boa');
      await page.getByRole('option', { name: 'Board (2 people)' }).waitFor();
      await picture('suggestions');
      await page.getByRole('option', { name: 'Board (2 people)' }).click();
      await field('Subject').fill('Meeting');
      await expect
        .poll(async () => (await get('emails?folder=drafts')).map(({ to: list }: Json) => list))
        .toEqual([
          [
            { name: 'Cora Lind', address: 'cora@example.net' },
            { name: 'Eve Holm', address: 'eve@example.net' },
          ],
        ]);
    },
  );

  test('contacts are merged after a preview of the result, and a merged address can be removed', long, async () => {
    await page.goto(`${server.running.url}/a/main/inbox`);
    await page.getByRole('link', { name: 'Contacts', exact: true }).click();
    await page.getByRole('checkbox', { name: 'Select Cora Lind' }).check();
    await page.getByText('1 contact selected.').waitFor();
    expect(await button('Merge…').isDisabled()).toBe(true);
    await page.getByRole('checkbox', { name: 'Select Eve Holm' }).check();
    await button('Merge…').click();
    const dialog = page.getByRole('dialog', { name: 'Merge contacts' });
    const result = dialog.getByRole('region', { name: 'The merged contact' });
    await dialog.getByRole('radio', { name: 'Cora Lind' }).check();
    for (const text of ['Cora Lind', 'cora@example.net', 'eve@example.net', 'Holm Ltd', 'Board', '+44 20 7946 0000'])
      await result.getByText(text, { exact: true }).waitFor();
    await dialog.getByText('This cannot be undone.').waitFor();
    await expectAccessible(page, 'merging contacts');
    await picture('merge');
    await dialog.getByRole('button', { name: 'Merge', exact: true }).click();
    await page.getByText('The contacts were merged.').waitFor();
    await row('Cora Lind').getByText('eve@example.net').waitFor();
    await row('Eve Holm').waitFor({ state: 'detached' });
    await page.getByText('contacts selected').waitFor({ state: 'detached' });
    await picture('merged');
    const [cora] = await get('contacts?filter={"address":"cora@example.net"}&appends=groups');
    expect(cora).toMatchObject({
      company: 'Holm Ltd',
      otherAddresses: ['eve@example.net'],
      groups: [{ name: 'Board' }],
    });
    await button('Edit Cora Lind').click();
    await page.getByRole('combobox', { name: 'Other addresses' }).press('Backspace');
    await button('Save').click();
    await row('Cora Lind').getByText('eve@example.net').waitFor({ state: 'detached' });
  });

  test('a contact is deleted, and contact files are imported', long, async () => {
    await button('Delete dan@example.net').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await row('dan@example.net').waitFor({ state: 'detached' });
    await picture('page');
    await page.setViewportSize({ width: 390, height: 844 });
    await picture('phone');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await page
      .getByRole('heading', { name: /Import/ })
      .first()
      .waitFor();
    await picture('import');
    expect(misdeeds).toMatchObject({ violations: [], foreign: [] });
  });
});
