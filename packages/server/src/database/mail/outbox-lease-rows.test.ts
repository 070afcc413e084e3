import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isoTime, systemClock } from '../../base/clock.ts';
import { bindFixed } from '../database.ts';
import { createReader } from '../run-statement.ts';
import { sql, value } from '../sql.ts';
import { SqliteDatabase } from '../sqlite/sqlite-database.ts';
import { OutboxLeases } from './outbox-lease-rows.ts';

test('the leases of an earlier process are ended; without such leases, nothing is written or synced', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-leases-'));
  let syncs = 0;
  const database = new SqliteDatabase({
    path: join(folder, 'store.db'),
    readerThreads: 1,
    report: { writes: () => {}, log: () => {} },
    syncFile: async () => {
      syncs += 1;
    },
  });
  onTestFinished(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });
  const run = (statement: ReturnType<typeof sql>): Promise<unknown> =>
    database.writeOne(bindFixed(database.dialect, statement), []);
  await run(sql`CREATE TABLE "mailOutbox" (status TEXT, "leasedUntil" TEXT)`);
  await run(sql`INSERT INTO "mailOutbox" VALUES ('queued',NULL)`);
  const leases = new OutboxLeases(database);
  const now = isoTime(systemClock.now());
  const before = syncs;
  await leases.endAll(now);
  expect(syncs).toBe(before);
  await run(sql`INSERT INTO "mailOutbox" VALUES ('sending',${value('datetime', '2999-01-01T00:00:00.000Z')})`);
  await leases.endAll(now);
  const read = createReader(database);
  expect(await read(sql`SELECT "leasedUntil" FROM "mailOutbox" ORDER BY status`)).toEqual([[null], [now]]);
});
