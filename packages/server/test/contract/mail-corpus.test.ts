import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMailSource } from '../../src/mail/files/mail-source.ts';
import { writeMbox } from '../../src/mail/files/mbox-writer.ts';
import { describeEngines } from '../support/engines.ts';
import { openMailWorld, upload } from '../support/mail-world.ts';
import type { TestServer } from '../support/scenario.ts';

const folder = join(process.env['SHARED_DATA_DIR'] ?? join(import.meta.dirname, '../../../../../shared/data'), 'mail');
const there = existsSync(join(folder, 'easy-ham'));
if (!there) process.stdout.write(`skipped: real mail, since ${folder} is absent\n`);

if (!there) test.skip('real mail', () => {});
else
  describeEngines('real mail', (engine) => {
    let server: TestServer;
    beforeAll(async () => {
      server = await openMailWorld(engine);
    });
    afterAll(() => server.stop());

    test('two thousand five hundred messages are stored, and found', { timeout: 240_000 }, async () => {
      const begun = performance.now();
      const mbox = writeMbox(readMailSource(join(folder, 'easy-ham')));
      const report = await upload(server, 'ann', 1, mbox, 'application/mbox');
      const seconds = (performance.now() - begun) / 1000;
      const memory = Math.round(process.memoryUsage().rss / 2 ** 20);
      const { database } = server.running.applications.main;
      const count = async (text: string): Promise<number> =>
        Number((await database.read([{ text: `SELECT count(*) FROM ${text}`, values: [] }]))[0]![0]![0]);
      const groups = await count('conversations WHERE messages>0');
      process.stdout.write(
        `${engine.name}: ${JSON.stringify(report)} in ${seconds.toFixed(1)} s, ${(report.stored / seconds).toFixed(0)}/s, ${memory} MB, ${groups} conversations\n`,
      );
      expect(report.failed).toBe(0);
      expect(report.stored + report.duplicates + report.unparsable).toBe(2500);
    });
  });
