/** Backups at the times of `BACKUP_SCHEDULE`: once for all servers, with retention, and with failures that can be seen. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertBackup } from '../../src/database/backup-rows.ts';
import { describeEngines, shareStore, sqlite } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

const hour = 3_600_000;

describeEngines('the schedule of backups', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'tablinum-schedule-'));
  const folder = join(root, 'backups');
  const clock = { time: Date.parse('2026-11-28T02:00:00Z'), now: (): number => clock.time };
  const servers: TestServer[] = [];
  const env = { BACKUP_DIR: folder, BACKUP_SCHEDULE: '0 3 * * *', BACKUP_KEEP: '2' };

  const tick = async (passed = 0): Promise<void> => {
    clock.time += passed;
    if (passed > hour) await servers[0]!.signInAsAdmin();
    await Promise.all(
      servers.map(async ({ running }) => {
        const { schedule } = await running.applications.backups();
        await schedule.tick();
      }),
    );
    for (const { running } of servers) await (await running.applications.backups()).backups.waitForEnd();
  };
  const list = (): Promise<Json[]> => servers[0]!.data('GET /api/backups:list');
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${servers[0]!.running.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)![1]);
  };

  beforeAll(async () => {
    servers.push(await TestServer.start(engine, { env, clock }));
    if (engine.name === 'postgres')
      servers.push(await TestServer.start(shareStore(engine, servers[0]!.store), { env, clock }));
  });
  afterAll(async () => {
    for (const server of servers.reverse()) await server.stop();
    rmSync(root, { recursive: true });
  });

  test('a missed backup is made up for, and all servers together make one backup at each later time', async () => {
    await tick();
    await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(['done']);
    await tick();
    expect(await list()).toHaveLength(1);
    const { meta } = (await servers[0]!.call('GET /api/backups:list')).body;
    expect(meta).toMatchObject({ schedule: '0 3 * * *', nextAt: '2026-11-28T03:00:00.000Z', keep: 2 });
    await tick(hour + 1000);
    await tick();
    await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(['done', 'done']);
    const [last] = await list();
    expect(last).toMatchObject({ reason: 'schedule', application: null, isAvailable: true });
    expect(await metric('tablinum_backup_last_success_timestamp_seconds')).toBe(Date.parse(last.finishedAt) / 1000);
    expect(await metric('tablinum_backup_last_bytes')).toBe(last.bytes);
  });

  test('old backups of the schedule are removed, and other backups are not', async () => {
    expect((await servers[0]!.call('POST /api/backups:create')).status).toBe(202);
    const { backups } = await servers[0]!.running.applications.backups();
    await backups.waitForEnd();
    // A backup of another server that uses the same folder.
    const foreign = 'b20200101-030000-0123abcd';
    const [own] = (await list()).filter(({ reason }) => reason === 'schedule');
    cpSync(join(folder, own.id), join(folder, foreign), { recursive: true });
    for (let day = 0; day < 2; day += 1) {
      await tick(24 * hour);
    }
    const reasons = async (): Promise<string[]> => (await list()).map(({ reason }) => reason).sort();
    await expect.poll(reasons).toEqual(['request', 'schedule', 'schedule', 'schedule']);
    expect(readdirSync(folder)).toHaveLength(4);
    expect(readdirSync(folder)).toContain(foreign);
    await servers[0]!.data(`POST /api/backups:destroy?filterByTk=${foreign}`);
  });

  test('if a server dies during a backup, any other server marks the backup as failed', async () => {
    const [entry] = await list();
    const id = 'b20261128-000000-00000000';
    const job = JSON.stringify({ entry: { ...entry, id, status: 'running', startedAt: '2026-11-28T00:00:00.000Z' } });
    await insertBackup(servers[0]!.running.applications.main.database, { id, status: 'running', slot: null, job });
    mkdirSync(join(folder, `${id}.part`));
    await (await servers.at(-1)!.running.applications.backups()).backups.settle();
    expect(await servers[0]!.data(`GET /api/backups:get?filterByTk=${id}`)).toMatchObject({
      status: 'failed',
      problem: 'The server stopped before the work was finished.',
    });
    expect(readdirSync(folder)).not.toContain(`${id}.part`);
    await servers[0]!.data(`POST /api/backups:destroy?filterByTk=${id}`);
  });

  test('a failure is listed, counted and reported, until a backup is complete', async () => {
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'not a folder');
    await tick(24 * hour);
    const failed = (await list()).find(({ status }) => status === 'failed');
    expect(failed).toMatchObject({ reason: 'schedule', problem: expect.stringContaining('BACKUP_DIR') });
    // Backups whose files were removed by others stay in the list, marked as unavailable.
    expect((await list()).filter(({ isAvailable }) => isAvailable)).toEqual([]);
    expect((await metric('tablinum_backups_total\\{outcome="failed"\\}')) > 0).toBe(true);
    const problems = servers.flatMap(({ running }) => running.health.problems);
    expect(problems.map(({ source }) => source)).toContain('backups');
    rmSync(folder);
    await tick(24 * hour);
    await expect.poll(async () => (await list())[0]!.status).toBe('done');
    for (const { id, isAvailable } of await list())
      if (!isAvailable) await servers[0]!.data(`POST /api/backups:destroy?filterByTk=${id}`);
    expect((await list()).every(({ isAvailable }) => isAvailable)).toBe(true);
  });
});

test('a schedule that is no cron expression stops the start', async () => {
  for (const [schedule, message] of [
    ['daily', /BACKUP_SCHEDULE must be a cron expression/],
    ['0 25 * * *', /BACKUP_SCHEDULE is not a cron expression/],
    ['0 0 30 2 *', /BACKUP_SCHEDULE is not a cron expression: It names a date that does not exist/],
  ] as const)
    await expect(TestServer.start(sqlite, { env: { BACKUP_SCHEDULE: schedule } })).rejects.toThrow(message);
});
