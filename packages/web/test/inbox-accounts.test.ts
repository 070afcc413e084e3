/** Mail accounts and writing: from an inbox without an account to messages that are sent exactly once. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../../client/src/client.ts';
import { generateDemoMail } from '../../server/src/mail/demo/demo-mail.ts';
import { writeMbox } from '../../server/src/mail/files/mbox-writer.ts';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { startMailAccountServer, upload } from '../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { readPlacements, writeInBatches } from '../src/inbox/actions/email-placements.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A message with an embedded image, and one with an image of another server. */
function buildImageMail(remote: string): string {
  return [
    'From: "<b onclick=alert(1)>Eve</b>" <eve@example.net>',
    'To: bob@shop.example',
    'Subject: <img src=x onerror=alert(1)> Gatefold sleeves',
    'Message-ID: <covers@example.net>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/related; boundary="part"',
    '',
    '--part',
    'Content-Type: text/html; charset=utf-8',
    '',
    `<p>Two covers</p><img alt="inside" src="cid:one@x"><img alt="outside" src="${remote}/cover.png"><img alt="gone" src="${remote}/gone.png">`,
    '--part',
    'Content-Type: image/png; name="inside.png"',
    'Content-ID: <one@x>',
    'Content-Disposition: inline',
    'Content-Transfer-Encoding: base64',
    '',
    png.toString('base64'),
    '--part--',
    '',
  ].join('\r\n');
}

describe.skipIf(chromium === null)('mail accounts', () => {
  describeWebEngines('in the inbox of a shop', (engine) => {
    let server: TestServer;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    let images: Server;
    let imageRequests = 0;
    const getUrl = (path = ''): string => `${server.running.url}/a/main/inbox${path}`;
    const text = (pattern: string | RegExp) => page.getByText(pattern).first();
    const row = (pattern: string | RegExp) => page.locator('[data-conversation]').filter({ hasText: pattern });
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
    const mails = (query: string) => server.data(`GET /api/emails?${query}`, { as: 'bob' });
    const body = () => page.getByRole('textbox', { name: 'Text' });
    const bodyText = async (): Promise<string> => (await body().innerText()).trim();
    let account: number;

    beforeAll(async () => {
      buildWebInterface();
      server = await startMailAccountServer(engine, { OUTBOUND_ALLOW: '127.0.0.1' });
      images = createServer(({ url }, response) => {
        imageRequests += 1;
        if (url === '/cover.png') response.writeHead(200, { 'content-type': 'image/png' }).end(png);
        else response.writeHead(404).end();
      });
      await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
      await server.data('POST /api/users:create', {
        body: { email: 'vera@example.com', nickname: 'Vera', password: 'correct horse', roles: ['viewer'] },
      });
      await server.data('POST /api/permissions:create', {
        body: {
          role: 'editor',
          resource: 'users',
          actions: ['list', 'get'],
          fields: ['id', 'nickname', 'email', 'username'],
        },
      });
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, server.running.url, { acceptDownloads: true }));
      await page.goto(getUrl());
      await signIn(page, 'bob@example.com', 'correct horse');
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
      images?.close();
    });

    test('an inbox without an account leads to its creation, and a mail file is imported', long, async () => {
      await page.getByRole('link', { name: 'Add an account' }).click();
      await page.getByLabel('Address').fill('bob@shop.example');
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('<i>Bob</i>');
      await page.getByLabel('Signature').fill('Bob of the shop');
      await page.getByRole('combobox', { name: 'Members' }).fill('vera');
      await page.getByRole('option', { name: /Vera/ }).click();
      const imap = page.getByRole('group', { name: 'Receiving (IMAP)' });
      await imap.getByLabel('Host').fill('localhost');
      await page.getByRole('textbox', { name: 'Password', exact: true }).fill('a secret of the shop');
      await expectAccessible(page, 'new mail account');
      await button('Add an account').click();
      await imap.getByText(/MAIL_ALLOWED_PRIVATE_HOSTS/).waitFor();
      expect(await server.data('GET /api/accounts', { as: 'bob' })).toEqual([]);
      await imap.getByLabel('Host').fill('imap.example.com');
      await button('Add an account').click();
      await page.getByRole('heading', { name: 'Import mail' }).waitFor();
      const [made] = await server.data('GET /api/accounts?appends=members', { as: 'bob' });
      account = made.id;
      expect(made).toMatchObject({ imap: { host: 'imap.example.com', port: 993 }, signature: 'Bob of the shop' });
      expect(made.members.map(({ id }: { id: number }) => id)).toEqual([3, 4]);
      expect(await page.content()).not.toContain('a secret of the shop');
      const demo = generateDemoMail({
        seed: 11,
        count: 60,
        until: new Date('2026-11-01T12:00:00Z'),
        inbox: { name: 'Bob', address: 'bob@shop.example' },
      });
      const mbox = await Array.fromAsync(writeMbox(demo.filter(({ mailbox }) => mailbox === 'INBOX')));
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button('Choose a file').click()]);
      await chooser.setFiles({ name: 'archive.mbox', mimeType: 'application/mbox', buffer: Buffer.concat(mbox) });
      await text(/\d+ stored, 0 already existed/).waitFor();
      await expectAccessible(page, 'mail account');
      await page.getByRole('link', { name: 'Open the inbox' }).click();
      await page.locator('[data-conversation]').first().waitFor();
      expect((await mails('pageSize=1&count=exact&folder=inbox')).length).toBe(1);
    });

    test('remote images are loaded through the server when the reader requests them', long, async () => {
      await upload(
        server,
        'bob',
        account,
        buildImageMail(`http://127.0.0.1:${(images.address() as AddressInfo).port}`),
      );
      await row('Gatefold sleeves').click();
      const image = (name: string) => page.frameLocator('iframe').locator(`img[alt=${name}][src^="blob:"]`);
      await image('inside').waitFor();
      await expect.poll(() => button(/inside.png/).count()).toBe(0);
      expect(imageRequests).toBe(0);
      await button('Show images').click();
      await image('outside').waitFor();
      await text('1 image could not be loaded.').waitFor();
      expect(imageRequests).toBe(2);
      expect(misdeeds.foreign).toEqual([]);
      await expect.poll(() => page.locator('b[onclick], img[onerror], i').count()).toBe(0);
      await page.reload();
      await button('Show images').waitFor();
      expect(imageRequests).toBe(2);
    });

    test(
      'a message has its signature, suggests recipients, and is sent once even if the reply is lost',
      long,
      async () => {
        await page.keyboard.press('c');
        await expect.poll(bodyText).toBe('Bob of the shop');
        const to = page.getByRole('combobox', { name: 'To', exact: true });
        await to.fill('eve');
        await page.getByRole('option', { name: /eve@example\.net/ }).waitFor();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await to.pressSequentially('nobody');
        await page.keyboard.press('Tab');
        await text('nobody is not a valid e-mail address').waitFor();
        await expectAccessible(page, 'new message');
        await to.focus();
        await page.keyboard.press('Backspace');
        await page.getByLabel('Subject').fill('Once');
        await body().fill('Only once.');
        await text('Draft saved').waitFor();
        let sent = 0;
        await page.route('**/api/emails:send*', async (route) => {
          sent += 1;
          if (sent > 1) return route.continue();
          await route.fetch();
          await route.abort();
        });
        await page.keyboard.press('ControlOrMeta+Enter');
        await text('Message queued.').waitFor();
        expect(sent).toBe(2);
        await page.unroute('**/api/emails:send*');
        expect((await mails('folder=outbox')).map(({ subject }: { subject: string }) => subject)).toEqual(['Once']);
        expect(await mails('folder=drafts')).toEqual([]);
      },
    );

    test(
      'changes of two users to one draft are kept and resolved by the writer, and a deleted draft is saved again',
      long,
      async () => {
        await row('Gatefold sleeves').click();
        await page.keyboard.press('r');
        await body().fill('Mine.');
        await text('Draft saved').waitFor();
        const [draft] = await mails('folder=drafts');
        await server.data(`POST /api/emails:update?filterByTk=${draft.id}`, { as: 'bob', body: { starred: true } });
        await body().fill('Mine, after a star.');
        await text('Draft saved').waitFor();
        const theirs = { id: draft.id, text: 'Theirs, from another tab.' };
        await server.data('POST /api/emails:saveDraft', { as: 'bob', body: theirs });
        await body().fill('Mine, and more.');
        await text('This draft was changed elsewhere').waitFor();
        await expect.poll(() => page.getByText('Saving…').count()).toBe(0);
        await expectAccessible(page, 'draft changed elsewhere');
        await page.getByRole('region', { name: 'The other version' }).getByText('Theirs').waitFor();
        await expect.poll(bodyText).toBe('Mine, and more.');
        await button('Keep both, one below the other').click();
        const whole = async (): Promise<string> =>
          (await server.data(`GET /api/emails/${draft.id}`, { as: 'bob' })).text;
        await expect.poll(whole).toMatch(/Mine, and more\.\s+Theirs, from another tab\./);
        await server.data('POST /api/emails:destroy?force=true', { as: 'bob', body: { ids: [draft.id] } });
        await body().fill('Still mine.');
        await text('This draft no longer exists').waitFor();
        await expect.poll(() => page.getByText('Saving…').count()).toBe(0);
        await button('Save as a new draft').click();
        await expect.poll(async () => (await mails('folder=drafts'))[0]?.snippet).toBe('Still mine.');
        expect((await mails('folder=drafts'))[0].subject).toMatch(/^Re: /);
      },
    );

    test('typed text survives a page change, an unreachable server and an ended session', long, async () => {
      await page.route('**/api/emails:saveDraft*', (route) => route.abort());
      await body().fill('Not saved yet.');
      await page.getByRole('link', { name: 'Data', exact: true }).click();
      await page.getByRole('heading', { name: 'Data' }).first().waitFor();
      await page.getByRole('link', { name: 'Inbox', exact: true }).click();
      await expect.poll(bodyText).toBe('Not saved yet.');
      await page.unroute('**/api/emails:saveDraft*');
      await page.evaluate("dispatchEvent(new Event('online'))");
      await expect
        .poll(async () => (await mails('folder=drafts'))[0]?.snippet, { timeout: 30_000 })
        .toBe('Not saved yet.');
      const unauthorised = { status: 401, contentType: 'application/json' };
      const over = { error: 'Unauthorized', code: 'TOKEN_INVALID', message: 'The login has ended.' };
      await page.route('**/api/emails:saveDraft*', (route) =>
        route.fulfill({ ...unauthorised, body: JSON.stringify(over) }),
      );
      await body().fill('Typed while the login ended.');
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
      await page.unroute('**/api/emails:saveDraft*');
      await signIn(page, 'bob@example.com', 'correct horse');
      await expect.poll(bodyText).toBe('Typed while the login ended.');
      await expect.poll(async () => (await mails('folder=drafts'))[0]?.snippet).toBe('Typed while the login ended.');
      await button('Discard the draft').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click();
      await expect.poll(async () => (await mails('folder=drafts')).length).toBe(0);
    });

    test('typed text is not saved in the name of the next user', long, async () => {
      const leave = async (name: RegExp): Promise<void> => {
        await page.getByRole('button', { name }).click();
        await page.getByRole('menuitem', { name: 'Sign out' }).click();
        await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      };
      await page.goto(getUrl());
      await row('Gatefold sleeves').waitFor();
      const senders = new Set<string | undefined>();
      page.on('request', (request) => {
        if (request.url().includes('saveDraft')) senders.add(request.headers()['authorization']);
      });
      await page.route('**/api/emails:saveDraft*', (route) => route.abort());
      await page.keyboard.press('c');
      await body().fill('For my eyes.');
      await page.getByRole('link', { name: 'Data', exact: true }).click();
      await page.getByRole('heading', { name: 'Data' }).first().waitFor();
      await leave(/bob@example\.com/);
      await page.unroute('**/api/emails:saveDraft*');
      await signIn(page, 'vera@example.com', 'correct horse');
      await page.evaluate("dispatchEvent(new Event('online'))");
      await page.waitForTimeout(1000);
      // A failed save of Bob may be repeated once after he has signed out, with his session.
      expect(senders.size).toBe(1);
      await leave(/Vera/);
      await signIn(page, 'bob@example.com', 'correct horse');
      await page.getByRole('link', { name: 'Inbox', exact: true }).click();
      await expect.poll(bodyText).toBe('For my eyes.');
      await button('Discard the draft').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click();
    });

    test('a changed account keeps its new values in its form', long, async () => {
      await page.goto(getUrl(`/accounts/${account}`));
      const name = page.getByRole('textbox', { name: 'Name', exact: true });
      await name.fill('Records');
      await button('Save').click();
      await text('Saved.').waitFor();
      await expect.poll(() => name.inputValue()).toBe('Records');
      await page.getByLabel('Signature').fill('Bob of the records');
      const [sent] = await Promise.all([page.waitForRequest('**/api/accounts:update*'), button('Save').click()]);
      expect(sent.postDataJSON()).toEqual({ signature: 'Bob of the records' });
    });

    test('an action is applied to each of 1,100 e-mails and reports its progress', long, async () => {
      const raws = Array.from({ length: 1100 }, (_, n) =>
        Buffer.from(
          makeRawMail({
            subject: 'Many',
            id: `m${n}@x`,
            ...(n > 0 && { inReplyTo: 'm0@x' }),
            to: 'bob@shop.example',
            text: `${n}`,
          }),
        ),
      );
      const mbox = writeMbox(raws.map((raw) => ({ raw, receivedAt: '2026-10-01T00:00:00.000Z', flags: [] })));
      await upload(server, 'bob', account, mbox, 'application/mbox');
      const client = new Client({ url: server.running.url, token: server.tokens.get('bob')! });
      const [{ conversationId }] = await mails('search=subject:Many&pageSize=1');
      const placements = await readPlacements(client, [conversationId]);
      expect(placements).toHaveLength(1100);
      const sizes: number[] = [];
      await writeInBatches(
        placements.map(({ id }) => id),
        (ids) => {
          sizes.push(ids.length);
          return client.post('emails:batchUpdate', { ids, read: true });
        },
      );
      expect(sizes).toEqual([1000, 100]);
      expect(await mails('search=subject:Many&unread=true')).toEqual([]);
      const stopping = writeInBatches([...placements.map(({ id }) => id)], (ids) =>
        ids.length === 1000 ? Promise.resolve() : Promise.reject(new Error('Enough.')),
      );
      await expect(stopping).rejects.toMatchObject({ done: 1000, all: 1100, message: 'Enough.' });
    });

    test(
      'mailboxes are created, renamed and destroyed, mail is exported, and the account is deleted',
      long,
      async () => {
        await page.goto(getUrl('/accounts'));
        await page.getByRole('link', { name: 'bob@shop.example' }).click();
        await button('New folder').click();
        await page.getByRole('dialog').getByLabel('Name').fill('Clients');
        await button('Create').click();
        await button('Rename Clients').click();
        await page.getByRole('dialog').getByLabel('Name').fill('Customers');
        await button('Rename').click();
        await button('Delete Customers').click();
        await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
        await text('Folder deleted.').waitFor();
        const paths = async (): Promise<string[]> =>
          (await server.data('GET /api/mailboxes', { as: 'bob' })).map(({ path }: { path: string }) => path);
        expect(await paths()).not.toContain('Customers');
        const [file] = await Promise.all([page.waitForEvent('download'), button('Download mbox').click()]);
        expect(file.suggestedFilename()).toBe('bob@shop.example.mbox');
        await button('Delete').last().click();
        await page.getByRole('dialog').getByRole('textbox').fill('bob@shop.example');
        await expectAccessible(page, 'delete a mail account');
      },
    );

    test('a role that may only read is offered no other action, not even by keyboard', long, async () => {
      const other = await openPage(browser, server.running.url, { viewport: { width: 390, height: 780 } });
      const reader = other.page;
      await reader.goto(getUrl());
      await signIn(reader, 'vera@example.com', 'correct horse');
      await reader.locator('[data-conversation]').filter({ hasText: 'Gatefold sleeves' }).click();
      await reader.locator('article').first().waitFor();
      // On a phone, the conversation replaces the heading and the search.
      expect(await reader.locator('h1').isVisible()).toBe(false);
      for (const name of ['Reply', 'Archive', 'Delete', 'Star', 'Write an e-mail'])
        await expect.poll(() => reader.getByRole('button', { name, exact: true }).count(), { message: name }).toBe(0);
      await reader.keyboard.press('s');
      await reader.getByText('Your role does not allow this.').waitFor();
      await expectAccessible(reader, 'inbox of a reader');
      await reader.goto(getUrl('/accounts'));
      await reader.getByRole('link', { name: 'bob@shop.example' }).click();
      await reader.getByRole('heading', { name: 'Folders' }).waitFor();
      await expect.poll(() => reader.getByRole('button', { name: /Save|Delete|Choose a file/ }).count()).toBe(0);
      await reader.context().close();
    });

    test('an account is deleted with its mail after typing its address', long, async () => {
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await text('Account deleted.').waitFor();
      await page.goto(getUrl());
      await text('No mail account yet').waitFor();
      expect(await server.data('GET /api/accounts', { as: 'bob' })).toEqual([]);
    });

    test('no page violated its policy or called another server', () => {
      const expected = /status of (401|403|404|412|422)|ERR_FAILED/;
      expect({ ...misdeeds, errors: misdeeds.errors.filter((each) => !expected.test(each)) }).toEqual({
        violations: [],
        errors: [],
        foreign: [],
      });
    });
  });
});
