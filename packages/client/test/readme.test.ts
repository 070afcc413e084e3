import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const folder = mkdtempSync(fileURLToPath(new URL('./examples-', import.meta.url)));

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(sqlite);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Joins all examples into one program, because later examples use the variables of earlier ones. */
function program(): string {
  const code = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1]).join('\n');
  const imports = code.match(/^import .*$/gm) ?? [];
  const body = code.replace(/^import .*$/gm, '');
  return `${imports.join('\n')}
import type { ExpectStatic } from 'vitest';
export async function run(url: string, token: string, email: string, password: string, expect: ExpectStatic): Promise<void> {
${body}
}
`;
}

test('the examples of the README run without changes', async () => {
  const path = join(folder, 'readme.ts');
  writeFileSync(path, program());
  const { run } = (await import(/* @vite-ignore */ path)) as { run: (...given: unknown[]) => Promise<void> };
  await run(server.running.url, server.tokens.get('admin'), 'root@example.com', 'correct horse battery', expect);
});
