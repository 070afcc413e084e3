/**
 * Campaigns: from an empty list to a campaign that is written, previewed, tested, started, paused and finished, with
 * live progress.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { CampaignFixture } from '../../server/test/support/campaign-fixture.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 240_000 };
/** `SCREENSHOTS=<folder>` stores pictures of the pages. */
const screenshots = process.env['SCREENSHOTS'];

describe.skipIf(chromium === null)('campaigns', () => {
  describeWebEngines('of a mail account', (engine) => {
    let fixture: CampaignFixture;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;
    const getUrl = (path = ''): string => `${fixture.server.running.url}/a/main/inbox/campaigns${path}`;
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
    const field = (name: string) => page.getByRole('textbox', { name });
    const choose = async (label: string, option: string): Promise<void> => {
      await page.getByRole('combobox', { name: label }).click();
      await page.getByRole('option', { name: option, exact: true }).click();
    };
    const shoot = async (name: string, shown = page): Promise<void> => {
      if (screenshots) await shown.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
    };

    beforeAll(async () => {
      buildWebInterface();
      fixture = await CampaignFixture.open(engine);
      await fixture.addCustomers('Cora', 12);
      await fixture.server.data('POST /api/customers:create', {
        body: [
          { name: '<img src=x onerror=alert(1)>', email: 'eve@example.net', tier: 'gold' },
          { name: 'Nobody', email: 'no address', tier: 'gold' },
          { name: 'Dan', email: 'dan@example.net', tier: 'gold' },
        ],
      });
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, fixture.server.running.url));
      await page.goto(getUrl());
      await signIn(page, 'mia@example.com', 'correct horse');
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await fixture?.stop();
    });

    test('a campaign is written with a filter, previewed and saved', long, async () => {
      await page.getByText('No campaigns yet.').waitFor();
      await expectAccessible(page, 'no campaigns');
      await shoot('campaigns-empty');
      await page.getByRole('link', { name: 'New campaign' }).first().click();
      await field('Name').fill('Autumn news');
      await choose('Recipients are the records of', 'customers');
      await expect(page.getByRole('combobox', { name: 'Field with the address' }).inputValue()).resolves.toBe('email');
      await field('Subject').fill('News for {{name}}');
      await field('Plain text').fill('Dear {{name}},\n\nautumn is here.');
      await field('HTML').fill('<p>Dear <b>{{name}}</b>, {{nick}}</p>');
      await button('Preview').click();
      await page.getByText(/nick/).last().waitFor();
      await field('HTML').fill('<p>Dear <b>{{name}}</b>,</p><p>autumn is here.</p>');
      await button('Preview').click();
      await page.getByText('14 recipients').waitFor();
      await page.getByText('1 record without an address').waitFor();
      await button('Edit the filter').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'As JSON' }).click();
      await dialog.getByRole('textbox').first().fill('{"name":{"$ne":"Dan"}}');
      await expectAccessible(page, 'the filter of a campaign');
      await dialog.getByRole('button', { name: 'Apply' }).click();
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
      // Applying the filter in the dialog does not save the campaign.
      await button('Preview').click();
      await page.getByText('13 recipients').waitFor();
      expect(await fixture.server.data('GET /api/mailCampaigns:list', { as: 'mia' })).toEqual([]);
      const message = page.getByRole('article', { name: 'Message to cora1@example.net' });
      await message.getByText('News for Cora 1').waitFor();
      await message.frameLocator('iframe').getByText('autumn is here.').waitFor();
      await page.getByText('The preview does not load remote images.').waitFor();
      await expectAccessible(page, 'the preview of a campaign');
      await shoot('campaign-editor');
      await page.getByRole('checkbox', { name: 'Opened messages' }).check();
      await button('Save').click();
      await page.getByRole('heading', { name: 'Autumn news', level: 1 }).waitFor();
      expect(await fixture.server.data('GET /api/mailCampaigns/1', { as: 'mia' })).toMatchObject({
        name: 'Autumn news',
        status: 'draft',
        trackOpens: true,
        trackClicks: false,
        audience: { collection: 'customers', filter: { name: { $ne: 'Dan' } }, field: 'email' },
      });
    });

    test('a test message arrives; the campaign is started, shown live, paused and finished', long, async () => {
      await button('Send me a test').click();
      await page.getByText('A test is on its way to mia@example.com.').waitFor();
      await fixture.until(
        async () => fixture.received('mia').length,
        (count) => count === 1,
      );
      await button('Start').click();
      await page.getByText('Messages to 13 recipients will be sent.').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
      await page.getByText('Sending').first().waitFor();
      await fixture.until(
        () => fixture.get(1),
        ({ sent }) => sent >= 2,
      );
      await expect.poll(() => page.getByText(/^[2-9] of 13 recipients$/).count()).toBe(1);
      await button('Pause').click();
      await page.getByText('Paused').first().waitFor();
      await expectAccessible(page, 'a paused campaign');
      await shoot('campaign-paused');
      await button('Resume').click();
      await fixture.untilStatus(1, 'done');
      await page.getByText('13 of 13 recipients').waitFor();
      await page.getByText('Done').first().waitFor();
      const recipients = page.getByRole('table', { name: 'Recipients' });
      await recipients.getByText('eve@example.net').waitFor();
      await expect.poll(() => recipients.getByText('Sent', { exact: true }).count()).toBe(13);
      await choose('Outcome', 'Failed');
      await page.getByText('No recipients with this outcome.').waitFor();
      // Somebody opens a message.
      const [opened] = fixture.received('cora1@');
      const raw = opened!.raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=');
      const pixel = /src="[^"]*(\/campaign-open\/[^"]+)"/.exec(raw)![1]!;
      await fetch(`${fixture.server.running.url}${pixel}`);
      await page.getByText('1 · 7.7 %').waitFor();
      await expectAccessible(page, 'the results of a campaign');
      expect([misdeeds.foreign, misdeeds.violations]).toEqual([[], []]);
    });

    test('the results are shown in dark mode and on a phone, and campaigns are listed', long, async () => {
      for (const [name, options] of [
        ['dark', { colorScheme: 'dark' as const }],
        ['phone', { viewport: { width: 390, height: 844 } }],
      ] as const) {
        const opened = await openPage(browser, fixture.server.running.url, options);
        await opened.page.goto(getUrl('/1'));
        await signIn(opened.page, 'mia@example.com', 'correct horse');
        await opened.page.getByText('13 of 13 recipients').waitFor();
        await expectAccessible(opened.page, `results, ${name}`);
        const overflow = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
        expect(await opened.page.evaluate(overflow), name).toBe(false);
        await shoot(`campaign-results-${name}`, opened.page);
        await opened.page.goto(getUrl());
        await opened.page.getByRole('link', { name: 'Autumn news' }).waitFor();
        await expectAccessible(opened.page, `list, ${name}`);
        await shoot(`campaigns-${name}`, opened.page);
        await opened.page.goto(getUrl('/new'));
        await opened.page.getByRole('textbox', { name: 'Name' }).waitFor();
        expect(await opened.page.evaluate(overflow), `editor, ${name}`).toBe(false);
        await shoot(`campaign-new-${name}`, opened.page);
        await opened.page.context().close();
      }
      await page.goto(getUrl());
      await field('Address').fill('no address');
      await button('Add').click();
      await page.getByText(/Give one e-mail address/).waitFor();
      await field('Address').fill('Dan@example.net');
      await button('Add').click();
      const suppressed = page.getByRole('table', { name: 'Addresses without campaigns' });
      await suppressed.getByText('Added by hand').waitFor();
      await expectAccessible(page, 'suppressed addresses');
      await shoot('campaigns-suppressed');
      await button('Allow campaigns to dan@example.net').click();
      await page.getByText('No addresses yet.').waitFor();
      await page.goto(getUrl('/1'));
      await button('Delete').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No campaigns yet.').waitFor();
    });
  });
});
