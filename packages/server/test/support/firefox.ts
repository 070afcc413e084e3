/** A real Firefox, as Linux distributions package it. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, firefox, type Page } from 'playwright-core';
import { findBrowser } from './browser.ts';

const firefoxPaths = [process.env['FIREFOX'], '/usr/bin/firefox-esr', '/usr/bin/firefox'];

/** The path of Firefox, or null: see {@link findBrowser}. */
export function findFirefox(): string | null {
  return findBrowser({ name: 'Firefox', paths: firefoxPaths, systemPackage: 'firefox-esr', variable: 'FIREFOX' });
}

/**
 * Playwright sets values of input fields in Firefox in a way that React does not notice. This function inserts text as
 * typing does.
 */
const insertText = `Object.defineProperty(window, '__pw_bidiInsertText', {
  get: () => (text) => void document.execCommand('insertText', false, text),
  set: () => {},
})`;

/** Makes `fill` and `insertText` work on a page in Firefox. Call it before the page is loaded. */
export function prepareFirefoxPage(page: Page): Promise<unknown> {
  return page.addInitScript(insertText);
}

/** Starts a headless Firefox. Playwright controls it by WebDriver BiDi, through `firefox-relay.ts`. */
export async function openFirefox(path: string): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-firefox-'));
  const relay = join(folder, 'firefox');
  const command = [process.execPath, fileURLToPath(new URL('firefox-relay.ts', import.meta.url)), path];
  writeFileSync(relay, `#!/bin/sh\nexec ${command.map((each) => `'${each}'`).join(' ')} "$@"\n`);
  chmodSync(relay, 0o755);
  const browser = await firefox.launch({ executablePath: relay, channel: 'moz-firefox' });
  browser.once('disconnected', () => rmSync(folder, { recursive: true }));
  return browser;
}
