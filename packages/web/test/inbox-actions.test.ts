/** Actions of the inbox on e-mails: reply, archive, delete and move. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { upload } from '../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { deliverToInbox, startShopInboxServer } from './support/shop-inbox-server.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };

describe.skipIf(chromium === null)('actions of an inbox', () => {
  describeWebEngines('of a shop', (engine) => {
    let server: TestServer;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    /** The behaviour of the browser does not depend on the engine, so it is tested with one. */
    const testOnce = test.skipIf(engine !== sqlite);
    const getUrl = (search = ''): string => `${server.running.url}/a/main/inbox${search}`;
    const text = (pattern: string | RegExp) => page.getByText(pattern).first();
    const row = (pattern: string | RegExp) => page.locator('[data-conversation]').filter({ hasText: pattern });
    const findEmail = async (subject: string) =>
      (await server.data(`GET /api/emails?search=subject:"${subject}"&folder=inbox`, { as: 'ann' }))[0];
    const arrive = (mail: Parameters<typeof deliverToInbox>[1]) => deliverToInbox(server, mail);

    beforeAll(async () => {
      buildWebInterface();
      server = await startShopInboxServer(engine);
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, server.running.url));
      await page.goto(getUrl());
      await signIn(page, 'ann@example.com', 'correct horse');
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
    });

    test('saves a reply automatically, moves it to the outbox, and cancels the sending', long, async () => {
      await row('Broken turntable').click();
      await text('The tonearm is loose.').waitFor();
      await page
        .getByRole('region', { name: 'Conversation', exact: true })
        .getByRole('button', { name: 'Reply', exact: true })
        .last()
        .click();
      await page.getByRole('textbox', { name: 'Text' }).waitFor();
      expect(await server.data('GET /api/emails?folder=drafts', { as: 'ann' })).toEqual([]);
      await page.keyboard.type('We send you a new one.');
      await text('Draft saved').waitFor();
      await expectAccessible(page, 'reply');
      const [draft] = await server.data('GET /api/emails?folder=drafts', { as: 'ann' });
      expect(draft).toMatchObject({ subject: 'Re: Broken turntable', to: [{ address: 'cora@example.net' }] });
      await page.keyboard.press('ControlOrMeta+Enter');
      await text('Message queued.').waitFor();
      expect(await server.data('GET /api/emails?folder=outbox', { as: 'ann' })).toHaveLength(1);
      await page.getByRole('button', { name: 'Undo send' }).click();
      await page.getByRole('textbox', { name: 'Text' }).waitFor();
      await page.getByRole('textbox', { name: 'Text' }).getByText('We send you a new one.').waitFor();
      await page.getByRole('button', { name: 'Discard the draft' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click();
      await expect.poll(async () => (await server.data('GET /api/emails?folder=drafts', { as: 'ann' })).length).toBe(0);
      expect(await server.data('GET /api/emails?folder=outbox', { as: 'ann' })).toEqual([]);
    });

    test('removes archived and deleted e-mails at once, and restores them', long, async () => {
      await page.goto(getUrl());
      await row('Spring sale').click();
      await page.keyboard.press('e');
      await text('Conversation archived.').waitFor();
      await expect.poll(() => row('Spring sale').count()).toBe(0);
      await expect
        .poll(async () => (await server.data('GET /api/emails?folder=archive', { as: 'ann' })).length)
        .toBe(1);
      await page.keyboard.press('z');
      await row('Spring sale').waitFor();
      await expect.poll(() => page.getByText('Conversation archived.').count()).toBe(0); // nothing can be undone any more
      await expect.poll(async () => (await findEmail('Spring sale'))?.folder).toBe('inbox');
      await row('Spring sale').getByRole('checkbox').check();
      await row('Broken turntable').getByRole('checkbox').check();
      await text('2 selected').waitFor();
      await expectAccessible(page, 'selected');
      const list = page.getByRole('region', { name: 'Conversations' });
      const edges = [list, list.getByRole('button', { name: 'Star' }).first()].map(async (each) => {
        const { x, width } = (await each.boundingBox())!;
        return x + width;
      });
      const [end, lastEnd] = await Promise.all(edges);
      expect(lastEnd).toBeLessThanOrEqual(end!);
      await list.getByRole('button', { name: 'Delete' }).click();
      await text('2 conversations moved to the trash.').waitFor();
      await expect.poll(async () => (await server.data('GET /api/emails?folder=trash', { as: 'ann' })).length).toBe(2);
      await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click();
      await row('Spring sale').waitFor();
      await expect.poll(async () => (await server.data('GET /api/emails?folder=trash', { as: 'ann' })).length).toBe(0);
    });

    test('undo restores an e-mail to all mailboxes that it was in', long, async () => {
      const both = makeRawMail({
        subject: 'Filed twice',
        from: 'Cora Lind <cora@example.net>',
        id: 'both@example.net',
      });
      await upload(server, 'ann', 1, both);
      await upload(server, 'ann', 1, both, 'message/rfc822', '&mailbox=Clients');
      const readFolders = async (): Promise<string[]> => {
        const folders: string[] = [];
        for (const folder of ['inbox', 'Clients', 'archive', 'trash']) {
          const found = await server.data(`GET /api/emails?search=filed&folder=${folder}`, { as: 'ann' });
          folders.push(...found.map(() => folder));
        }
        return folders;
      };
      await page.goto(getUrl());
      for (const [key, folder] of [
        ['e', 'archive'],
        ['#', 'trash'],
      ] as const) {
        await row('Filed twice').click();
        await page.getByRole('region', { name: 'Conversation', exact: true }).locator('article').first().waitFor();
        await page.keyboard.press(key);
        await expect.poll(readFolders).toEqual([folder]);
        await page.keyboard.press('z');
        await row('Filed twice').waitFor();
        await expect.poll(readFolders).toEqual(['inbox', 'Clients']);
      }
    });

    test('deletes e-mails permanently only in the trash and after confirmation', long, async () => {
      const thrown = {
        subject: 'Thrown away',
        from: 'Cora Lind <cora@example.net>',
        id: 'w1@example.net',
        text: 'One',
      };
      await arrive(thrown);
      await arrive({ ...thrown, id: 'w2@example.net', inReplyTo: 'w1@example.net', text: 'Two' });
      const inTrash = async () => (await server.data('GET /api/emails?folder=trash', { as: 'ann' })).length;
      const [newest, oldest] = await server.data('GET /api/emails?search=subject:Thrown', { as: 'ann' });
      const destroy = (id: number) => server.data('POST /api/emails:destroy', { as: 'ann', body: { ids: [id] } });
      await destroy(oldest.id);
      await page.goto(getUrl('?folder=any'));
      await row('Thrown away').click();
      await page.getByRole('region', { name: 'Conversation', exact: true }).locator('article').first().waitFor();
      await page.keyboard.press('#');
      await text('Conversation moved to the trash.').waitFor();
      await expect.poll(inTrash).toBe(2);
      await page.keyboard.press('z');
      await expect.poll(inTrash).toBe(1);
      await destroy(newest.id);
      await page.goto(getUrl('?q=in:trash'));
      await row('Thrown away').click();
      await page.getByRole('region', { name: 'Conversation', exact: true }).locator('article').first().waitFor();
      await page.keyboard.press('#');
      await text(/is already in the trash/).waitFor();
      await row('Thrown away').waitFor();
      expect(await inTrash()).toBe(2);
      const ids = [newest.id, oldest.id];
      await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids } });
    });

    testOnce('selects the target folder of a move by arrow keys, however many there are', long, async () => {
      const paths = Array.from({ length: 40 }, (_, n) => `Folder ${n}`);
      for (const path of paths)
        await server.data('POST /api/mailboxes:create', { as: 'ann', body: { accountId: 1, path } });
      await page.goto(getUrl());
      await row('Broken turntable').click();
      await page.keyboard.press('m');
      const chosen = page.getByRole('dialog').locator('[role=option][aria-selected=true]');
      await chosen.waitFor();
      await page.keyboard.press('ArrowUp');
      const inView = async (): Promise<boolean> => {
        const [option, list] = [await chosen.boundingBox(), await page.getByRole('listbox').boundingBox()];
        return option!.y >= list!.y && option!.y + option!.height <= list!.y + list!.height + 1;
      };
      await expect.poll(inView).toBe(true);
      await expect.poll(() => chosen.getAttribute('id')).not.toMatch(/-0$/);
      await page.keyboard.press('Escape');
    });

    test('did not violate the policy of the page or call another server', () => {
      expect(misdeeds).toEqual({ violations: [], errors: [], foreign: [] });
    });
  });
});
