/**
 * Tools of the composer: templates are written, previewed, inserted into messages in both formats, and deleted; the user is reminded
 * of messages that nobody answers.
 */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { startMailAccountServer } from '../../server/test/support/mail-account-server.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { deliverToInbox } from './support/shop-inbox-server.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 60_000 };
/** A folder for screenshots that people look at. */
const pictures = process.env['COMPOSE_PICTURES'];

describe.skipIf(chromium === null)('templates and reminders in the inbox', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const text = () => page.getByRole('textbox', { name: 'Text', exact: true });
  const get = (path: string) => server.data(`GET /api/${path}`, { as: 'ann' });
  const picture = async (name: string): Promise<void> => {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.screenshot({ path: `${pictures}/${name}-${scheme}.png` });
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await page.screenshot({ path: `${pictures}/${name}-phone.png` });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await startMailAccountServer(sqlite);
    await server.data('POST /api/users:update?filterByTk=2', { body: { nickname: 'Ann Berg' } });
    await deliverToInbox(server, {
      subject: 'Broken turntable',
      from: 'Cora Lind <cora@example.net>',
      id: 't1@example.net',
      text: 'The tonearm is loose.',
    });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    page.setDefaultTimeout(10_000);
    await page.goto(`${server.running.url}/a/main/inbox/accounts/1/templates`);
    await signIn(page, 'ann@example.com', 'correct horse');
    await page.getByRole('heading', { name: 'Templates' }).waitFor();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('a template is written with variables, previewed and changed', long, async () => {
    await page.getByText('No template.').waitFor();
    await button('New template').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Thanks');
    await page.getByRole('textbox', { name: 'Subject' }).fill('Your order');
    const editor = page.getByRole('textbox', { name: 'Text of the template' });
    await editor.click();
    await page.keyboard.type('Dear ');
    await button('First name of the recipient').click();
    await page.keyboard.type(', your order {{order}} is on its way. ');
    await button('My name').click();
    await expectAccessible(page, 'template form');
    await picture('form');
    await button('Save').click();
    await page.getByText('The template was saved.').waitFor();
    await button('Preview of Thanks').click();
    await page.getByText('No value: order.').waitFor();
    await page.frameLocator('iframe').getByText('Dear Robin, your order {{order}} is on its way. Ann Berg').waitFor();
    await expectAccessible(page, 'preview');
    await picture('preview');
    await page.keyboard.press('Escape');
    await button('Edit Thanks').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Thank you');
    await button('Save').click();
    await button('Preview of Thank you').waitFor();
    await expectAccessible(page, 'templates');
    await picture('list');
    expect(await get('mailTemplates')).toMatchObject([
      { text: 'Dear {{recipientFirstName}}, your order {{order}} is on its way. {{userName}}', shared: true },
    ]);
  });

  test('a template is inserted by keyboard into a reply, and unset variables are not sent', long, async () => {
    await page.goto(`${server.running.url}/a/main/inbox`);
    await page.locator('[data-conversation]').filter({ hasText: 'Broken turntable' }).click();
    await page.getByRole('heading', { name: 'Broken turntable' }).waitFor();
    await page.keyboard.press('r');
    await text().waitFor();
    await text().click();
    await page.keyboard.press('ControlOrMeta+Shift+L');
    await page.getByRole('option', { name: /Thank you/ }).waitFor();
    await expectAccessible(page, 'template picker');
    await picture('picker');
    await page.keyboard.type('than');
    await page.keyboard.press('Enter');
    await text().getByText('Dear Cora, your order {{order}} is on its way. Ann Berg').waitFor();
    await page.getByText('These variables have no value yet: order.').waitFor();
    await expectAccessible(page, 'open variable');
    await picture('inserted');
    await page.keyboard.press('ControlOrMeta+Enter');
    const dialog = page.getByRole('dialog', { name: 'Send with variables?' });
    await dialog.getByText('The message still contains {{order}}.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await get('emails?folder=outbox')).toEqual([]);
    await button('Discard the draft').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click();
  });

  test('a template fills the subject and the text of a new plain message at the cursor', long, async () => {
    await page.getByRole('button', { name: 'New message' }).click();
    await button('Plain text').click();
    await text().fill('Before.  After.');
    await page.evaluate('document.activeElement.setSelectionRange(8, 8)');
    await button('Insert a template (Ctrl+Shift+L)').click();
    await page.getByRole('option', { name: /Thank you/ }).click();
    await expect
      .poll(() => text().inputValue())
      .toBe('Before. Dear {{recipientFirstName}}, your order {{order}} is on its way. Ann Berg After.');
    await expect(page.getByRole('textbox', { name: 'Subject' }).inputValue()).resolves.toBe('Your order');
    await text().fill('Nothing open.');
    await expect.poll(() => page.getByText('These variables have no value yet').count()).toBe(0);
    await button('Close and keep the draft').click();
  });

  test('a reminder is set while writing, shown, and removed', long, async () => {
    await page.goto(`${server.running.url}/a/main/inbox`);
    await page.locator('[data-conversation]').filter({ hasText: 'Broken turntable' }).click();
    await page.getByRole('heading', { name: 'Broken turntable' }).waitFor();
    await page.keyboard.press('r');
    await text().fill('It is on its way.');
    const composer = page.getByRole('region', { name: 'Reply' });
    await composer.getByRole('button', { name: 'Remind me if nobody answers' }).click();
    await page.getByRole('menuitem', { name: 'Within 3 days' }).click();
    await button('Reminder if nobody answers within 3 days').waitFor();
    await expectAccessible(page, 'reminder in the composer');
    await picture('reminder');
    await composer.getByRole('button', { name: /^Send/ }).first().click();
    await page.getByText(/Ann Berg set a reminder for .* if nobody answers/).waitFor();
    const conversation = await get('conversations/1');
    const days = (Date.parse(conversation.followUpAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(2.9);
    expect(days).toBeLessThan(3.1);
    expect(conversation.followUpById).toBe(2);
    await button(/^Reminder .* if nobody answers$/).click();
    await expectAccessible(page, 'reminder of a conversation');
    await picture('reminder-set');
    await page.getByRole('menuitem', { name: 'No reminder' }).click();
    await page.getByText('Ann Berg removed the reminder').waitFor();
    expect(await get('conversations/1')).toMatchObject({ followUpAt: null });
  });

  test('a reminder that is due notifies the user and opens the conversation', long, async () => {
    const followUpAt = new Date(Date.now() + 1500).toISOString();
    await server.data('PATCH /api/conversations/1', { as: 'ann', body: { followUpAt, state: 'closed' } });
    await page
      .getByText('Nobody has answered: Re: Broken turntable')
      .or(page.getByText('Nobody has answered: Broken turntable'))
      .waitFor();
    await page.getByText('Nobody has answered in time').waitFor();
    expect(await get('conversations/1')).toMatchObject({ state: 'open', followUpAt: null });
    await expectAccessible(page, 'due reminder');
    await picture('reminder-due');
  });

  test('a template is deleted', long, async () => {
    await page.goto(`${server.running.url}/a/main/inbox/accounts/1`);
    await page.getByRole('link', { name: 'Manage templates' }).click();
    await button('Delete Thank you').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No template.').waitFor();
    expect(await get('mailTemplates')).toEqual([]);
    expect(misdeeds).toMatchObject({ violations: [], foreign: [] });
  });
});
