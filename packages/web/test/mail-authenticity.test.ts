/** How the authenticity of a message is shown: a sentence, its details, and warnings. */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { startMailAccountServer, upload } from '../../server/test/support/mail-account-server.ts';
import { MapResolver } from '../../server/test/support/map-resolver.ts';
import { makeRawMail, type RawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { publishKey, sign } from '../../server/test/support/signed-mail.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
/** A folder for screenshots that people look at. */
const pictures = process.env['SCREENSHOT_DIR'];

describe.skipIf(chromium === null)('the authenticity of messages', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  const dns = new MapResolver();
  const text = (pattern: string | RegExp) => page.getByText(pattern).first();
  const open = async (subject: string): Promise<void> => {
    await page.goto(`${server.running.url}/a/main/inbox`);
    await page.locator('[data-conversation]').filter({ hasText: subject }).click();
  };
  const show = async (name: string): Promise<void> => {
    if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
  };
  const sizes = [
    { name: 'light', options: {} },
    { name: 'dark', options: { colorScheme: 'dark' } },
    { name: 'phone', options: { viewport: { width: 390, height: 780 } } },
  ] as const;

  async function deliver(mail: RawMail, key = null as Awaited<ReturnType<typeof publishKey>> | null): Promise<void> {
    const raw = makeRawMail({ id: `${mail.subject?.replaceAll(' ', '-')}@example.net`, ...mail });
    const receivedAt = new Date(Date.now() + 1000).toISOString();
    await upload(server, 'ann', 1, key ? await sign(raw, key) : raw, 'message/rfc822', `&receivedAt=${receivedAt}`);
    await server.running.applications.main.mail.authenticity.runNow();
  }

  beforeAll(async () => {
    buildWebInterface();
    server = await startMailAccountServer(sqlite, {}, { dns });
    const key = publishKey(dns, 'example.org');
    const mailer = publishKey(dns, 'mailer.test');
    dns.addTexts('_dmarc.bank.test', 'v=DMARC1; p=reject');
    await deliver({ from: 'Ada Byron <ada@example.org>', subject: 'Signed letter', text: 'Good news.' }, key);
    await deliver({ from: 'Eve <eve@examp1e.com>', subject: 'Urgent payment', text: 'Pay now.' });
    await deliver({ from: 'Shop <news@store.test>', subject: 'Newsletter', text: 'Offers.' }, mailer);
    await deliver({ from: 'Ada Byron <ada@example.org>', subject: 'Later message', text: 'Bad news.' });
    browser = await openBrowser(chromium!);
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test.each(sizes)('is explained in a sentence: $name', long, async ({ name, options }) => {
    ({ page } = await openPage(browser, server.running.url, options));
    await page.goto(`${server.running.url}/a/main/inbox`);
    await signIn(page, 'ann@example.com', 'correct horse');
    await open('Signed letter');
    await text('This message was really sent by example.org.').waitFor();
    await text('This is the first message from this address.').waitFor();
    await page.getByRole('button', { name: 'Details' }).click();
    await text(/DKIM\s*passed\s*· example\.org/).waitFor();
    await show(`verified-${name}`);
    await expectAccessible(page, `verified ${name}`);
    await open('Urgent payment');
    await text('It could not be verified that examp1e.com sent this message.').waitFor();
    await text('The sender’s domain resembles a domain that you know, but it is a different one.').waitFor();
    await show(`look-alike-${name}`);
    await expectAccessible(page, `look-alike ${name}`);
    await open('Newsletter');
    await text('Sent by mailer.test. It could not be verified that store.test agreed to that.').waitFor();
    await show(`unaligned-${name}`);
    await open('Later message');
    await text('Earlier messages from this domain were verified. This one was not.').waitFor();
    await show(`known-${name}`);
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.context().close();
  });

  test('a forged message is shown in red, also in dark mode', long, async () => {
    const { database } = server.running.applications.main;
    const run = (statement: string) => database.write((tx) => tx.run({ text: statement, values: [] }));
    await run(`UPDATE accounts SET "authservIds"='["mx.example.com"]' WHERE id=1`);
    const headers = [
      'Authentication-Results: mx.example.com; spf=fail smtp.mailfrom=bank.test; dkim=none; dmarc=fail header.from=bank.test',
    ];
    await deliver({ from: 'Bank <service@bank.test>', subject: 'Your account', text: 'Sign in here.', headers });
    await run('UPDATE "mailPlacements" SET uid=id');
    await run(
      `INSERT INTO "mailChecks" ("accountId","emailId",attempts,"notBefore") SELECT 1,max(id),0,'2020-01-01T00:00:00.000Z' FROM emails`,
    );
    await server.running.applications.main.mail.authenticity.runNow();
    for (const { name, options } of sizes) {
      ({ page } = await openPage(browser, server.running.url, options));
      await page.goto(`${server.running.url}/a/main/inbox`);
      await signIn(page, 'ann@example.com', 'correct horse');
      await open('Your account');
      await text('bank.test does not confirm this message. It may be forged.').waitFor();
      await page.getByRole('button', { name: 'Details' }).click();
      await text(/DMARC\s*failed\s*· bank\.test · checked by your mail server/).waitFor();
      await show(`failed-${name}`);
      await expectAccessible(page, `failed ${name}`);
      await page.context().close();
    }
  });
});
