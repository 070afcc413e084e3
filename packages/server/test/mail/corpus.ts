import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Real messages that nobody here wrote; null (said once) where the folder is absent. */
export const corpusFolder: string | null = ((): string | null => {
  const folder = join(process.env['SHARED_DATA_DIR'] ?? join(root, '../shared/data'), 'mail');
  if (existsSync(folder)) return folder;
  process.stdout.write(`mail corpus skipped: there is no folder ${folder}; SHARED_DATA_DIR names another\n`);
  return null;
})();

/** Paths below the corpus, in order. */
export function listMessages(folder: string): string[] {
  if (corpusFolder === null) return [];
  const names = readdirSync(join(corpusFolder, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.eml'))
    .sort()
    .map((name) => `${folder}/${name}`);
}

export const readMessage = (path: string): Uint8Array => new Uint8Array(readFileSync(join(corpusFolder!, path)));

/** A raw message of headers and a body, with CRLF. */
export function makeRawMessage(headers: Readonly<Record<string, string>> | string, body = ''): Uint8Array {
  const head =
    typeof headers === 'string'
      ? headers
      : Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}`)
          .join('\n');
  return Buffer.from(`${head}\n\n${body}`.replace(/\r?\n/g, '\r\n'));
}
