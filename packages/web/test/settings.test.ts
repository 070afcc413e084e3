/** The page of settings: stored values take effect, and values that the environment sets cannot be changed. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { sqlite } from '../../server/test/support/engines.ts';
import type { Json } from '../../server/test/support/json.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 120_000 };

describe.skipIf(chromium === null)('the page of settings', () => {
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  const readSetting = async (name: string): Promise<Json> =>
    (await server.data('GET /api/systemSettings:get')).find((each: Json) => each.name === name);

  const readAccent = (): Promise<string> =>
    page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--mantine-color-verdigris-7')");

  beforeAll(async () => {
    buildWebInterface();
    server = await TestServer.start(sqlite, { env: { AUDIT_DAYS: '90' } });
    browser = await openBrowser(chromium!);
    ({ page, misdeeds } = await openPage(browser, server.running.url));
    await page.goto(`${server.running.url}/a/main/access/settings`);
    await signIn(page);
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('shows groups and sources, and disables what the environment sets', long, async () => {
    for (const group of ['Access', 'Limits', 'Retention', 'Backups', 'Outgoing mail', 'Network', 'Appearance'])
      await page.getByRole('region', { name: group, exact: true }).waitFor();
    const fixed = page.getByLabel('Age of audit entries');
    expect([await fixed.isDisabled(), await fixed.inputValue()]).toEqual([true, '90']);
    await page.getByText('The environment of the server sets AUDIT_DAYS.').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await expectAccessible(page, 'settings');
  });

  test('shows each invalid setting at its input, and stores nothing', long, async () => {
    await page.getByLabel('Age of events').fill('0');
    await page.getByLabel('Hosts that webhooks may call').fill('not a host');
    await page.getByLabel('Applications with sign-up').fill('main');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByText('EVENTS_DAYS must be a whole number from 1 to 36500.').first().waitFor();
    expect(await page.getByLabel('Age of events').getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => page.evaluate('document.activeElement.value')).toBe('0');
    expect(await page.getByLabel('Applications with sign-up').getAttribute('aria-invalid')).not.toBe('true');
    expect(await readSetting('ALLOW_SIGN_UP')).toMatchObject({ source: 'default' });
  });

  test('stores valid settings, which take effect at once', long, async () => {
    await page.getByLabel('Age of events').fill('45');
    await page.getByLabel('Hosts that webhooks may call').fill('');
    await page.getByLabel('Product title').fill('Shop office');
    await page.getByLabel('Accent colour').fill('#7a3cc2');
    await page.getByLabel('Scheduled backups to keep').fill('3');
    await page.getByRole('combobox', { name: 'AI assistants' }).click();
    await page.getByRole('option', { name: 'write' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The settings were saved.').waitFor();
    expect(await readSetting('EVENTS_DAYS')).toMatchObject({ source: 'stored', value: '45' });
    expect(await readSetting('MCP')).toMatchObject({ source: 'stored', value: 'write' });
    expect(await readSetting('ALLOW_SIGN_UP')).toMatchObject({ source: 'stored', value: 'main' });
    await expect.poll(() => page.title()).toBe('Settings · Shop office');
    await expect.poll(readAccent).toBe('#7a3cc2');
    await expectAccessible(page, 'settings with an accent colour');
    expect(await readSetting('BACKUP_KEEP')).toMatchObject({ source: 'stored', value: '3' });
    await page.getByRole('button', { name: 'Use default for Age of events' }).click();
    await expect.poll(async () => (await readSetting('EVENTS_DAYS')).source).toBe('default');
    await expect.poll(() => page.getByLabel('Age of events').inputValue()).toBe('30');
  });

  test('never shows a stored secret', long, async () => {
    const mail = {
      SMTP_URL: 'smtp://user:very-secret@127.0.0.1:1',
      SMTP_FROM: 'a@example.com',
      PUBLIC_URL: 'https://a.example.com',
    };
    await server.data('POST /api/systemSettings:update', { body: mail });
    await page.reload();
    const input = page.getByRole('textbox', { name: 'Mail server' });
    await input.waitFor();
    expect(await readAccent()).toBe('#7a3cc2');
    expect([await input.inputValue(), await input.getAttribute('placeholder')]).toEqual([
      '',
      'Set. Enter a value to replace it.',
    ]);
    expect(await page.content()).not.toContain('very-secret');
    expect(await page.title()).toBe('Settings · Shop office');
    const errors = misdeeds.errors.filter((each) => !each.startsWith('Failed to load resource')); // the refusal that was provoked above
    expect({ ...misdeeds, errors }).toEqual({ violations: [], errors: [], foreign: [] });
  });
});
