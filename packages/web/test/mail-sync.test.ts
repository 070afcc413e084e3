/** The synchronisation of mail accounts with real servers, as the page of an account shows it. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../../scripts/unprivileged-user.ts';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { type Dovecot, hasDovecot, startDovecot } from '../../server/test/support/dovecot.ts';
import { type FaultyImap, startFaultyImap } from '../../server/test/support/faulty-imap.ts';
import { MapResolver } from '../../server/test/support/map-resolver.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { SmtpReceiver } from '../../server/test/support/smtp-receiver.ts';
import { type SmtpRelay, startSmtpRelay } from '../../server/test/support/smtp-relay.ts';
import { deliver, describeAccount, fastTimes } from '../../server/test/support/sync-world.ts';
import { MailProvider } from './support/mail-provider.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
/** The first step of a synchronisation stores 50 messages, so progress is visible before the second step. */
const messageCount = 90;

describe.skipIf(chromium === null || !hasDovecot())('the synchronisation of mail accounts', () => {
  describeWebEngines('on the page of an account', (engine) => {
    let dovecot: Dovecot;
    let relay: SmtpRelay;
    let proxy: FaultyImap;
    let oauthImap: FaultyImap;
    let provider: MailProvider;
    /** Receives the messages of the server itself. */
    let receiver: SmtpReceiver;
    let server: TestServer;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    const open = (path = ''): Promise<unknown> => page.goto(`${server.running.url}/a/main/inbox${path}`);
    const text = (pattern: string | RegExp) => page.getByText(pattern).first();
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const textbox = (name: string) => page.getByRole('textbox', { name, exact: true });
    const group = (name: string) => page.getByRole('group', { name });
    const main = () => page.getByRole('main');
    const untilStatus = (status: string): Promise<void> => main().getByText(status, { exact: true }).waitFor();
    const setUpServers = async (): Promise<void> => {
      dovecot = await startDovecot();
      const bob = dovecot.users['bob']!;
      relay = await startSmtpRelay({
        certificate: dovecot.certificate,
        users: { [bob.address]: bob.password },
      });
      proxy = await startFaultyImap({ upstreamPort: dovecot.imapPort, security: 'none' });
      provider = await MailProvider.open();
      receiver = await SmtpReceiver.open();
      oauthImap = await startFaultyImap({
        certificate: dovecot.certificate,
        capabilities: ['IMAP4rev1', 'IDLE', 'SASL-IR', 'AUTH=XOAUTH2'],
        refuseLogin: ({ line }) => {
          const isValid = Buffer.from(line.split(' ')[1] ?? '', 'base64')
            .toString()
            .includes(`Bearer ${provider.token}`);
          return isValid ? null : '[AUTHENTICATIONFAILED] Invalid credentials';
        },
      });
      for (let sent = 0; sent < messageCount; sent += 10)
        await Promise.all(Array.from({ length: 10 }, (_, index) => deliver(dovecot, `Order ${sent + index}`)));
    };

    beforeAll(async () => {
      buildWebInterface();
      await setUpServers();
      const dns = new MapResolver();
      const record = (port: number): object => ({ name: 'localhost', port, priority: 0, weight: 0 });
      dns.records.set('SRV _imaps._tcp.example.test', [record(dovecot.imapsPort)]);
      dns.records.set('SRV _submissions._tcp.example.test', [record(relay.tlsPort)]);
      const port = String(await findFreePort());
      const env = {
        ...{ PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}`, OUTBOUND_ALLOW: '127.0.0.1' },
        ...{ SMTP_URL: receiver.url, SMTP_FROM: 'server@example.test' },
        ...{ MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1,localhost', MAIL_CA_FILE: dovecot.caFile },
      };
      server = await TestServer.start(engine, { env, dns, mailSyncTimes: { ...fastTimes, retryMilliseconds: 1000 } });
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, `http://127.0.0.1:${port}`));
      await page.goto(`http://127.0.0.1:${port}/a/main/inbox/accounts`);
      await signIn(page);
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
      for (const each of [relay, proxy, oauthImap, provider, dovecot]) await each?.stop();
      await receiver?.close();
    });

    test('servers are found, tested and saved, and the page shows that the account is live', long, async () => {
      const { address, password } = dovecot.users['bob']!;
      const { id } = await server.data('POST /api/accounts:create', { body: { name: 'Bob', address } });
      await open(`/accounts/${id}`);
      await text('The account has no IMAP server.').waitFor();
      await untilStatus('No synchronisation');
      await expectAccessible(page, 'account without servers');
      await button('Find the servers').click();
      await text('Settings found: localhost, localhost.').waitFor();
      await text('Check that these servers belong to your mail provider').waitFor();
      await expect
        .poll(() => group('Receiving (IMAP)').getByLabel('Port').inputValue())
        .toBe(String(dovecot.imapsPort));
      await expect.poll(() => group('Sending (SMTP)').getByLabel('Port').inputValue()).toBe(String(relay.tlsPort));
      await textbox('Password').fill('wrong');
      await button('Test the connection').click();
      await text('Receiving (IMAP): Does not work').waitFor();
      await text('Sending (SMTP): Does not work').waitFor();
      await expectAccessible(page, 'servers that refuse the password');
      await textbox('Password').fill(password);
      await button('Test the connection').click();
      await text('Receiving (IMAP): Works').waitFor();
      await text('Sending (SMTP): Works').waitFor();
      expect((await server.data(`GET /api/accounts/${id}`)).imap).toBeNull();
      await expectAccessible(page, 'servers that work');
      await button('Save').click();
      await untilStatus('Live');
      await expect.poll(() => textbox('Password').inputValue()).toBe('');
      await button('Synchronise now').click();
      await text('The server synchronises the account now.').waitFor();
    });

    let account: number;

    test('the page shows the first synchronisation from connecting over its progress to live', long, async () => {
      proxy.bytesPerSecond = 1;
      ({ id: account } = await server.data('POST /api/accounts:create', {
        body: describeAccount(dovecot, proxy.port),
      }));
      await open(`/accounts/${account}`);
      await untilStatus('Connecting');
      await expectAccessible(page, 'account that connects');
      let bodies = 0;
      proxy.script = ({ name, args }) => {
        if (name === 'UID FETCH' && args.includes('BODY.PEEK[]')) bodies += 1;
        if (bodies === 2) proxy.bytesPerSecond = 500;
        return undefined;
      };
      proxy.bytesPerSecond = null;
      await untilStatus('Synchronising');
      await text(`50 of ${messageCount} messages`).waitFor();
      await page.getByRole('progressbar', { name: 'Progress of the first synchronisation' }).waitFor();
      await expectAccessible(page, 'account that synchronises');
      proxy.script = () => undefined;
      proxy.bytesPerSecond = null;
      await untilStatus('Live');
      await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
      await main()
        .getByRole('row', { name: new RegExp(`Inbox .*${messageCount}`) })
        .waitFor();
      await expectAccessible(page, 'account that is live');
    });

    test(
      'a limit of the mail server is shown with the time of the next attempt, which can also be made immediately',
      long,
      async () => {
        proxy.script = ({ name }) => (name === 'LIST' ? ['{tag} NO [LIMIT] Too many requests, slow down'] : undefined);
        for (const connection of proxy.connections) connection.drop();
        await untilStatus('Waiting to retry');
        await page.getByRole('alert').getByText('The mail server cannot be used at the moment').waitFor();
        await page.getByRole('alert').getByText('Next attempt:').waitFor();
        await expectAccessible(page, 'account that waits');
        proxy.script = () => undefined;
        await button('Retry now').click();
        await untilStatus('Live');
        await expect.poll(() => page.getByRole('alert').count()).toBe(0);
        await page
          .getByRole('table', { name: 'Problems with the mail servers' })
          .getByText(/too many requests/)
          .waitFor();
        await expectAccessible(page, 'account with a log of problems');
      },
    );

    test('a refused password is also shown in the inbox, until another one is entered', long, async () => {
      const { password } = dovecot.users['alice']!;
      proxy.script = ({ name }) =>
        ['LOGIN', 'AUTHENTICATE'].includes(name) ? ['{tag} NO [AUTHENTICATIONFAILED] Invalid credentials'] : undefined;
      for (const connection of proxy.connections) connection.drop();
      await untilStatus('Action needed');
      await page.getByRole('alert').getByText('The mail server does not accept the sign-in').waitFor();
      await expectAccessible(page, 'account with a wrong password');
      await open('/accounts');
      await main().getByText('Action needed').waitFor();
      await expectAccessible(page, 'accounts');
      await open();
      await page.getByRole('img', { name: 'alice@example.test is not synchronised' }).waitFor();
      await expectAccessible(page, 'inbox of an account with a problem');
      proxy.script = () => undefined;
      await page.getByRole('link', { name: 'alice', exact: true }).click();
      await textbox('Password').fill(password);
      await button('Save').click();
      await untilStatus('Live');
      await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    });

    test('an account signs in with its mail provider, and again after the provider has revoked it', long, async () => {
      await open('/accounts/new');
      await page.getByLabel('Address').fill('carol@example.test');
      const imap = group('Receiving (IMAP)');
      await imap.getByLabel('Host').fill('127.0.0.1');
      await imap.getByLabel('Port').fill(String(oauthImap.port));
      await page.getByRole('combobox', { name: 'Sign-in method' }).click();
      await page.getByRole('option', { name: 'OAuth 2' }).click();
      const oauth = group('Mail provider (OAuth 2)');
      await expectAccessible(page, 'new account of a known provider');
      await oauth.getByRole('combobox', { name: 'Provider' }).click();
      await page.getByRole('option', { name: 'Another one' }).click();
      await oauth.getByLabel('Issuer').fill(provider.issuer);
      await oauth.getByLabel('Client ID').fill('tablinum');
      await oauth.getByLabel('Client secret').fill('a secret of the client');
      await oauth.getByLabel('Scopes').fill('mail offline_access');
      await expectAccessible(page, 'new account of another provider');
      await button('Add the account and sign in').click();
      await untilStatus('Live');
      expect(new URL(page.url()).pathname).toMatch(/\/inbox\/accounts\/\d+$/);
      expect(provider.forms[0]).toMatchObject({
        client_secret: 'a secret of the client',
        grant_type: 'authorization_code',
      });
      provider.revoke();
      for (const connection of oauthImap.connections) connection.drop();
      await untilStatus('Action needed');
      await button('Sign in again').waitFor();
      await expectAccessible(page, 'account whose consent was revoked');
      await button('Sign in again').click();
      await text('Signed in. The account is synchronised now.').waitFor();
      await untilStatus('Live');
      await page.goto(`${server.running.url}/mail-sign-in?error=access_denied&state=1`);
      await page.getByRole('alert').getByText('did not give the permission').waitFor();
      await expectAccessible(page, 'sign-in that the provider has refused');
      await page.goto(`${server.running.url}/mail-sign-in?code=4711&state=unknown`);
      await page.getByRole('alert').getByText('This sign-in with the mail provider is unknown').waitFor();
    });

    test('an alias is added with a name, verified with the code that it receives, and removed', long, async () => {
      await open(`/accounts/${account}`);
      await button('Add an alias').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Address').fill('support@example.test');
      await dialog.getByLabel('Display name').fill('Support');
      await dialog.getByRole('button', { name: 'Add an alias' }).click();
      const row = main().getByRole('row', { name: /support@example\.test/ });
      await row.getByText('Not verified').waitFor();
      await expectAccessible(page, 'account with an alias');
      expect((await server.data(`GET /api/accounts/${account}`)).identities).toMatchObject([
        { address: 'alice@example.test', name: null },
        { address: 'support@example.test', name: 'Support', verifiedAt: null },
      ]);
      await row.getByRole('button', { name: 'Verify' }).click();
      await dialog.getByRole('button', { name: 'Send a code' }).click();
      await dialog.getByText('A code was sent to support@example.test.').waitFor();
      await receiver.until(1, 'support@example.test');
      await dialog.getByLabel('Code').fill('00000000');
      await dialog.getByRole('button', { name: 'Confirm' }).click();
      await dialog
        .getByText(/The code is wrong/)
        .first()
        .waitFor();
      await expectAccessible(page, 'alias that is verified');
      await dialog.getByLabel('Code').fill(/The code is (\d{8})/.exec(receiver.texts.at(-1)!)![1]!);
      await dialog.getByRole('button', { name: 'Confirm' }).click();
      await row.getByText('Verified', { exact: true }).waitFor();
      await row.getByRole('button', { name: 'Remove support@example.test' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await text('Alias removed.').waitFor();
      await expect.poll(() => row.count()).toBe(0);
    });

    test('no page violated its policy, and only the mail provider was visited', () => {
      const expected = /status of (400|401|422)/; // Expected errors: an unknown state, requests before the sign-in, a form with errors.
      const foreign = misdeeds.foreign.filter((url) => !url.startsWith(provider.issuer));
      const errors = misdeeds.errors.filter((each) => !expected.test(each));
      expect({ ...misdeeds, errors, foreign }).toEqual({ violations: [], errors: [], foreign: [] });
    });
  });
});
