/** Reading mail: labels, searches, the layout of the list, invitations, print and swipes. */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import { startMailAccountServer, upload } from '../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 60_000 };
/** A folder for screenshots that people look at. */
const pictures = process.env['SCREENSHOT_DIR'];

describe.skipIf(chromium === null)('reading in the inbox', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const row = (text: string) => page.locator('[data-conversation]').filter({ hasText: text });
  const rows = async (): Promise<string[]> =>
    (await page.locator('[data-conversation] bdi').allTextContents()).map((each) => each.trim());
  const picture = async (name: string): Promise<void> => {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png` });
  };
  const receive = async (subject: string, more: object = {}): Promise<number> => {
    const raw = makeRawMail({ id: `${subject.replaceAll(/\W/g, '')}@example.net`, subject, ...more });
    return (await upload(server, 'ann', 1, raw, 'message/rfc822', '&mailbox=inbox')).ids[0]!;
  };

  const invite = (method: string, lines: readonly string[]): string =>
    [
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//Test//EN',
      `METHOD:${method}`,
      'BEGIN:VEVENT',
      'UID:event-1@example.net',
      'DTSTART:20261201T090000Z',
      'DTEND:20261201T100000Z',
      'RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4',
      'LOCATION:Room 5',
      'ORGANIZER;CN=Zoe:mailto:zoe@example.net',
      'ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:shop@example.com',
      ...lines,
      'END:VEVENT',
      'END:VCALENDAR',
      '',
    ].join('\r\n');
  const receiveInvitation = async (subject: string, calendar: string): Promise<void> => {
    const raw = [
      'From: Zoe <zoe@example.net>',
      'To: shop@example.com',
      `Subject: ${subject}`,
      `Message-ID: <${subject.replaceAll(/\W/g, '')}@example.net>`,
      'Date: Fri, 20 Nov 2026 10:00:00 +0000',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b1',
      '',
      '--b1',
      'Content-Type: text/plain',
      '',
      `Text of ${subject}`,
      '--b1',
      'Content-Type: text/calendar; charset=utf-8; name=invite.ics',
      '',
      calendar,
      '--b1--',
      '',
    ].join('\r\n');
    await upload(server, 'ann', 1, raw, 'message/rfc822', '&mailbox=inbox');
  };

  beforeAll(async () => {
    buildWebInterface();
    server = await startMailAccountServer(sqlite);
    const bill = await receive('Bill of May');
    await receive('Bill of June');
    await receive('Holiday plans', { from: 'Zoe Zimmer <zoe@example.net>' });
    await server.data(`PATCH /api/emails/${bill}`, { as: 'ann', body: { labels: ['Bills', 'To do'] } });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/inbox`);
    await signIn(page, 'ann@example.com', 'correct horse');
    await row('Bill of May').waitFor();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('labels are shown in rows, counted in the pane of folders, and restrict the list', long, async () => {
    await row('Bill of May').getByText('To do').waitFor();
    const entry = page.getByRole('navigation', { name: 'Folders' }).getByRole('button', { name: /^Bills/ });
    await expect.poll(() => entry.textContent()).toContain('Bills: 1 conversation');
    await picture('labels');
    await expectAccessible(page, 'the list with labels');
    await entry.click();
    await expect.poll(rows).toEqual(['Bill of May']);
    expect(new URL(page.url()).searchParams.get('label')).toBe('Bills');
    await page.getByRole('button', { name: 'Only with the label Bills' }).click();
    await page.getByRole('menuitem', { name: 'Any label' }).click();
    await expect.poll(async () => (await rows()).length).toBe(3);
    await row('Bill of June').click();
    await page.getByRole('heading', { name: 'Bill of June' }).waitFor();
    await page.keyboard.press('l');
    await page.getByRole('checkbox', { name: 'Bills' }).check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await row('Bill of June').getByText('Bills').waitFor();
    await expect.poll(() => entry.textContent(), { timeout: 8000 }).toContain('Bills: 2 conversations');
    await page.keyboard.press('z');
    await expect.poll(() => row('Bill of June').getByText('Bills').count()).toBe(0);
    await page.goto(`${server.running.url}/a/main/inbox/reports`);
    await page.getByRole('combobox', { name: 'Group by' }).click();
    await page.getByRole('option', { name: 'Label' }).click();
    await page.getByRole('row', { name: /^Without a label 2/ }).waitFor();
    await page.getByRole('row', { name: /^To do 1/ }).waitFor();
  });

  test('the search suggests words, labels and people, and remembers and saves searches', long, async () => {
    await page.goto(`${server.running.url}/a/main/inbox`);
    const field = page.getByRole('combobox', { name: 'Search mail' });
    const option = (name: string) => page.getByRole('option', { name, exact: true });
    await field.click();
    await page.keyboard.type('lab');
    await option('label:').click();
    await page.keyboard.type('to');
    await option('label:"To do"').waitFor();
    await picture('suggestions');
    await expectAccessible(page, 'suggestions of a search');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => field.inputValue()).toBe('label:"To do" ');
    await page.keyboard.press('Enter');
    await expect.poll(rows).toEqual(['Bill of May']);
    await page.getByRole('button', { name: 'Save this search' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('My tasks');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const entry = page.getByRole('button', { name: 'My tasks', exact: true });
    await entry.waitFor();
    await field.fill('zimm');
    await option('from: Zoe Zimmer <zoe@example.net>').click();
    await page.keyboard.press('Enter');
    await expect.poll(rows).toEqual(['Holiday plans']);
    await entry.click();
    await expect.poll(rows).toEqual(['Bill of May']);
    await field.click();
    await field.fill('');
    await option('from:zoe@example.net').click();
    await expect.poll(rows).toEqual(['Holiday plans']);
    await page.evaluate('localStorage.clear()');
    await page.reload();
    await entry.hover();
    await page.getByRole('button', { name: 'Delete the saved search My tasks' }).click();
    await expect.poll(() => entry.count()).toBe(0);
  });

  test('the list has two densities and three layouts, which the browser remembers', long, async () => {
    await page.goto(`${server.running.url}/a/main/inbox`);
    const height = (): Promise<number> =>
      row('Bill of May')
        .boundingBox()
        .then((box) => box!.height);
    const layout = page.getByRole('button', { name: 'Layout' });
    const choose = async (name: string): Promise<void> => {
      await layout.click();
      await page.getByRole('menuitemradio', { name }).click();
    };
    /** The menu stays open for a second choice. */
    const closeMenu = async (): Promise<void> => {
      await layout.click();
      await page.getByRole('menu').waitFor({ state: 'detached' });
    };
    const pane = page.getByRole('region', { name: 'Conversation', exact: true });
    await row('Bill of May').waitFor();
    const comfortable = await height();
    await choose('Compact');
    await closeMenu();
    await expect.poll(height).toBeLessThan(comfortable - 15);
    await picture('compact-left');
    await choose('Above the conversation');
    await closeMenu();
    await row('Holiday plans').click();
    await pane.getByText('Hello.').waitFor();
    const [list, thread] = await Promise.all([page.locator('[data-list]').boundingBox(), pane.boundingBox()]);
    expect(thread!.y).toBeGreaterThan(list!.y + list!.height - 1);
    await expect.poll(height).toBeLessThan(40);
    await picture('compact-top');
    await expectAccessible(page, 'a compact list above a conversation');
    await choose('Instead of the conversation');
    await expect.poll(() => page.locator('[data-list]').count()).toBe(0);
    await page.reload();
    await pane.getByText('Hello.').waitFor();
    expect(await page.locator('[data-list]').count()).toBe(0);
    await page.keyboard.press('Escape');
    await row('Bill of May').waitFor();
    await picture('compact-list');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.locator('[data-conversation][data-current]').waitFor({ timeout: 2000 });
    await choose('Comfortable');
    await closeMenu();
    await choose('On the left');
  });

  test('rows are swiped on a phone, with undo; messages have the direction of their text', long, async () => {
    await receive('שלום עולם', { id: 'rtl@example.net', text: 'שלום, מה שלומך?\n\nAnd one line in English.' });
    const { page: phone, misdeeds: found } = await openPage(browser, server.running.url, {
      viewport: { width: 390, height: 800 },
      hasTouch: true,
      isMobile: true,
      colorScheme: 'dark',
    });
    await phone.goto(`${server.running.url}/a/main/inbox`);
    await signIn(phone, 'ann@example.com', 'correct horse');
    const cdp = await phone.context().newCDPSession(phone);
    const phoneRow = phone.locator('[data-conversation]').filter({ hasText: 'Bill of May' });
    const swipe = async (distance: number, whileHeld = async (): Promise<void> => {}): Promise<void> => {
      const box = (await phoneRow.boundingBox())!;
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      const touch = (type: string, moved: number | null) =>
        cdp.send('Input.dispatchTouchEvent', {
          type: type as 'touchStart',
          touchPoints: moved === null ? [] : [{ x: x + moved, y }],
        });
      await touch('touchStart', 0);
      for (let step = 1; step <= 6; step++) await touch('touchMove', (distance * step) / 6);
      await whileHeld();
      await touch('touchEnd', null);
    };
    await swipe(150, async () => {
      await expect.poll(() => phoneRow.getAttribute('data-swipe')).toBe('right');
      if (pictures !== undefined) await phone.screenshot({ path: `${pictures}/phone-swipe.png` });
    });
    await phone.getByText('Conversation archived.').waitFor();
    await expect.poll(() => phoneRow.count()).toBe(0);
    await phone.getByRole('button', { name: 'Undo' }).click();
    await phoneRow.waitFor();
    await swipe(30);
    await swipe(-150);
    await expect.poll(() => phoneRow.count()).toBe(0);
    await phone.getByRole('button', { name: 'Undo' }).last().click();
    await phoneRow.waitFor();
    await expectAccessible(phone, 'the list on a phone');
    // Chromium ignores a tap right after a swipe, because it takes the tap for the end of a scroll.
    await phone.locator('[data-conversation]').filter({ hasText: 'שלום עולם' }).click();
    // The row of the list shows the text too.
    await phone.locator('article div[dir=auto]').filter({ hasText: 'And one line in English.' }).first().waitFor();
    expect(
      await phone.evaluate(
        "getComputedStyle([...document.querySelectorAll('article div[dir=auto]')].find((e) => e.textContent.includes('English'))).direction",
      ),
    ).toBe('rtl');
    if (pictures !== undefined) await phone.screenshot({ path: `${pictures}/phone-rtl.png` });
    expect(found).toEqual({ errors: [], violations: [], foreign: [] });
    await phone.context().close();
  });

  test('an invitation is shown as a card, and its answer goes to the organizer', long, async () => {
    const card = page.getByRole('region', { name: 'Invitation' });
    await page.goto(`${server.running.url}/a/main/inbox`);
    await receiveInvitation('Planning', invite('REQUEST', ['SUMMARY:Plan <img src=x onerror=alert(1)>', 'SEQUENCE:1']));
    await row('Planning').click();
    await card.getByText('Plan <img src=x onerror=alert(1)>').waitFor();
    for (const text of ['Updated', '9:00', 'UTC', 'Room 5', 'Zoe (zoe@example.net)', 'every 2 weeks, 4 times'])
      await card.getByText(text).first().waitFor();
    await expectAccessible(page, 'an invitation');
    await picture('invitation');
    await card.getByRole('button', { name: 'Accept' }).click();
    await page.getByText('Accepted. The organizer gets your answer.').waitFor();
    expect(await card.getByRole('button', { name: 'Accept' }).getAttribute('aria-pressed')).toBe('true');
    const [queued] = await server.data('GET /api/emails?folder=outbox', { as: 'ann' });
    expect(queued).toMatchObject({ to: [{ address: 'zoe@example.net' }], from: [{ address: 'shop@example.com' }] });
    const raw = (await server.call(`GET /api/emails:raw?filterByTk=${queued.id}`, { as: 'ann' })).text;
    expect(raw).toMatch(/Content-Type: text\/calendar;\s+charset=utf-8;\s+method=REPLY/);
    const encoded = /text\/calendar[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(raw)?.[1] ?? '';
    expect(Buffer.from(encoded, 'base64').toString()).toMatch(/METHOD:REPLY[\s\S]*PARTSTAT=ACCEPTED/);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => server.data('GET /api/emails?folder=outbox', { as: 'ann' })).toEqual([]);
    await expect.poll(() => card.getByRole('button', { name: 'Accept' }).getAttribute('aria-pressed')).toBe('false');

    await receiveInvitation('Called off', invite('CANCEL', ['SUMMARY:Plan']));
    await page.keyboard.press('Escape');
    await row('Called off').click();
    await card.getByText('Cancelled').waitFor();
    expect(await card.getByRole('button').count()).toBe(0);
    await receiveInvitation('Somebody else', invite('REQUEST', ['SUMMARY:Plan']).replace('shop@', 'other@'));
    await page.keyboard.press('Escape');
    await row('Somebody else').click();
    await card.getByText('other@example.com').waitFor();
    expect(await card.getByRole('button').count()).toBe(0);
    await receiveInvitation('Broken', 'BEGIN:VCALENDAR\r\nthis is no calendar');
    await page.keyboard.press('Escape');
    await row('Broken').click();
    await page
      .getByRole('button', { name: /invite.ics/ })
      .first()
      .waitFor();
    expect(await card.count()).toBe(0);
  });

  test('a conversation is printed from a document in which hostile HTML cannot do harm', long, async () => {
    const html =
      '<style>h1, header { display: none } .x { position: fixed; top: 0 }</style><p class="x">Bold <b>words</b></p>' +
      '<script>parent.document.title = "taken"</script><img src="https://pixels.example/one.gif" onerror="alert(1)">';
    await receive('Printed', { html, text: null, id: 'printed1@example.net' });
    await receive('Re: Printed', { text: 'Plain <b>answer</b>', references: ['printed1@example.net'] });
    await page.goto(`${server.running.url}/a/main/inbox`);
    await row('Printed').click();
    await page.locator('article').getByText('Plain <b>answer</b>').waitFor();
    await page.keyboard.press('p');
    const read = (): Promise<string[]> =>
      page.evaluate(
        `(() => {
          const page = document.querySelector('iframe[data-print]')?.contentDocument;
          if (!page) return [];
          const roots = [page, ...[...page.querySelectorAll('.mail')].map((e) => e.shadowRoot)];
          return [
            page.querySelector('h1')?.textContent,
            String(page.defaultView.getComputedStyle(page.querySelector('h1')).display),
            String(page.querySelectorAll('header').length),
            roots.map((root) => root.querySelector('b')?.textContent ?? '').join(),
            String(roots.flatMap((root) => [...root.querySelectorAll('script, img[src], [onerror]')]).length),
            page.querySelector('pre')?.textContent,
          ];
        })()`,
      ) as Promise<string[]>;
    await expect.poll(read).toEqual(['Printed', 'block', '2', ',words', '0', 'Plain <b>answer</b>']);
    if (pictures !== undefined) {
      await page.evaluate(
        "document.querySelector('iframe[data-print]').style.cssText = 'position:fixed;inset:0;width:100%;height:100%;z-index:999;background:#fff'",
      );
      await picture('print');
    }
  });

  test('no page has reported an error', () => {
    expect(misdeeds).toEqual({ errors: [], violations: [], foreign: [] });
  });
});
