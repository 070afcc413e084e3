/**
 * The states of a mail account on its page: every problem with its cure, for users who can solve it and for those who
 * cannot.
 */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { startMailAccountServer } from '../../server/test/support/mail-account-server.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { describeProblem, logProblem, setState } from './support/mail-account-pages.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
const password = 'correct horse';
const phoneSize = { viewport: { width: 390, height: 780 }, colorScheme: 'dark' } as const;
const longHost = `${'very-long-subdomain.'.repeat(8)}example.com`;
/** A folder for screenshots that people look at. */
const pictures = process.env['SCREENSHOT_DIR'];

describe.skipIf(chromium === null)('the page of a mail account', () => {
  let server: TestServer;
  let browser: Browser;
  /** The page of ann, who owns the account. */
  let page: Page;
  const getUrl = (path: string): string => `${server.running.url}/a/main/inbox${path}`;
  const section = (name: string) => page.getByRole('region', { name });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const readFocus = (): Promise<unknown> => page.evaluate('document.activeElement.labels?.[0]?.textContent ?? ""');
  const show = async (name: string, shown = page): Promise<void> => {
    if (pictures) await shown.screenshot({ path: join(pictures, `${name}.png`) });
  };
  const openAs = async (user: string | null, path: string, options = {}): Promise<Page> => {
    const other = await openPage(browser, server.running.url, options);
    await other.page.goto(getUrl(path));
    if (user === null) await signIn(other.page);
    else await signIn(other.page, `${user}@example.com`, password);
    return other.page;
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await startMailAccountServer(sqlite, { MAIL_SYNC: 'off' });
    const vera = { email: 'vera@example.com', password, roles: ['viewer'] };
    const { id } = await server.data('POST /api/users:create', { body: vera });
    const settings = {
      imap: { host: 'imap.example.com', port: 993 },
      password: 'secret',
      aliases: ['help@example.com'],
    };
    await server.data('POST /api/accounts:update?filterByTk=1', { as: 'ann', body: settings });
    const { ownerId } = await server.data('GET /api/accounts/1', { as: 'ann' });
    await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [ownerId, id] } });
    browser = await openBrowser(chromium!);
    page = await openAs('ann', '/accounts/1');
    await section('Synchronisation').waitFor();
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const retryAt = '2030-01-01T10:20:30.000Z';
  const states = [
    [{ status: 'disabled' }, /The synchronisation begins in a moment/, []],
    [{ status: 'connecting' }, 'The server is connecting to the mail server.', []],
    [{ status: 'syncing', backfillTotal: 0 }, 'The server is reading the list of messages.', []],
    [{ status: 'syncing', backfillTotal: 1 }, '0 of 1 message', []],
    [{ status: 'syncing', backfillDone: 1234, backfillTotal: 98_765 }, '1,234 of 98,765 messages', []],
    [
      { status: 'live', bodiesWaiting: 1 },
      'The contents of 1 large message are still being downloaded',
      ['Synchronise now'],
    ],
    [{ status: 'live', lastSyncAt: retryAt }, 'Last synchronised: Jan 1, 2030, 10:20 AM', ['Synchronise now']],
    [
      { status: 'backoff', problem: describeProblem('overQuota'), retryAt },
      'Delete mail, or ask the mail provider for more space.',
      ['Retry now'],
    ],
    [
      { status: 'backoff', problem: describeProblem('unreachable'), retryAt },
      'Next attempt: Jan 1, 2030, 10:20:30 AM',
      ['Retry now'],
    ],
    [{ status: 'authError', problem: describeProblem('imapDisabled') }, /Allow IMAP in the settings/, ['Retry now']],
    [
      { status: 'authError', problem: describeProblem('appPasswordNeeded') },
      /Create an app password/,
      ['Enter the password', 'Retry now'],
    ],
    [
      { status: 'authError', problem: describeProblem('tlsName') },
      /Enter the host name/,
      ['Change the settings', 'Retry now'],
    ],
  ] as const;

  test('each status is explained while the page is open, with the actions that help', long, async () => {
    for (const [state, text, actions] of states) {
      await setState(server, 1, { problem: null, retryAt: null, ...state });
      await section('Synchronisation').getByText(text).waitFor();
      await expect.poll(() => section('Synchronisation').getByRole('button').allInnerTexts()).toEqual(actions);
    }
    await expectAccessible(page, 'account whose settings must be changed');
  });

  test('changes and messages that were not sent yet are counted', long, async () => {
    const body = { account: 1, to: 'cora@example.net', subject: 'Order', text: 'x' };
    const sendAt = new Date(Date.now() + 30 * 86_400_000).toISOString();
    const { id } = await server.data('POST /api/emails:send', { as: 'ann', body: { ...body, sendAt } });
    const readAgain = () =>
      setState(server, 1, { status: 'live', problem: null, lastSyncAt: new Date().toISOString() });
    await readAgain(); // an event, after which the page reloads its data
    await section('Synchronisation')
      .getByText(/1 message waits in the outbox\. Next attempt: \w+ \d+/)
      .waitFor();
    expect(await section('Synchronisation').getByText('mail server').count()).toBe(0);
    const data = {
      changes: { count: 1200, failing: 1, oldestAt: retryAt },
      messages: { queued: 0, sending: 0, unknown: 2, nextAt: null },
    };
    await page.route('**/api/accounts:waiting*', (route) => route.fulfill({ json: { data } }));
    await readAgain();
    for (const text of [
      '1,200 changes wait to be sent to the mail server, the oldest since Jan 1, 2030, 10:20 AM. 1 was refused or interrupted',
      '2 messages were interrupted while being sent.',
    ])
      await section('Synchronisation').getByText(text).waitFor();
    await show('waiting');
    await page.unroute('**/api/accounts:waiting*');
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id } });
    await server.data(`POST /api/emails:destroy?filterByTk=${id}`, { as: 'ann' });
  });

  test('a cure links to the input that must be changed', long, async () => {
    const cures = [
      ['tlsName', 'Change the settings', 'Host'],
      ['oauthNeeded', 'Change the settings', 'Sign-in method'],
      ['wrongPassword', 'Enter the password', 'Password'],
    ] as const;
    for (const [code, action, input] of cures) {
      const problem = describeProblem(code);
      await setState(server, 1, { status: 'authError', problem });
      await section('Synchronisation').getByText(problem.message).waitFor();
      await button(action).press('Enter');
      await expect.poll(readFocus).toBe(input);
    }
  });

  test('users who cannot solve a problem see who can', long, async () => {
    const problem = describeProblem('wrongPassword');
    await setState(server, 1, { status: 'authError', problem, retryAt: null });
    const reader = await openAs('vera', '/accounts/1');
    await reader.getByText('Your role cannot change the account. Ask its owner or an administrator.').waitFor();
    await expect.poll(() => reader.getByRole('main').getByRole('button').count()).toBe(0);
    await expectAccessible(reader, 'account with a problem for a reader');
    await show('reader', reader);
    await setState(server, 1, { status: 'disabled', problem: null });
    await server.data('POST /api/accounts:update?filterByTk=1', { as: 'ann', body: { imap: null } });
    await reader.getByText('Mail is added by import only.').waitFor();
    await expect.poll(() => reader.getByText('Enter the servers below').count()).toBe(0);
    await section('Synchronisation').getByText('Enter the servers below').waitFor();
    const imap = { host: 'imap.example.com', port: 993 };
    await server.data('POST /api/accounts:update?filterByTk=1', { as: 'ann', body: { imap, password: 'secret' } });
    await reader.context().close();
  });

  test('an administrator who is not a member changes the account but is not offered to retry', long, async () => {
    await setState(server, 1, { status: 'authError', problem: describeProblem('wrongPassword') });
    const refused = await server.call('POST /api/accounts:sync?filterByTk=1', { body: {} });
    expect(refused.status).toBe(403);
    const other = await openAs(null, '/accounts/1');
    await other.getByText('Only members can retry.').waitFor();
    await other.getByRole('button', { name: 'Enter the password' }).waitFor();
    expect(await other.getByRole('button', { name: 'Retry now' }).count()).toBe(0);
    await show('administrator', other);
    const row = other.getByRole('row', { name: /help@example\.com/ });
    await row.getByRole('button', { name: 'Verify' }).click();
    await other.getByText('As an administrator, you can leave the code empty.').waitFor();
    await other.getByRole('button', { name: 'Confirm' }).click();
    await row.getByText('Verified', { exact: true }).waitFor();
    await other.context().close();
  });

  test('long texts, names and addresses cause nothing to be cut off on a phone', long, async () => {
    const serverText = 'x'.repeat(180);
    const problem = describeProblem('serverError', { host: longHost }, { serverText });
    await setState(server, 1, { status: 'authError', problem });
    const address = `${'a'.repeat(60)}@${'long-label-of-a-domain.'.repeat(4)}example.com`;
    const name = 'חשבון הדואר של (החנות) 123';
    const body = { name, address, aliases: ['دعم@example.com'] };
    const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body });
    await server.data('POST /api/mailboxes:create', { as: 'ann', body: { accountId: id, path: 'W'.repeat(120) } });
    const phone = await openAs('ann', '/accounts/1', phoneSize);
    const isComplete = (selector: string): Promise<unknown> =>
      phone.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('${selector}'))`,
      );
    await phone.getByRole('alert').getByText(serverText).waitFor();
    expect(await isComplete('[role=alert]')).toBe(true);
    expect(await isComplete('[role=alert] .mantine-Alert-body')).toBe(true);
    await expectAccessible(phone, 'account with a long problem on a phone');
    await show('long-problem', phone);
    await phone.goto(getUrl(`/accounts/${id}`));
    await phone.getByRole('heading', { name }).waitFor();
    expect(await isComplete('header:has(h1)')).toBe(true);
    expect(await phone.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await show('long-names', phone);
    await phone.context().close();
    await page.goto(getUrl(`/accounts/${id}`));
    const box = await button(`Delete ${'W'.repeat(120)}`).boundingBox();
    expect(box!.x + box!.width).toBeLessThanOrEqual(1280);
    expect(await page.getByText('دعم@example.com').getAttribute('dir')).toBe('ltr');
    await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'ann', body: {} });
  });

  test('the page of an account that is deleted in the meantime says so', long, async () => {
    const body = { address: 'gone@example.com' };
    const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body });
    await page.goto(getUrl(`/accounts/${id}`));
    await page.getByRole('heading', { name: 'gone@example.com' }).waitFor();
    // Only pages that have received an event of the account show that it was deleted.
    for (const [status, text] of [
      ['live', 'Live'],
      ['connecting', 'Connecting'],
    ] as const) {
      await setState(server, id, { status });
      await page.getByRole('main').getByText(text, { exact: true }).waitFor();
    }
    await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'ann', body: {} });
    await page.getByText('The account was not found').waitFor();
    await page.getByRole('heading', { name: 'Mail account', exact: true }).waitFor();
    await expectAccessible(page, 'account that was deleted');
    await page.getByRole('main').getByRole('link', { name: 'Mail accounts' }).last().click();
    await page.getByRole('row', { name: /shop@example\.com/ }).waitFor();
  });

  test('unsaved settings stay when other data of the account changes', long, async () => {
    await page.goto(getUrl('/accounts/1'));
    await page.getByLabel('Signature').fill('Not saved yet');
    await button('Edit help@example.com').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Display name').fill('Helpers');
    // The members are read again after every change; for a role that may not list users, this request is refused.
    const [refused] = await Promise.all([
      page.waitForResponse((response) => response.url().includes('/members:list')),
      dialog.getByRole('button', { name: 'Save' }).click(),
    ]);
    expect(refused.status()).toBe(403);
    await section('Sender addresses').getByText('Helpers').waitFor();
    expect(await page.getByLabel('Signature').inputValue()).toBe('Not saved yet');
  });

  test('a refusal of an action is shown with its reason, without the names of parameters', long, async () => {
    const oauth = { auth: 'oauth2', oauth: { provider: 'google' }, imap: { host: 'imap.gmail.com', port: 993 } };
    const body = { address: 'ann@gmail.com', name: 'חשבון '.repeat(9), ...oauth };
    const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body });
    await setState(server, id, { status: 'authError', problem: describeProblem('tokenRevoked') });
    await page.goto(getUrl(`/accounts/${id}`));
    await button('Sign in with the mail provider').click();
    await page.getByText(/^This server is not registered at google/).waitFor();
    await server.data(`POST /api/accounts:update?filterByTk=${id}`, {
      as: 'ann',
      body: { aliases: ['aid@gmail.com'] },
    });
    await page.reload();
    await button('Verify').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send a code' }).click();
    await page.getByText(/^This server cannot send a code/).waitFor();
    await page.goto(getUrl(''));
    const folders = page.getByRole('navigation', { name: 'Folders' });
    const link = folders.getByRole('link', { name: /^חשבון/ });
    // A long name is truncated at its end, not at its beginning.
    expect(await link.getAttribute('dir')).toBe('auto');
    await show('right-to-left');
    await server.data(`POST /api/accounts:destroy?filterByTk=${id}`, { as: 'ann', body: {} });
  });

  test('the log shows its newest problems first, and older ones on request', long, async () => {
    const massLoss = {
      code: 'massLoss',
      message: 'The server does not list 812 messages of "INBOX" any more, which is most of the mailbox.',
      cure: 'Otherwise check the mail server.',
    };
    for (let n = 1; n <= 21; n += 1) await logProblem(server, 1, describeProblem('unreachable', { port: n }));
    await logProblem(server, 1, massLoss);
    await logProblem(server, 1, massLoss);
    await page.goto(getUrl('/accounts/1'));
    const log = page.getByRole('table', { name: 'Problems with the mail servers' });
    const first = log.getByRole('row').nth(1);
    await first.getByText(massLoss.message).waitFor();
    await first.getByText(massLoss.cure).waitFor();
    await first.getByRole('cell', { name: '2', exact: true }).waitFor();
    await expect.poll(() => log.getByRole('row').count()).toBe(21);
    await button('Show older problems').click();
    await expect.poll(() => log.getByRole('row').count()).toBe(23);
    await expect.poll(() => button('Show older problems').count()).toBe(0);
  });

  test('the trusted receiving servers can be changed by users with the permission', long, async () => {
    await page.goto(getUrl('/accounts/1'));
    const field = page.getByRole('combobox', { name: 'Trusted receiving servers' });
    await field.fill('MX1.example.com, mx2.example.com');
    await field.press('Enter');
    await button('Save').press('Enter');
    await page.getByText('Saved.').waitFor();
    const readNames = async (): Promise<unknown> =>
      (await server.data('GET /api/accounts/1', { as: 'ann' })).authservIds;
    expect(await readNames()).toEqual(['mx1.example.com', 'mx2.example.com']);
    await expect.poll(() => page.evaluate('document.activeElement.textContent.slice(0, 80)')).toBe('Save');
    await section('Details').getByText('mx1.example.com').waitFor();
    await field.fill('name?');
    await field.press('Enter');
    await button('Save').click();
    await section('Details').getByText('Enter at most 10 host names').waitFor();
    expect(await readNames()).toEqual(['mx1.example.com', 'mx2.example.com']);
    await expectAccessible(page, 'account with an invalid receiving server');
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    const grant = { role: 'clerk', resource: 'accounts' };
    await server.data('POST /api/permissions:create', { body: { ...grant, actions: ['list', 'get'] } });
    await server.data('POST /api/permissions:create', {
      body: { ...grant, resource: 'mailboxes', actions: ['list', 'get'] },
    });
    const fields = ['name', 'signature'];
    await server.data('POST /api/permissions:create', { body: { ...grant, actions: ['update'], fields } });
    const clerk = { email: 'clerk@example.com', password, roles: ['clerk'] };
    const { id } = await server.data('POST /api/users:create', { body: clerk });
    await server.data('POST /api/accounts/1/members:add', { body: [id] });
    const other = await openAs('clerk', '/accounts/1');
    await other.getByRole('textbox', { name: 'Signature' }).waitFor();
    expect(await other.getByText('Trusted receiving servers').count()).toBe(0);
    await other.context().close();
  });
});
