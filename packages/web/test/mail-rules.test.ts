/**
 * The page of the rules of a mail account: from an empty list to rules that are tried, saved, sorted and switched off.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { startMailAccountServer, upload } from '../../server/test/support/mail-account-server.ts';
import { deliverRawMail } from '../../server/test/support/mail-arrivals.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('mail rules', () => {
  describeWebEngines('of an account', (engine) => {
    let server: TestServer;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    const rulesUrl = (): string => `${server.running.url}/a/main/inbox/accounts/1/rules`;
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
    const listRules = () => server.data('GET /api/mailRules:list?sort=position', { as: 'ann' });
    const choose = async (label: string, option: string): Promise<void> => {
      await page.getByRole('combobox', { name: label }).click();
      await page.getByRole('option', { name: option, exact: true }).click();
    };

    beforeAll(async () => {
      buildWebInterface();
      server = await startMailAccountServer(engine);
      for (const [index, subject] of ['Invoice 7', 'Lunch', '<img src=x onerror=alert(1)> Invoice'].entries())
        await upload(
          server,
          'ann',
          1,
          makeRawMail({ subject, from: 'Cora Lind <cora@example.net>', id: `m${index}@example.net` }),
        );
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, server.running.url));
      await page.goto(`${server.running.url}/a/main/inbox/accounts/1`);
      await signIn(page, 'ann@example.com', 'correct horse');
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
    });

    test('a rule is written, tried on existing messages, and saved', long, async () => {
      await page.getByRole('link', { name: 'Rules and vacation reply' }).click();
      await page.getByText('No rules yet.').waitFor();
      await expectAccessible(page, 'rules without a rule');
      await button('New rule').click();
      await page.getByRole('textbox', { name: 'Name' }).fill('Invoices');
      await choose('Condition 1: field', 'Subject');
      await page.getByRole('textbox', { name: 'Condition 1: value' }).fill('invoice');
      await button('Add a condition').click();
      await page.getByRole('textbox', { name: 'Condition 2: value' }).fill('cora');
      await choose('Action 1: action', 'Star');
      await button('Add an action').click();
      await choose('Action 2: action', 'Reply automatically');
      await button('Try on existing messages').click();
      // The text of the reply is missing, so the rule is not tried.
      await page
        .getByText(/Give the text of the reply/)
        .first()
        .waitFor();
      await page.getByRole('textbox', { name: 'Text of the reply' }).fill('Thank you, {{name}}.');
      await button('Try on existing messages').click();
      await page.getByText('2 of the newest 3 messages match. Nothing was changed.').waitFor();
      const matches = page.getByRole('table', { name: 'Matching messages' });
      await matches.getByText('<img src=x onerror=alert(1)> Invoice').waitFor();
      await expect.poll(() => matches.getByText('Star, Reply automatically').count()).toBe(2);
      await expectAccessible(page, 'rule in the dialog');
      expect(await listRules()).toEqual([]);
      await button('Create').click();
      await page.getByText('Rule created.').waitFor();
      await page
        .getByText('Subject contains “invoice” and Sender contains “cora” → Star, Reply automatically')
        .waitFor();
      expect(await listRules()).toMatchObject([{ name: 'Invoices', enabled: true, matches: 'all' }]);
    });

    test('the rule is applied to the next message, and is switched off', long, async () => {
      const raw = (id: string): string =>
        makeRawMail({ subject: `Invoice ${id}`, from: 'Cora <cora@example.net>', id: `${id}@example.net` });
      const first = await deliverRawMail(server, raw('8'));
      expect(await server.data(`GET /api/emails/${first}`, { as: 'ann' })).toMatchObject({ starred: true });
      // A dialog that is still closing would receive the click.
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
      await page.getByRole('switch', { name: 'Apply Invoices' }).click({ force: true });
      await expect.poll(async () => (await listRules())[0].enabled).toBe(false);
      const second = await deliverRawMail(server, raw('9'));
      expect(await server.data(`GET /api/emails/${second}`, { as: 'ann' })).toMatchObject({ starred: false });
    });

    test('rules are sorted, edited and deleted, and a problem of a rule is shown', long, async () => {
      const body = {
        accountId: 1,
        name: 'Lunch',
        conditions: [{ field: 'subject', operator: 'is', value: 'lunch', negate: true }],
        actions: [{ type: 'assign', userId: 2 }],
      };
      await server.data('POST /api/mailRules:create', { as: 'ann', body });
      await page.reload();
      await page.getByText('Subject is not “lunch” → Assign to a member').waitFor();
      await button('Move Lunch up').click();
      await expect
        .poll(async () => (await listRules()).map(({ name }: { name: string }) => name))
        .toEqual(['Lunch', 'Invoices']);
      await button('Edit Invoices').click();
      await page.getByRole('checkbox', { name: 'Apply no further rules to messages that match' }).check();
      await choose('Action 1: action', 'Move to a folder');
      await choose('Action 1: folder', 'Archive');
      await page.getByRole('textbox', { name: 'Condition 2: value' }).fill(' ');
      await button('Save').last().click();
      await page.getByText('Give a text of 1 to 500 characters.').first().waitFor();
      await page.getByRole('textbox', { name: 'Condition 2: value' }).fill('cora');
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('→ Move to a folder, Reply automatically, stop').waitFor();
      const { database } = server.running.applications.main;
      await database.write(async (transaction) => {
        await transaction.run({
          text: `UPDATE "mailRules" SET problem='The folder is gone.' WHERE name='Lunch'`,
          values: [],
        });
      });
      await page.reload();
      await page.getByText('Could not be applied. The folder is gone.').waitFor();
      await expectAccessible(page, 'rules with a problem');
      await button('Delete Lunch').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('Rule deleted.').waitFor();
      expect(await listRules()).toMatchObject([{ name: 'Invoices', stop: true }]);
    });

    test('a vacation reply is saved, and an invalid one shows its problem', long, async () => {
      const form = page.getByRole('form', { name: 'Vacation reply' });
      const isEnabled = form.getByRole('switch', { name: 'Send vacation replies' });
      await isEnabled.focus();
      await page.keyboard.press('Space');
      await expect.poll(() => isEnabled.isChecked()).toBe(true);
      await form.getByLabel('From').fill('2026-12-24T09:00');
      await form.getByLabel('Until').fill('2026-12-20T09:00');
      await form.getByRole('textbox', { name: 'Text' }).fill('I am away.');
      await form.getByRole('button', { name: 'Save' }).click();
      await form.getByText('Give a time that is later than "from", or null.').first().waitFor();
      await form.getByLabel('Until').fill('2027-01-02T09:00');
      await form.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Vacation reply saved.').waitFor();
      expect(await server.data('GET /api/accounts/1', { as: 'ann' })).toMatchObject({
        vacation: { enabled: true, from: '2026-12-24T09:00:00.000Z', text: 'I am away.', subject: null },
      });
      await page.goto(rulesUrl());
      await expect.poll(() => form.getByLabel('Until').inputValue()).toBe('2027-01-02T09:00');
    });

    test('the HTML of a reply is kept until the text is changed', long, async () => {
      const hint = 'This reply also has an HTML version, which is removed if you change the text.';
      const getVacation = async () => (await server.data('GET /api/accounts/1', { as: 'ann' })).vacation;
      const vacation = { ...(await getVacation()), html: '<p>I am away.</p>' };
      await server.data('POST /api/accounts:update?filterByTk=1', { as: 'ann', body: { vacation } });
      const [rule] = await listRules();
      const reply = { type: 'reply', subject: null, text: 'Thank you.', html: '<p>Thank you.</p>' };
      const body = { actions: [reply] };
      await server.data(`POST /api/mailRules:update?filterByTk=${rule.id}`, { as: 'ann', body });
      await page.goto(rulesUrl());
      const form = page.getByRole('form', { name: 'Vacation reply' });
      await form.getByText(hint).waitFor();
      await expectAccessible(page, 'vacation reply with HTML');
      await form.getByRole('textbox', { name: 'Subject' }).fill('Away');
      await form.getByRole('button', { name: 'Save' }).click();
      await expect.poll(getVacation).toMatchObject({ subject: 'Away', html: '<p>I am away.</p>' });
      await form.getByRole('textbox', { name: 'Text' }).fill('I am back soon.');
      await expect.poll(() => form.getByText(hint).count()).toBe(0);
      await form.getByRole('button', { name: 'Save' }).click();
      await expect.poll(getVacation).toMatchObject({ text: 'I am back soon.', html: null });
      await button('Edit Invoices').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(hint).waitFor();
      await dialog.getByRole('textbox', { name: 'Text of the reply' }).fill('Thanks.');
      await expect.poll(() => dialog.getByText(hint).count()).toBe(0);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await expect
        .poll(async () => (await listRules())[0].actions)
        .toMatchObject([{ type: 'reply', text: 'Thanks.', html: null }]);
      expect([misdeeds.foreign, misdeeds.violations]).toEqual([[], []]);
    });
  });
});
