import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, openBrowser, type PageProblems, watchPage } from '../support/browser.ts';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const none: PageProblems = { violations: [], errors: [], foreign: [] };
const long = 60_000;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(sqlite);
  await server.data('POST /api/collections:apply', {
    body: [
      { name: 'posts', title: 'Posts', fields: [{ name: 'title', type: 'string' }] },
      { name: 'vaults', fields: [{ name: 'code', type: 'string' }] },
      {
        name: 'marked',
        title: '<img src=x onerror=alert(1)>',
        description: '<script>alert(2)</script> [x](javascript:alert(3))',
      },
    ],
  });
  await server.data('POST /api/posts:create', { body: { title: 'A post that is there' } });
  await server.data('POST /api/roles:create', { body: { name: 'reader' } });
  for (const resource of ['posts', 'marked'])
    await server.data('POST /api/permissions:create', { body: { role: 'reader', resource, actions: ['view'] } });
  await server.createKey('reader');
});
afterAll(() => server.stop());

describe('the reference page over HTTP', () => {
  const fetched = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(server.running.url + path, { headers });

  test('is small, and only permits scripts of this server', async () => {
    const response = await fetched('/docs');
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(html.length).toBeLessThan(3000);
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=|https?:/);
    const policy = response.headers.get('content-security-policy')!;
    const rules = Object.fromEntries(policy.split('; ').map((rule) => [rule.split(' ')[0], rule]));
    expect(rules).toMatchObject({
      'default-src': "default-src 'none'",
      'script-src': "script-src 'self'",
      'connect-src': "connect-src 'self'",
      'frame-ancestors': "frame-ancestors 'self'",
      'base-uri': "base-uri 'none'",
      'form-action': "form-action 'none'",
    });
    expect(policy).not.toMatch(/unsafe-/);
    const nonce = /style-src 'self' 'nonce-([\w-]{22})'/.exec(policy)![1]!;
    expect(html).toContain(nonce);
    expect((await fetched('/docs')).headers.get('content-security-policy')).not.toContain(nonce);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test.each(['/docs/page.js', '/docs/page.css', '/docs/scalar.js'])(
    '%s is compressed, and answered with 304 if it is unchanged',
    async (path) => {
      const response = await fetched(path);
      expect([response.status, response.headers.get('content-encoding')]).toEqual([200, 'gzip']);
      const again = await fetched(path, { 'if-none-match': response.headers.get('etag')! });
      expect([again.status, await again.text()]).toEqual([304, '']);
      const plain = await fetched(path, { 'accept-encoding': 'identity' });
      expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, await response.text()]);
    },
  );

  test('other files do not exist', async () => {
    for (const path of [
      '/docs/docs-page.ts',
      '/docs/../docs-page.ts',
      '/docs/%2e%2e/http-server.ts',
      '/docs/js/scalar.js',
    ])
      expect([path, (await fetched(path)).status]).toEqual([path, 404]);
  });
});

const chromium = findChromium();

describe.skipIf(chromium === null)('the reference page in Chromium', () => {
  let browser: Browser;
  let page: Page;
  let misdeeds: PageProblems;
  beforeAll(async () => {
    browser = await openBrowser(chromium!);
    page = await browser.newPage();
    misdeeds = await watchPage(page, server.running.url);
    await page.goto(`${server.running.url}/docs`);
  }, long);
  afterAll(() => browser?.close());

  const show = async (token: string, application = 'main'): Promise<void> => {
    await page.fill('input[name=application]', application);
    await page.fill('input[name=token]', token);
    await page.click('#who button');
  };
  const state = (text: RegExp): Promise<void> => page.locator('#state', { hasText: text }).waitFor();
  const stored = (): Promise<string> =>
    page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])');

  test('opens with the public operations', { timeout: long }, async () => {
    await state(/operations, without a credential/);
    await page.getByText('signIn', { exact: false }).first().waitFor();
    expect(await page.locator('#reference').textContent()).not.toContain('posts');
    const rules = '[...document.querySelectorAll("style")].map((each) => each.sheet?.cssRules.length ?? 0)';
    expect(Math.min(...((await page.evaluate(rules)) as number[]))).toBeGreaterThan(0);
    expect(misdeeds).toEqual(none);
  });

  test('shows the operations that the role of an API key permits', { timeout: long }, async () => {
    await show(server.tokens.get('reader')!);
    await page
      .getByRole('button', { name: 'posts' })
      .or(page.getByRole('link', { name: 'posts' }))
      .first()
      .waitFor();
    const text = await page.locator('#reference').textContent();
    expect(text).toContain('posts');
    expect(text).not.toContain('vaults');
    expect(misdeeds).toEqual(none);
  });

  test('shows texts of definitions as plain text, whatever they contain', { timeout: long }, async () => {
    let opened = false;
    page.once('dialog', () => (opened = true));
    await page
      .getByRole('button', { name: 'marked' })
      .or(page.getByRole('link', { name: 'marked' }))
      .first()
      .click();
    await page.getByText('GET').first().waitFor();
    expect(
      await page.locator('#reference script, #reference [onerror], #reference a[href^="javascript:"]').count(),
    ).toBe(0);
    expect([opened, misdeeds.violations, misdeeds.errors]).toEqual([false, [], []]);
  });

  test('executes a list with the permissions of the role and only chosen parameters', { timeout: long }, async () => {
    await page
      .getByRole('button', { name: 'posts' })
      .or(page.getByRole('link', { name: 'posts' }))
      .first()
      .click();
    await page
      .getByRole('button', { name: /Test Request.*posts:list/i })
      .first()
      .click();
    const [request] = await Promise.all([
      page.waitForRequest(/posts:list/),
      page.getByRole('button', { name: /^Send/ }).first().click(),
    ]);
    expect(request.url()).toBe(`${server.running.url}/api/posts:list`);
    expect((await request.response())!.status()).toBe(200);
    await page.getByText('A post that is there').first().waitFor();
    expect(misdeeds).toEqual(none);
  });

  test('keeps the credential only in memory', { timeout: long }, async () => {
    const secret = server.tokens.get('reader')!;
    expect(await stored()).not.toContain(secret.slice(4, 20));
    expect(await page.evaluate('indexedDB.databases().then((all) => all.length)')).toBe(0);
    await page.reload();
    await state(/without a credential/);
    expect(await page.inputValue('input[name=token]')).toBe('');
  });

  test('reports a refusal and keeps the previous document', { timeout: long }, async () => {
    await show('nonsense');
    await state(/invalid or missing token/);
    expect(await page.locator('#state').getAttribute('data-failed')).not.toBeNull();
    expect(await page.locator('#reference').textContent()).toContain('auth');
    expect({ ...misdeeds, errors: misdeeds.errors.filter((text) => !text.includes('401')) }).toEqual(none);
  });
});
