/**
 * Two members of an account work in one inbox: notes, mentions, assignment, snooze, mute, and the display of who is writing a reply.
 */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import type { Json } from '../../server/test/support/json.ts';
import { deliverRawMail } from '../../server/test/support/mail-arrivals.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { deliverToInbox, startShopInboxServer } from './support/shop-inbox-server.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 120_000 };
/** A folder for screenshots that people look at. */
const pictures = process.env['TEAM_PICTURES'];

describe.skipIf(chromium === null)('an inbox of two members', () => {
  describeWebEngines('of a shop', (engine) => {
    let server: TestServer;
    let browser: Browser;
    let ann: Page;
    let bob: Page;
    /** Whether ann's changes of conversations are refused. */
    let refusesUpdates = false;
    const misdeeds: PageProblems[] = [];
    const testOnce = test.skipIf(engine !== sqlite);
    const inboxUrl = (search = ''): string => `${server.running.url}/a/main/inbox${search}`;
    const row = (page: Page, text: string) => page.locator('[data-conversation]').filter({ hasText: text });
    const open = async (page: Page, subject: string): Promise<void> => {
      await row(page, subject).click();
      await page.getByRole('heading', { name: subject }).waitFor();
    };
    const find = async (subject: string): Promise<Json> =>
      (await server.data(`GET /api/conversations?search=subject:"${subject}"`, { as: 'ann' }))[0];
    const picture = async (page: Page, name: string): Promise<void> => {
      if (pictures === undefined) return;
      mkdirSync(pictures, { recursive: true });
      await page.screenshot({ path: `${pictures}/${name}.png` });
    };
    const openAs = async (name: string): Promise<Page> => {
      const { page, misdeeds: found } = await openPage(browser, server.running.url);
      misdeeds.push(found);
      await page.goto(inboxUrl());
      await signIn(page, `${name}@example.com`, 'correct horse');
      await row(page, 'Broken turntable').waitFor();
      return page;
    };

    beforeAll(async () => {
      buildWebInterface();
      server = await startShopInboxServer(engine);
      for (const [id, nickname] of [
        [2, 'Ann Berg'],
        [3, 'Bob Cole'],
      ] as const)
        await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { nickname } });
      await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
      browser = await openBrowser(chromium!);
      [ann, bob] = [await openAs('ann'), await openAs('bob')];
      // A request right after route() may bypass the new route, so the routes are set up before the tests.
      const refusal = { error: 'No permissions', message: 'Refused.', code: 'NO_PERMISSION' };
      await ann.route('**/conversations:update*', (route) =>
        refusesUpdates ? route.fulfill({ status: 403, json: refusal }) : route.continue(),
      );
      await ann.route('**/emails:unsubscribe*', (route) => route.fulfill({ json: { data: { unsubscribed: true } } }));
    }, 120_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
    });

    test('a note mentions a member, who is notified in the page and opens the conversation', long, async () => {
      await open(ann, 'Broken turntable');
      await ann.keyboard.press('n');
      const field = ann.getByRole('textbox', { name: 'Internal note' });
      await field.fill('Can you look at this, @bo');
      await ann.getByRole('option', { name: 'Bob Cole' }).waitFor();
      await expectAccessible(ann, 'note form');
      await ann.keyboard.press('Enter');
      await expect(field.inputValue()).resolves.toBe('Can you look at this, @Bob Cole ');
      await ann.keyboard.press('ControlOrMeta+Enter');
      await ann.getByRole('article', { name: 'Internal note of Ann Berg' }).waitFor();
      const mention = bob.getByText(/Ann Berg mentioned you in a note: Broken turntable/);
      await mention.waitFor();
      await bob.getByRole('button', { name: 'Notifications, 1 unread notification' }).click();
      await bob.getByRole('dialog', { name: 'Notifications' }).waitFor();
      await expectAccessible(bob, 'notifications');
      await picture(bob, 'notifications');
      await bob.getByRole('button', { name: /mentioned you in a note Broken turntable/ }).click();
      await bob.getByRole('article', { name: 'Internal note of Ann Berg' }).waitFor();
      await bob.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
      expect(await server.data('GET /api/mailNotifications', { as: 'bob' })).toMatchObject([{ read: true }]);
      expect(await bob.getByRole('button', { name: 'Edit the note' }).count()).toBe(0);
    });

    test('members see who else has a conversation open, and are warned before both of them reply', long, async () => {
      await ann.getByText('Bob Cole is viewing this conversation').waitFor({ state: 'attached' });
      await bob.getByRole('heading', { name: 'Broken turntable' }).click();
      await bob.keyboard.press('r');
      await bob.getByRole('textbox', { name: 'Text' }).waitFor();
      await ann.getByText('Bob Cole is answering this conversation').waitFor({ state: 'attached' });
      await ann.keyboard.press('r');
      await ann.getByRole('alert').filter({ hasText: 'Bob Cole is also answering.' }).waitFor();
      await expectAccessible(ann, 'collision');
      await picture(ann, 'collision');
      await bob.getByRole('button', { name: 'Close and keep the draft' }).click();
      await expect.poll(() => ann.getByText('Bob Cole is also answering.').count()).toBe(0);
      await ann.getByRole('button', { name: 'Close and keep the draft' }).click();
    });

    test('a conversation is assigned, and the other member sees it without a reload', long, async () => {
      await ann.goto(inboxUrl());
      await open(ann, 'Spring sale');
      await ann.getByRole('combobox', { name: 'Assignee' }).click();
      await ann.getByRole('option', { name: 'Bob Cole' }).click();
      await ann.getByText('Conversation assigned to Bob Cole.').waitFor();
      await bob.getByText(/Ann Berg assigned a conversation to you: Spring sale/).waitFor();
      await bob.getByRole('button', { name: /^Assigned to me/ }).click();
      await row(bob, 'Spring sale').waitFor();
      expect(await bob.locator('[data-conversation]').count()).toBe(1);
      await picture(bob, 'assigned-to-me');
      await ann.keyboard.press('z');
      await expect.poll(async () => (await find('Spring sale')).assigneeId).toBe(null);
      await expect.poll(() => row(bob, 'Spring sale').count()).toBe(0);
      await ann.keyboard.press('i');
      await expect.poll(async () => (await find('Spring sale')).assigneeId).toBe(2);
      await ann.getByText(/Ann Berg took the conversation/).waitFor();
    });

    testOnce('keys close, snooze and mute; each is shown at once, undone by z, and after a refusal', long, async () => {
      await ann.keyboard.press('d');
      await ann.getByText('Conversation closed.').waitFor();
      expect(await row(ann, 'Spring sale').count()).toBe(0);
      await expect.poll(async () => (await find('Spring sale')).state).toBe('closed');
      await ann.keyboard.press('z');
      await row(ann, 'Spring sale').waitFor();
      await expect.poll(async () => (await find('Spring sale')).state).toBe('open');
      await open(ann, 'Spring sale');
      await ann.keyboard.press('b');
      await ann.getByRole('dialog', { name: 'Snooze until' }).waitFor();
      await expectAccessible(ann, 'snooze');
      await picture(ann, 'snooze');
      await ann.getByRole('button', { name: /^Tomorrow/ }).focus();
      await ann.keyboard.press('Enter');
      await ann.getByText(/Conversation snoozed until/).waitFor();
      await expect.poll(async () => (await find('Spring sale')).state).toBe('snoozed');
      expect(await row(ann, 'Spring sale').count()).toBe(0);
      await ann.goto(inboxUrl('?folder=any&state=snoozed'));
      await open(ann, 'Spring sale');
      await ann.getByText(/Ann Berg snoozed the conversation until/).waitFor();
      await ann.keyboard.press('M');
      await ann.getByText('Conversation muted. New mail does not reopen it.').waitFor();
      // The page shows the change before it is saved, and the undo must be saved before the server refuses.
      await expect.poll(async () => (await find('Spring sale')).muted).toBe(true);
      await ann.keyboard.press('z');
      await expect.poll(async () => (await find('Spring sale')).muted).toBe(false);
      refusesUpdates = true;
      await ann.keyboard.press('d');
      await ann.getByText('Refused.').waitFor();
      await row(ann, 'Spring sale').waitFor();
      refusesUpdates = false;
      const answer = makeRawMail({
        subject: 'Re: Spring sale',
        from: 'Offers <offers@shop.example>',
        id: 's2@shop.example',
        references: ['s1@shop.example'],
      });
      await deliverRawMail(server, answer);
      await expect.poll(() => row(ann, 'Spring sale').count()).toBe(0);
      await ann.goto(inboxUrl());
      await open(ann, 'Spring sale');
      await ann.getByText('A new message reopened the conversation').waitFor();
      await picture(ann, 'reopened');
    });

    testOnce('several conversations are closed at once, and the view of closed ones lists them', long, async () => {
      await ann.goto(inboxUrl());
      await row(ann, 'Broken turntable').getByRole('checkbox').check();
      await row(ann, 'Spring sale').getByRole('checkbox').check();
      await ann.getByRole('button', { name: 'Close or reopen' }).click();
      await ann.getByText('2 conversations closed.').waitFor();
      await ann.getByRole('button', { name: 'Closed', exact: true }).click();
      await row(ann, 'Broken turntable').waitFor();
      await expect.poll(() => ann.locator('[data-conversation]').count()).toBe(2);
      await expectAccessible(ann, 'closed');
    });

    testOnce(
      'the headers and the raw form of a message are shown, and its list is left with one click',
      long,
      async () => {
        const headers = [
          'List-Unsubscribe: <https://list.example/u>',
          'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
        ];
        await server.data('POST /api/collections:apply', {
          body: [
            {
              name: 'clients',
              fields: [
                { name: 'name', type: 'string' },
                { name: 'mail', type: 'email' },
              ],
            },
            {
              name: 'tasks',
              fields: [
                { name: 'title', type: 'string' },
                { name: 'conversation', type: 'belongsTo', target: 'conversations' },
              ],
            },
          ],
        });
        const order = { collectionName: 'conversations', name: 'orderNumber', type: 'string', title: 'Order' };
        await server.data('POST /api/fields:create', { body: order });
        const clients = [
          { name: 'Weekly Ltd', mail: 'weekly@list.example' },
          { name: 'Somebody else', mail: 'else@list.example' },
        ];
        await server.data('POST /api/clients:create', { body: clients });
        const news = { subject: 'Weekly offers', from: 'Weekly <weekly@list.example>', id: 'w1@list.example', headers };
        await deliverToInbox(server, news);
        const { id } = await find('Weekly offers');
        await server.data('POST /api/tasks:create', {
          as: 'ann',
          body: { title: 'Call them back', conversationId: id },
        });
        await ann.goto(inboxUrl());
        await open(ann, 'Weekly offers');
        // Without animations, the key press that closes a dialog reaches the page when the dialog is already gone; it
        // must not also close the conversation.
        await ann.emulateMedia({ reducedMotion: 'reduce' });
        const more = ann.getByRole('button', { name: 'More about this message' });
        await more.click();
        await ann.getByRole('menuitem', { name: 'Show the headers' }).click();
        await ann.getByRole('dialog', { name: 'Headers' }).getByText('<w1@list.example>').waitFor();
        await expectAccessible(ann, 'headers');
        await ann.keyboard.press('Escape');
        await more.click();
        await ann.getByRole('menuitem', { name: 'Show the raw message' }).click();
        const raw = ann.getByRole('textbox', { name: 'Raw message' });
        await expect.poll(() => raw.inputValue()).toContain('Subject: Weekly offers');
        await expectAccessible(ann, 'raw');
        await picture(ann, 'raw');
        await ann.keyboard.press('Escape');
        await more.click();
        await ann.getByRole('menuitem', { name: 'Unsubscribe' }).click();
        await ann.getByRole('dialog').getByRole('button', { name: 'Unsubscribe' }).click();
        await ann.getByText('Unsubscribed from Weekly.').waitFor();
        await ann.emulateMedia({ reducedMotion: 'no-preference' });
      },
    );

    testOnce('labels have colours, and are added, removed and restored', long, async () => {
      await ann.goto(inboxUrl());
      await ann.locator('[data-conversation]').nth(3).click();
      await ann.getByRole('region', { name: 'State of the conversation' }).waitFor();
      const labels = async (): Promise<string> => {
        const id = new URL(ann.url()).searchParams.get('c');
        const emails = await server.data(`GET /api/emails?conversationId=${id}`, { as: 'ann' });
        return JSON.stringify(emails.map((email: Json) => email.labels));
      };
      await ann.keyboard.press('l');
      await ann.getByRole('textbox', { name: 'Another label' }).fill('Invoices');
      await expectAccessible(ann, 'labels');
      await ann.keyboard.press('Enter');
      await ann.getByText('Labels of the conversation changed.').waitFor();
      await ann.locator('h2 + div').getByText('Invoices').waitFor();
      expect(await labels()).toContain('Invoices');
      await picture(ann, 'labels');
      // A dialog that is closing still receives key presses.
      await ann.getByRole('dialog').waitFor({ state: 'detached' });
      await ann.keyboard.press('l');
      await ann.getByRole('checkbox', { name: 'Invoices' }).uncheck();
      await ann.getByRole('button', { name: 'Apply' }).click();
      await expect.poll(labels).not.toContain('Invoices');
      await ann.getByText('Labels of the conversation changed.').nth(1).waitFor();
      await ann.getByRole('dialog').waitFor({ state: 'detached' });
      await ann.keyboard.press('z');
      await expect.poll(labels).toContain('Invoices');
    });

    testOnce('the side panel shows records of the sender and edits own fields', long, async () => {
      await ann.goto(inboxUrl());
      await open(ann, 'Weekly offers');
      await ann.getByRole('button', { name: 'Customer and fields' }).click();
      const panel = ann.getByRole('dialog', { name: 'Customer' });
      await panel.getByText('weekly@list.example').waitFor();
      await panel.getByRole('link', { name: 'Weekly Ltd' }).waitFor();
      await panel.getByText('Call them back').waitFor();
      expect(await panel.getByText('Somebody else').count()).toBe(0);
      await panel.getByRole('textbox', { name: 'Order' }).fill('A-17');
      await expectAccessible(ann, 'customer');
      await picture(ann, 'customer');
      await panel.getByRole('textbox', { name: 'Order' }).blur();
      await expect.poll(async () => (await find('Weekly offers')).orderNumber).toBe('A-17');
      await ann.keyboard.press('Escape');
    });

    testOnce('everything fits a phone and dark mode', long, async () => {
      const { page, misdeeds: found } = await openPage(browser, server.running.url, {
        viewport: { width: 390, height: 844 },
        colorScheme: 'dark',
        hasTouch: true,
        isMobile: true,
      });
      misdeeds.push(found);
      await page.goto(inboxUrl('?folder=any&state=closed'));
      await signIn(page, 'ann@example.com', 'correct horse');
      await open(page, 'Broken turntable');
      await page.getByRole('article', { name: 'Internal note of Ann Berg' }).waitFor();
      await page.getByRole('button', { name: 'Add an internal note' }).click();
      await page.getByRole('textbox', { name: 'Internal note' }).waitFor();
      await expectAccessible(page, 'phone');
      await picture(page, 'phone-dark');
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow).toBeLessThanOrEqual(0);
      await page.context().close();
    });

    test('no page violated its policy or called another server', () => {
      const isRefused = (text: string): boolean => text.includes('status of 403');
      for (const { violations, errors, foreign } of misdeeds)
        expect([violations, errors.filter((each) => !isRefused(each)), foreign]).toEqual([[], [], []]);
    });
  });
});
