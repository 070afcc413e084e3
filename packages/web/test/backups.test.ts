/** The page of backups: an administrator makes, downloads and restores them in the browser. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { findChromium, openBrowser, type PageProblems } from '../../server/test/support/browser.ts';
import { bucket, S3Server } from '../../server/test/support/s3-server.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { buildWebInterface, describeWebEngines, expectAccessible, openPage, signIn } from './support/web-page.ts';

const chromium = findChromium();
const long = { timeout: 120_000 };

describe.skipIf(chromium === null)('backups in the web interface', () => {
  describeWebEngines('the page of backups', (engine) => {
    let s3: S3Server;
    let server: TestServer;
    let browser: Browser;
    let page: Page;
    let misdeeds: PageProblems;

    beforeAll(async () => {
      buildWebInterface();
      s3 = await S3Server.start();
      const env = { ...s3.env('', 'BACKUP_S3'), BACKUP_SCHEDULE: '0 3 1 1 *', BACKUP_KEEP: '3' };
      server = await TestServer.start(engine, { env });
      // Waits for the overdue scheduled backup, which is made at the start.
      const { backups } = await server.running.applications.backups();
      await vi.waitFor(async () => expect((await backups.list())[0]?.status).toBe('done'), { timeout: 20_000 });
      await server.data('POST /api/applications:create', { body: { name: 'shop' } });
      browser = await openBrowser(chromium!);
      ({ page, misdeeds } = await openPage(browser, server.running.url));
      await page.goto(`${server.running.url}/a/main/access/backups`);
      await signIn(page);
    }, 90_000);
    afterAll(async () => {
      await browser?.close();
      await server?.stop();
      await s3?.remove();
    });

    test('a backup is made and downloaded, and an application is restored after typing its name', long, async () => {
      await page.getByText(/The newest 3 scheduled backups are kept/).waitFor();
      await page.getByText(`New backups are stored in the bucket ${bucket}.`).waitFor();
      if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/list.png` });
      await page.getByRole('button', { name: 'Back up now' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('What is backed up').selectOption('shop');
      await expectAccessible(page, 'new backup');
      await dialog.getByRole('button', { name: 'Back up now' }).click();
      const row = page.getByRole('row').filter({ hasText: 'request', hasNotText: 'Restore of' });
      await row.getByText('done').waitFor();
      const saving = page.waitForEvent('download');
      await row.getByRole('button', { name: /^Download/ }).click();
      const download = await saving;
      expect(download.suggestedFilename()).toMatch(/^b\d{8}-\d{6}-[0-9a-f]{8}\.tar$/);
      expect(
        readFileSync(await download.path())
          .subarray(257, 262)
          .toString(),
      ).toBe('ustar');

      await row.getByRole('button', { name: /^Restore/ }).click();
      const restore = dialog.getByRole('button', { name: 'Restore', exact: true });
      expect(await restore.isDisabled()).toBe(true);
      await dialog.getByLabel(/shop/).last().fill('shop');
      await expectAccessible(page, 'restore');
      if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/restore.png` });
      await restore.click();
      const restored = page.getByRole('row').filter({ hasText: 'Restore of shop' });
      await restored.getByText('done').waitFor();
      await restored.getByText(/The replaced data is kept as the backup b/).waitFor();

      await row.getByRole('button', { name: /^Restore/ }).click();
      await dialog.getByLabel('Create a copy next to it').check();
      await dialog.getByLabel('Name of the copy').fill('shop-copy');
      await restore.click();
      await page.getByRole('row').filter({ hasText: 'Restore of shop-copy' }).getByText('done').waitFor();
      expect(await server.data('GET /api/applications:get?filterByTk=shop-copy')).toMatchObject({ status: 'running' });
      await expectAccessible(page, 'backups');
      if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/backups.png` });

      const scheduled = page.getByRole('row').filter({ hasText: 'schedule' });
      await scheduled.getByRole('button', { name: /^Restore/ }).click();
      await dialog.getByText(/All applications are unavailable for some seconds/).waitFor();
      expect(await dialog.getByLabel('Create a copy next to it').count()).toBe(0);
      expect(await restore.isDisabled()).toBe(true);
      await dialog.getByLabel(/main/).last().fill('main');
      expect(await restore.isEnabled()).toBe(true);
      await expectAccessible(page, 'restore of main');
      await dialog.getByRole('button', { name: 'Cancel' }).click();

      await row.getByRole('button', { name: /^Delete/ }).click();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await row.waitFor({ state: 'detached' });
      expect(misdeeds).toEqual({ violations: [], errors: [], foreign: [] });
    });
  });
});
