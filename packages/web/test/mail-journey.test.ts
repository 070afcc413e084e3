/** Mail from end to end, with real mail servers: two accounts, two people, another mail program, and a campaign whose server dies. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../../scripts/unprivileged-user.ts';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { type Dovecot, hasDovecot, startDovecot } from '../../server/test/support/dovecot.ts';
import { type Store, sqlite } from '../../server/test/support/engines.ts';
import type { Json } from '../../server/test/support/json.ts';
import { pngBase64 } from '../../server/test/support/mail-compose-server.ts';
import { ServerProcess } from '../../server/test/support/server-process.ts';
import { type SmtpRelay, startSmtpRelay } from '../../server/test/support/smtp-relay.ts';
import { deliver, deliverRaw, fastTimes, makeMessage, openClient } from '../../server/test/support/sync-world.ts';
import { fillInbox } from '../../server/test/support/synced-process.ts';
import { transferToEditor } from './support/editor-transfer.ts';
import { buildWebInterface, openPage, rootEmail, rootPassword, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 600_000 };
/** `JOURNEY_RECIPIENTS=2000` for a campaign of the size of a newsletter. */
const recipients = Number(process.env['JOURNEY_RECIPIENTS'] ?? 120);
/** A folder for screenshots that people look at. */
const pictures = process.env['SCREENSHOT_DIR'];
const delivered = 60;

describe.skipIf(chromium === null || !hasDovecot())('mail from end to end', () => {
  let dovecot: Dovecot;
  let relay: SmtpRelay;
  let store: Store;
  let server: ServerProcess;
  let port: number;
  let starts = 0;
  let browser: Browser;
  let ann: Page;
  let ben: Page;
  const misdeeds: PageProblems[] = [];
  const inboxUrl = (path = ''): string => `http://127.0.0.1:${port}/a/main/inbox${path}`;
  const row = (page: Page, text: string) => page.locator('[data-conversation]').filter({ hasText: text });
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
  const conversation = (page: Page) => page.getByRole('region', { name: 'Conversation', exact: true });
  const picture = async (page: Page, name: string): Promise<void> => {
    if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` });
  };

  /**
   * Starts the server on the same store and port. Each time its clock is ahead of the previous one by more than the
   * lease of a killed server.
   */
  async function startAgain(): Promise<void> {
    server = await ServerProcess.start(store, {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      MAIL_SYNC: 'on',
      MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1',
      MAIL_CA_FILE: dovecot.caFile,
      MAIL_SECRET_KEY: 'a key for tests only, long enough to be quiet',
      TEST_SYNC_TIMES: fastTimes,
      TEST_CLOCK_AHEAD: String(starts * 100_000),
    });
    starts += 1;
  }

  async function openAs(email: string, password: string): Promise<Page> {
    const { page, misdeeds: found } = await openPage(browser, `http://127.0.0.1:${port}`);
    misdeeds.push(found);
    await page.goto(inboxUrl());
    await signIn(page, email, password);
    return page;
  }

  beforeAll(async () => {
    buildWebInterface();
    dovecot = await startDovecot();
    const { lmtpPort, certificate, users } = dovecot;
    const passwords = Object.fromEntries(Object.values(users).map(({ address, password }) => [address, password]));
    relay = await startSmtpRelay({ lmtpPort, certificate, users: passwords });
    await deliver(dovecot, 'Order 0');
    const orders = Array.from({ length: delivered - 1 }, (_, index) => `Order ${index + 1}`);
    fillInbox(
      dovecot,
      'alice',
      orders.map((subject) => makeMessage(subject, 'Hello', `<${subject.replace(' ', '')}@test>`)),
    );
    store = await sqlite.store(true);
    port = await findFreePort();
    await startAgain();
    browser = await openBrowser(chromium!);
  }, 120_000);
  afterAll(async () => {
    if (pictures) await ann?.screenshot({ path: `${pictures}/journey-end.png` });
    await browser?.close();
    await server?.kill();
    await relay?.stop();
    await dovecot?.stop();
    await store?.remove();
  });

  /** Fills in the form of a new account in the browser. */
  async function addAccount(page: Page, user: string): Promise<void> {
    const { address, password } = dovecot.users[user]!;
    await page.goto(inboxUrl('/accounts/new'));
    await page.getByLabel('Address').fill(address);
    for (const [group, at, security] of [
      ['Receiving (IMAP)', dovecot.imapPort, 'None'],
      ['Sending (SMTP)', relay.port, 'STARTTLS'],
    ] as const) {
      const fields = page.getByRole('group', { name: group });
      await fields.getByLabel('Host').fill('127.0.0.1');
      await fields.getByRole('combobox', { name: 'Security' }).click();
      await page.getByRole('option', { name: security, exact: true }).click();
      await fields.getByLabel('Port').fill(String(at));
    }
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill(password);
    await button(page, 'Add an account').click();
    await page.getByRole('main').getByText('Live', { exact: true }).waitFor();
  }

  test('two accounts are added, and the first synchronisation shows their existing mail', long, async () => {
    const user = { email: 'ben@example.com', password: 'correct horse', nickname: 'Ben', roles: ['editor'] };
    const { id } = await server.data('users:create', user);
    ann = await openAs(rootEmail, rootPassword);
    await addAccount(ann, 'alice');
    const [account] = await server.data('accounts:list', { appends: ['members'] });
    const members = [...account.members.map((each: Json) => each.id), id];
    await server.data(`accounts:update?filterByTk=${account.id}`, { members });
    await addAccount(ann, 'bob');
    await ann.goto(inboxUrl(`?account=${account.id}`));
    await row(ann, `Order ${delivered - 1}`).waitFor();
    await picture(ann, 'journey-inbox');
  });

  test('a message is read, starred, filtered and found, and another mail program sees it', long, async () => {
    await row(ann, 'Order 55').click();
    await conversation(ann).getByText('Hello').waitFor();
    await row(ann, 'Order 55').getByRole('button', { name: 'Star' }).click();
    await button(ann, 'Starred').last().click();
    await expect.poll(() => ann.locator('[data-conversation]').count()).toBe(1);
    await button(ann, 'Starred').last().click();
    await ann.keyboard.press('Escape');
    await ann.keyboard.press('/');
    await ann.keyboard.type('subject:"Order 41"');
    await ann.keyboard.press('Enter');
    await expect.poll(() => ann.locator('[data-conversation]').count()).toBe(1);
    await row(ann, 'Order 41').waitFor();
    await button(ann, 'Clear the search').click();
    const client = await openClient(dovecot);
    await client.mailboxOpen('INBOX');
    await expect
      .poll(async () => (await client.search({ subject: 'Order 55', seen: true, flagged: true })) || [])
      .toHaveLength(1);
    await client.logout();
  });

  test('a message with a picture arrives in the other mailbox, and its reply in the conversation', long, async () => {
    await ann.goto(inboxUrl('?account=1'));
    await button(ann, 'New message').click();
    const text = ann.getByRole('textbox', { name: 'Text' });
    await text.click();
    await ann.keyboard.type('The new shelf:');
    await transferToEditor(ann, 'paste', { png: pngBase64 });
    await text.locator('img:not(.ProseMirror-separator)').waitFor();
    await ann.getByRole('combobox', { name: 'To', exact: true }).fill('bob@example.test,');
    await ann.getByRole('textbox', { name: 'Subject' }).fill('A shelf');
    await ann.getByText('Draft saved').waitFor();
    await ann.keyboard.press('ControlOrMeta+Enter');
    await ann.getByText('Message queued.').waitFor();
    await ann.goto(inboxUrl('?account=2'));
    await row(ann, 'A shelf').click();
    const frame = conversation(ann).frameLocator('iframe');
    await frame.getByText('The new shelf:').waitFor();
    const width = "document.querySelector('iframe').contentDocument.querySelector('img')?.naturalWidth";
    await expect.poll(() => ann.evaluate(width)).toBeGreaterThan(0);
    await picture(ann, 'journey-picture');
    await ann.keyboard.press('r');
    await text.waitFor();
    await ann.keyboard.type('It fits.');
    await ann.getByText('Draft saved').waitFor();
    await ann.keyboard.press('ControlOrMeta+Enter');
    await ann.getByText('Message queued.').waitFor();
    await ann.goto(inboxUrl('?account=1'));
    await row(ann, 'A shelf').click();
    await expect.poll(() => conversation(ann).getByRole('article').count()).toBe(2);
  });

  test('changes of another mail program, and new mail, are shown without a reload', long, async () => {
    await ann.goto(inboxUrl('?account=1'));
    await row(ann, 'Order 59').waitFor();
    await deliver(dovecot, 'From outside');
    await row(ann, 'From outside').waitFor();
    const client = await openClient(dovecot);
    await client.mailboxOpen('INBOX');
    await client.messageFlagsAdd({ subject: 'From outside' }, ['\\Flagged', '\\Seen']);
    await row(ann, 'From outside').locator('button[aria-pressed=true]').waitFor();
    await expect.poll(() => row(ann, 'From outside').and(ann.locator(':not([data-unread])')).count()).toBe(1);
    await client.logout();
  });

  test('two members in one conversation see each other', long, async () => {
    ben = await openAs('ben@example.com', 'correct horse');
    await row(ben, 'From outside').click();
    await row(ann, 'From outside').click();
    await ann.getByText('Ben is viewing this conversation').waitFor({ state: 'attached' });
    await conversation(ben).getByText('Hello').waitFor();
    await ben.keyboard.press('r');
    await ann.getByText('Ben is answering this conversation').waitFor({ state: 'attached' });
    await button(ben, 'Close and keep the draft').click();
    await ben.context().close();
  });

  test('changes that are made offline reach the mail server when the connection is back', long, async () => {
    await ann.goto(inboxUrl('?account=1'));
    await row(ann, 'Order 50').waitFor();
    await button(ann, 'New message').click();
    await ann.getByRole('combobox', { name: 'To', exact: true }).fill('bob@example.test,');
    await ann.getByRole('textbox', { name: 'Subject' }).fill('Written offline');
    await ann.getByRole('textbox', { name: 'Text' }).click();
    await ann.keyboard.type('Words.');
    await ann.getByText('Draft saved').waitFor();
    await ann.context().setOffline(true);
    await ann.keyboard.press('ControlOrMeta+Enter');
    await ann.getByText('1 message waits for the connection.').waitFor();
    await ann.context().setOffline(false);
    await expect.poll(() => ann.getByText('1 message waits for the connection.').count()).toBe(0);
    await expect
      .poll(() => relay.received.filter(({ raw }) => raw.includes('Subject: Written offline')).length)
      .toBe(1);
  });

  test('a campaign shows its progress while its server is killed twice, and reaches everybody once', long, async () => {
    const fields = ['name', 'email'].map((name) => ({ name, type: 'string' }));
    await server.data('collections:create', { name: 'customers', fields });
    for (let first = 0; first < recipients; first += 500)
      await server.data(
        'customers:create',
        Array.from({ length: Math.min(500, recipients - first) }, (_, index) => ({
          name: `No. ${first + index}`,
          email: `c${first + index}@d${index % 50}.example`,
        })),
      );
    const campaign = {
      ...{ accountId: 1, name: 'Autumn', audience: { collection: 'customers', field: 'email' } },
      ...{ subject: 'News for {{name}}', text: 'Dear {{name}}', ratePerMinute: 6000 },
    };
    const { id } = await server.data('mailCampaigns:create', campaign);
    await ann.goto(inboxUrl(`/campaigns/${id}`));
    const before = relay.received.length;
    await button(ann, 'Start').click();
    await ann.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
    for (const share of [0.25, 0.5]) {
      const wanted = before + Math.floor(recipients * share);
      await expect.poll(() => relay.received.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(wanted);
      await server.kill();
      await startAgain();
    }
    await ann
      .getByText(new RegExp(`of ${recipients.toLocaleString('en')} recipients`))
      .first()
      .waitFor();
    const messageTo = (address: string): string =>
      /^Message-ID: (<.*>)\r$/im.exec(relay.received.find(({ to }) => to[0] === address)!.raw.toString())![1]!;
    await expect.poll(() => relay.received.some(({ to }) => to[0] === 'c1@d1.example'), { timeout: 60_000 }).toBe(true);
    await deliverRaw(dovecot, 'alice', describeBounce('c0@d0.example', messageTo('c0@d0.example')));
    await deliverRaw(dovecot, 'alice', describeReply(messageTo('c1@d1.example')));
    await expect
      .poll(async () => (await server.data('mailCampaigns:get', { filterByTk: id })).status, { timeout: 300_000 })
      .toBe('done');
    const all = await server.data('mailCampaigns:get', { filterByTk: id });
    const addresses = relay.received.slice(before).flatMap(({ to }) => to);
    expect(new Set(addresses).size, 'twice to one address').toBe(addresses.length);
    // The outcome of a message that was being sent when its server was killed is unknown, and it is not sent again.
    expect(all.sent + all.unknown).toBe(recipients);
    expect(all.unknown).toBeLessThanOrEqual(4);
    await expect
      .poll(async () => {
        const { bounced, replied } = await server.data('mailCampaigns:get', { filterByTk: id });
        return [bounced, replied];
      })
      .toEqual([1, 1]);
    await ann.getByText('Done').first().waitFor();
    await picture(ann, 'journey-campaign');
    const table = ann.getByRole('table', { name: 'Recipients' });
    await table.getByText('Bounced').first().waitFor();
    await table.getByText('Replied').first().waitFor();
  });

  test('no page violated its policy or called another server', () => {
    // Expected errors: offline requests, killed servers, and the picture of a draft that has just been sent.
    const expected = /WebSocket|ERR_|Failed to fetch|status of (401|503)|status of 403.*\/attachments\//;
    for (const found of misdeeds)
      expect({ ...found, errors: found.errors.filter((each) => !expected.test(each)) }).toEqual({
        ...{ violations: [], errors: [], foreign: [] },
      });
  });
});

function describeBounce(address: string, messageId: string): string {
  return [
    'From: postmaster@example.net',
    'To: alice@example.test',
    'Subject: Undelivered mail',
    'Message-ID: <bounce@example.net>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b\r\nContent-Type: text/plain\r\n\r\nFailed.\r\n--b\r\nContent-Type: message/delivery-status\r\n',
    'Reporting-MTA: dns; mx.example.net\r\n',
    `Final-Recipient: rfc822; ${address}\r\nAction: failed\r\nStatus: 5.1.1`,
    'Diagnostic-Code: smtp; 550 5.1.1 unknown\r\n',
    '--b\r\nContent-Type: text/rfc822-headers\r\n',
    `Message-ID: ${messageId}\r\n`,
    '--b--\r\n',
  ].join('\r\n');
}

function describeReply(messageId: string): string {
  return [
    'From: c1@d1.example',
    'To: alice@example.test',
    'Subject: Re: News',
    'Message-ID: <reply@d1.example>',
    `In-Reply-To: ${messageId}`,
    `References: ${messageId}`,
    '',
    'Thank you.',
    '',
  ].join('\r\n');
}
