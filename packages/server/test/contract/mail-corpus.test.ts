import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FileMessage } from '../../src/mail/files/mail-file.ts';
import { readMailSource } from '../../src/mail/files/mail-source.ts';
import { writeMbox } from '../../src/mail/files/mbox-writer.ts';
import { computeMailIdentity } from '../../src/mail/parse/mail-identity.ts';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import type { TestServer } from '../support/scenario.ts';

const folder = join(process.env['SHARED_DATA_DIR'] ?? join(import.meta.dirname, '../../../../../shared/data'), 'mail');
/** Uses every fifth of the 2,500 messages, or all of them with MAIL_SCALE. */
const every = process.env['MAIL_SCALE'] ? 1 : 5;
const there = existsSync(join(folder, 'easy-ham'));
async function* some(messages: AsyncIterable<FileMessage>): AsyncGenerator<FileMessage> {
  let number = 0;
  for await (const each of messages) if (number++ % every === 0) yield each;
}

if (!there) process.stdout.write(`skipped: real mail, since ${folder} is absent\n`);

describe.skipIf(!there)('with messages of other people', () => {
  describeEngines('real mail', (engine) => {
    let server: TestServer;
    async function* one(raw: Uint8Array): AsyncGenerator<Uint8Array> {
      yield raw;
    }
    beforeAll(async () => {
      server = await startMailAccountServer(engine);
    });
    afterAll(() => server.stop());

    test('real messages are stored and found', { timeout: 240_000 }, async () => {
      const begun = performance.now();
      const mbox = writeMbox(some(readMailSource(join(folder, 'easy-ham'))));
      const report = await upload(server, 'ann', 1, mbox, 'application/mbox');
      const seconds = (performance.now() - begun) / 1000;
      const memory = Math.round(process.memoryUsage().rss / 2 ** 20);
      const { database } = server.running.applications.main;
      const count = async (text: string): Promise<number> =>
        Number((await database.read([{ text: `SELECT count(*) FROM ${text}`, values: [] }]))[0]![0]![0]);
      const groups = await count('conversations WHERE messages>0');
      process.stdout.write(
        `${engine.name}: ${JSON.stringify({ ...report, ids: report.ids.length })} in ${seconds.toFixed(1)} s, ${(report.stored / seconds).toFixed(0)}/s, ${memory} MB, ${groups} conversations\n`,
      );
      expect(report).toMatchObject({ failed: 0, stored: 2500 / every });
      expect(await server.data('GET /api/emails?search=spamassassin', { as: 'ann' })).toHaveLength(20);
    });

    test('malformed messages are stored and listed, and do not stop the import', { timeout: 240_000 }, async () => {
      await server.data('POST /api/accounts:create', { as: 'bob', body: { address: 'bob@example.com' } });
      const files = readdirSync(join(folder, 'fixtures'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.eml'))
        .sort();
      expect(files.length).toBeGreaterThan(50);
      const identities = new Set<string>();
      for (const name of files) {
        const raw = readFileSync(join(folder, 'fixtures', name));
        identities.add(computeMailIdentity(raw));
        const report = await upload(server, 'bob', 'bob@example.com', one(raw));
        expect(report.failed, name).toBe(0);
      }
      const { body } = await server.call('GET /api/emails?count=exact&pageSize=1000', { as: 'bob' });
      expect(body.meta.count).toBe(identities.size);
      for (const { id } of body.data) await server.data(`GET /api/emails/${id}`, { as: 'bob' });
    });
  });
});
