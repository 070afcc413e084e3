/** Setting up a mail account: servers that were found, problems, and keyboard use. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { type FaultyImap, startFaultyImap } from '../../server/test/support/faulty-imap.ts';
import { startMailAccountServer } from '../../server/test/support/mail-account-server.ts';
import { getSharedCertificate } from '../../server/test/support/mail-certificate.ts';
import { resolveToLoopback } from '../../server/test/support/mail-connection.ts';
import { MapResolver } from '../../server/test/support/map-resolver.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
const discoveries = '**/api/accounts:discover*';

/** A server of `accounts:discover`. */
const describeFound = (host: string, port: number, more: object = {}): object => {
  const usual = { security: 'tls', user: 'ann@example.com', source: 'srv', needsConfirmation: false };
  return { host, port, ...usual, offersPassword: true, offersOauth: false, ...more };
};

describe.skipIf(chromium === null)('the set-up of a mail account', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let plain: FaultyImap;
  let encrypted: FaultyImap;
  /** What the IMAP server replies to a sign-in after `NO`. */
  let refusal = '';
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-set-up-'));
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const imap = () => page.getByRole('group', { name: 'Receiving (IMAP)' });
  const status = (text: string | RegExp) => page.getByRole('status').getByText(text);
  const readFocus = (): Promise<unknown> => page.evaluate('document.activeElement.textContent.slice(0, 80)');
  const choose = async (label: string, option: string): Promise<void> => {
    await page.getByRole('combobox', { name: label }).first().click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  /** The next discovery has this result. */
  const discover = async (result: object): Promise<void> => {
    const data = { address: 'ann@example.com', provider: null, imap: null, smtp: null, tried: [], ...result };
    const body = JSON.stringify({ data });
    await page.route(discoveries, (route) => route.fulfill({ contentType: 'application/json', body }), { times: 1 });
    await button('Find the servers').press('Enter');
  };

  beforeAll(async () => {
    buildWebInterface();
    const certificate = getSharedCertificate();
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, certificate.ca);
    plain = await startFaultyImap({ security: 'none', refuseLogin: () => refusal });
    encrypted = await startFaultyImap({ certificate });
    const env = { MAIL_SYNC: 'off', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1', MAIL_CA_FILE: caFile };
    const network = { dns: new MapResolver(), mailNetwork: { resolveAddresses: resolveToLoopback } };
    server = await startMailAccountServer(sqlite, env, network);
    browser = await openBrowser(chromium!);
    ({ page } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/inbox/accounts/new`);
    await signIn(page, 'ann@example.com', 'correct horse');
  }, 90_000);
  beforeEach(async () => {
    await page.goto(`${server.running.url}/a/main/inbox/accounts/new`);
    await page.getByLabel('Address').fill('ann@example.com');
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    for (const each of [plain, encrypted]) await each?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('every input has a name, and the keyboard reaches the inputs in order', long, async () => {
    await page.getByLabel('Address').focus();
    const names: string[] = [];
    for (let n = 0; n < 20 && names.at(-1) !== 'Add an account'; n += 1) {
      const read =
        '(({ labels, ariaLabel, textContent }) => labels?.[0]?.textContent || ariaLabel || textContent)(document.activeElement)';
      names.push(String(await page.evaluate(read)));
      await page.keyboard.press('Tab');
    }
    const ends = ['Sign-in method', 'Password', 'Password for sending, if different', 'Add an account'];
    const servers = ['Host', 'User name', 'Security', 'Port'];
    expect(names).toEqual(['Address *', 'Name', 'Signature', 'Find the servers', ...servers, ...servers, ...ends]);
  });

  test('a sign-in with the provider is offered if it accepts no passwords', long, async () => {
    const oauthOnly = { offersPassword: false, offersOauth: true };
    await discover({
      provider: { name: 'Microsoft', oauth: 'microsoft', appPasswordUrl: null },
      imap: describeFound('outlook.office365.com', 993, oauthOnly),
      smtp: describeFound('smtp.office365.com', 587, { security: 'starttls', ...oauthOnly }),
    });
    await status('Microsoft accepts no passwords from mail programs.').waitFor();
    await expect.poll(() => page.getByRole('combobox', { name: 'Provider' }).inputValue()).toBe('Microsoft');
    await button('Add the account and sign in').waitFor();
    await discover({ imap: describeFound('imap.example.com', 993, oauthOnly) });
    await status('The mail server accepts no passwords. Ask your mail provider').waitFor();
    await expect.poll(() => page.getByRole('combobox', { name: 'Provider' }).inputValue()).toBe('Another one');
    await expectAccessible(page, 'provider without passwords');
  });

  test('a search shows that it is running, what is missing, and what was tried', long, async () => {
    let finish: (() => void) | undefined;
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await page.route(
      discoveries,
      async (route) => {
        await waiting;
        await route.fulfill({ status: 500, body: '' });
      },
      { times: 1 },
    );
    await button('Find the servers').press('Enter');
    await status('Looking for the servers.').waitFor();
    finish!();
    await page.getByRole('alert').waitFor();
    await expect.poll(readFocus).toBe('Find the servers');
    const problem = { message: 'smtp.hoster.test cannot be reached on port 465.' };
    await discover({
      imap: describeFound('mail.hoster.test', 993, { needsConfirmation: true }),
      tried: [{ problem: null }, { problem }, { problem }],
    });
    await status('No server was found for: Sending (SMTP).').waitFor();
    await status('Check that these servers belong to your mail provider').waitFor();
    await page.getByText('1 server was tried without success').press('Enter');
    await page.getByText(problem.message).waitFor();
    await expectAccessible(page, 'one of two servers found');
    await page.getByLabel('Address').fill('bob@example.com');
    await expect.poll(() => page.getByText('Settings found').count()).toBe(0);
  });

  test('each reason why a connection fails is shown with its cure', long, async () => {
    await imap().getByLabel('Host').fill('127.0.0.1');
    await choose('Security', 'None');
    await imap().getByLabel('Port').fill(String(plain.port));
    const refusals = [
      ['[ALERT] Application-specific password required', 'Create an app password in the security settings'],
      ['[ALERT] Your account is not enabled for IMAP use.', 'Allow IMAP in the settings of the mailbox'],
      ['[LIMIT] Too many simultaneous connections.', 'Close mail programs that use the account, or wait.'],
      ['[CONTACTADMIN] Your mailbox is locked.', 'Follow what the mail server says, or ask its operator.'],
    ] as const;
    for (const [index, [text, cure]] of refusals.entries()) {
      refusal = text;
      await page.getByRole('textbox', { name: 'Password', exact: true }).fill(`wrong ${index}`);
      await expect.poll(() => page.getByText('Receiving (IMAP): Does not work').count()).toBe(0);
      await button('Test the connection').press('Enter');
      await status(cure).waitFor();
      await expect.poll(readFocus).toBe('Test the connection');
    }
    await choose('Security', 'TLS');
    await imap().getByLabel('Host').fill('other.example.test');
    await imap().getByLabel('Port').fill(String(encrypted.port));
    await button('Test the connection').click();
    await status('The certificate of the server is for another name than other.example.test.').waitFor();
    await imap().getByLabel('Host').fill('10.0.0.1');
    await button('Test the connection').click();
    await status(/^The host is not public\. Give a public host, or ask the operator/).waitFor();
    expect(await page.getByText('imap.host').count()).toBe(0);
    await expectAccessible(page, 'server whose address is blocked');
  });
});
