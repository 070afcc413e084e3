import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listAuditEntries, runOnJournalStore, verifyJournal } from '../support/audit-entries.ts';
import { describeEngines, type Engine, type Store, shareStore } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { measureProcessorTime } from '../support/timing.ts';

const role = (server: TestServer, name: string): Promise<unknown> =>
  server.data('POST /api/roles:create', { body: { name } });

/**
 * Changes that somebody with write access to only the journal's store could make; `broken` is the first entry that
 * verification rejects.
 */
const tampering: readonly { readonly name: string; readonly statements: readonly string[]; readonly broken: number }[] =
  [
    { name: 'a changed text', statements: ["UPDATE _audit SET target='tampered' WHERE id=3"], broken: 3 },
    { name: 'a changed count', statements: ['UPDATE _audit SET count=2 WHERE id=3'], broken: 3 },
    {
      name: 'a time changed by a millisecond',
      statements: ["UPDATE _audit SET at='2020-01-01T00:00:00.001Z' WHERE id=2"],
      broken: 2,
    },
    { name: 'a removed entry', statements: ['DELETE FROM _audit WHERE id=3'], broken: 4 },
    { name: 'a removed first entry', statements: ['DELETE FROM _audit WHERE id=1'], broken: 2 },
    { name: 'a removed newest entry', statements: ['DELETE FROM _audit WHERE id=6'], broken: 6 },
    {
      name: 'a removed newest entry with an adjusted end of the chain',
      statements: [
        'DELETE FROM _audit WHERE id=6',
        "UPDATE _audit_chains SET place=5,last_id=5,hash=(SELECT hash FROM _audit WHERE id=5) WHERE chain='acts'",
      ],
      broken: 5,
    },
    {
      name: 'removed first entries with an adjusted beginning of the chain',
      statements: [
        "UPDATE _audit_chains SET anchor_place=2,anchor_hash=(SELECT hash FROM _audit WHERE id=2) WHERE chain='acts'",
        'DELETE FROM _audit WHERE id<=2',
      ],
      broken: 6,
    },
    {
      name: 'two swapped',
      statements: [
        'UPDATE _audit SET place=100 WHERE id=3',
        'UPDATE _audit SET place=3 WHERE id=4',
        'UPDATE _audit SET place=4 WHERE id=3',
      ],
      broken: 4,
    },
    {
      name: 'two contents swapped',
      statements: ["UPDATE _audit SET target=(CASE id WHEN 3 THEN 'r2' ELSE 'r1' END) WHERE id IN (3,4)"],
      broken: 3,
    },
    {
      name: 'an entry put in at the end',
      statements: [
        "INSERT INTO _audit (id,chain,place,at,outcome,count,hash) VALUES (7,'acts',7,'2026-01-01T00:00:00.000Z','done',1,'abc')",
      ],
      broken: 7,
    },
    { name: 'all of a chain taken away', statements: ['DELETE FROM _audit'], broken: 6 },
  ];

describeEngines('the hash chain of the audit journal', (engine) => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start(engine);
    for (const name of ['r0', 'r1', 'r2', 'r3', 'r4']) await role(server, name);
  });
  afterEach(() => server.stop());

  test('is valid for all entries', async () => {
    const entries = await listAuditEntries(server);
    expect(entries.map(({ target }) => target)).toEqual([null, 'r0', 'r1', 'r2', 'r3', 'r4']);
    expect(await verifyJournal(server)).toEqual({
      entries: 6,
      from: entries[0]!.at,
      to: entries[5]!.at,
      valid: true,
      firstBroken: null,
    });
  });

  describe('detects tampering:', () => {
    for (const { name, statements, broken } of tampering)
      test(name, async () => {
        for (const each of statements) await runOnJournalStore(server, each);
        expect(await verifyJournal(server)).toMatchObject({ valid: false, firstBroken: broken });
        // Entries that are written afterwards do not repair the chain, but they are still written.
        await role(server, 'afterwards');
        expect(await verifyJournal(server)).toMatchObject({ valid: false });
        expect((await listAuditEntries(server)).at(-1)).toMatchObject({ target: 'afterwards' });
      });
  });

  test('is valid after a restart, and after a change of APP_KEY that names the former one', async () => {
    await server.call('GET /api/roles:list', { as: 'nobody' });
    await server.running.stop();
    await server.boot();
    expect(await verifyJournal(server)).toMatchObject({ valid: true, entries: 8 });
    await server.running.stop();
    const key = { APP_KEY: 'another key for tests, long enough too' };
    const former = { APP_KEY_PREVIOUS: 'a key for tests only, long enough to be quiet' };
    await server.boot({ ...key, ...former });
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
    await server.running.applications.main.journal.openFlushedStore();
    await server.running.stop();
    await server.boot(key);
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
    await server.running.stop();
    await server.boot({ APP_KEY: 'a key that has nothing to do with the others' });
    expect(await verifyJournal(server)).toMatchObject({ valid: false });
  });

  if (engine.name === 'sqlite')
    test('detects that the whole file was removed', async () => {
      await listAuditEntries(server);
      await server.running.stop();
      const path = join(server.store.dataDir, 'applications', '1.audit.db');
      for (const each of [path, `${path}-wal`, `${path}-shm`]) rmSync(each, { force: true });
      await server.boot();
      expect(await verifyJournal(server)).toMatchObject({ valid: false });
    });
});

/** Does nothing if the file does not exist: the write-ahead log is absent once it has been merged into the database. */
function move(from: string, to: string): void {
  if (existsSync(from)) renameSync(from, to);
}

const days = 86_400_000;

describeEngines('retention of the audit journal', (engine) => {
  let server: TestServer;
  let now = Date.parse('2026-11-20T12:00:00.000Z');
  beforeAll(async () => {
    const env = { AUDIT_DAYS: '3', AUDIT_ENTRIES: '100' };
    server = await TestServer.start(engine, { clock: { now: () => now }, env });
  });
  afterAll(() => server.stop());

  /** Lets an hour pass, so that the next flush applies the retention limits. */
  const anHourLater = async (): Promise<void> => {
    now += 3_700_000;
    await server.running.applications.main.journal.openFlushedStore();
    await server.running.applications.main.journal.openFlushedStore();
  };

  test('a limit on the number of entries removes the oldest ones, the chain stays valid, and the removal is an entry', async () => {
    for (let batch = 0; batch < 4; batch += 1)
      await server.data('POST /api/roles:create', {
        body: Array.from({ length: 60 }, (_, index) => ({ name: `b${batch}n${index}` })),
      });
    await anHourLater();
    const entries = await listAuditEntries(server);
    expect(entries.length).toBe(101);
    expect(entries.at(-2)).toMatchObject({ target: 'b3n59' });
    expect(entries.at(-1)).toMatchObject({ action: 'audit:prune', target: 'acts', count: 141, actor: null });
    expect(await verifyJournal(server)).toMatchObject({ valid: true, entries: 101 });
  });

  test('a flood of refused requests does not remove administrative actions', async () => {
    const { journal } = server.running.applications.main;
    for (let n = 0; n < 150; n += 1)
      journal.recordRefusal({
        at: new Date(now).toISOString(),
        actor: null,
        credential: null,
        role: 'public',
        action: null,
        target: null,
        code: 'TOKEN_MISSING',
        address: `10.0.0.${n}`,
        network: `10.0.0.${n}`,
        requestId: null,
      });
    await anHourLater();
    const entries = await listAuditEntries(server);
    expect(entries.filter(({ outcome }) => outcome === 'refused')).toHaveLength(25);
    expect(entries.filter(({ action }) => action === 'roles:create').length).toBeGreaterThan(95);
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
  });

  test('a limit on the age of entries removes the old ones', async () => {
    now += 4 * days;
    await role(server, 'young');
    await anHourLater();
    const entries = await listAuditEntries(server);
    expect(entries.map(({ target, action }) => `${action} ${target}`)).toEqual([
      'roles:create young',
      'audit:prune acts',
      'audit:prune refusals',
    ]);
    expect(await verifyJournal(server)).toMatchObject({ valid: true, entries: 3 });
  });

  test('a pruned chain still detects tampering', async () => {
    const [first] = await listAuditEntries(server);
    await runOnJournalStore(server, `DELETE FROM _audit WHERE id=${first!.id}`);
    expect(await verifyJournal(server)).toMatchObject({ valid: false });
  });
});

describeEngines('a flood of refused requests', (engine) => {
  // Both engines have the same limit, and a test with one of them is enough to show that the count stays far below it.
  const requests = engine.name === 'sqlite' ? 10_000 : 2000;
  test('thousands of refusals write few entries that count them all, and delay no other request', async () => {
    const server = await TestServer.start(engine, { env: { TRUSTED_PROXIES: '127.0.0.1' } });
    const before = (await listAuditEntries(server)).length;
    const begun = performance.now();
    let sent = 0;
    const attacker = async (): Promise<void> => {
      while (sent < requests) {
        sent += 1;
        const forwarded = `10.${sent % 3}.${(sent >> 4) % 200}.${sent % 251}`;
        const { status } = await server.call(`GET /api/r${sent}:list`, {
          as: 'nobody',
          headers: { 'x-forwarded-for': forwarded },
        });
        expect(status).toBe(401);
      }
    };
    await Promise.all(Array.from({ length: 16 }, attacker));
    const refused = (await listAuditEntries(server)).slice(before);
    expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(sent);
    // Each flush during the flood writes at most 200 separate entries and one for the rest. There is a flush every 30
    // seconds, and a last one.
    const flushes = 2 + Math.ceil((performance.now() - begun) / 30_000);
    expect(refused.length).toBeLessThanOrEqual(flushes * 201);
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
    const { journal } = server.running.applications.main;
    const noted = await measureProcessorTime(() => {
      for (let n = 0; n < 100_000; n += 1)
        journal.recordRefusal({
          at: '2026-11-20T12:00:00.000Z',
          actor: null,
          credential: null,
          role: 'public',
          action: null,
          target: null,
          code: 'TOKEN_MISSING',
          address: null,
          network: `n${n}`,
          requestId: null,
        });
    });
    // A call takes a microsecond or two; this limit only detects a much slower implementation.
    expect(noted).toBeLessThan(5000);
    await server.stop();
  }, 240_000);
});

describeEngines('administrative acts and kill -9', (engine) => {
  test('every administrative action is in the journal exactly once, and nothing else is', async () => {
    const store = await engine.store(true);
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round += 1) await killed(store, round, acknowledged);
    const kept: Engine = { name: engine.name, store: async () => store };
    const server = await TestServer.start(kept);
    const targets = (await listAuditEntries(server))
      .filter(({ action }) => action === 'roles:create')
      .map(({ target }) => target!);
    const there = ((await server.data('GET /api/roles:list')) as { name: string }[]).map(({ name }) => name);
    const made = there.filter((name) => name.startsWith('k'));
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(targets.toSorted()).toEqual(made.toSorted());
    expect(acknowledged.filter((name) => !targets.includes(name))).toEqual([]);
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
    await server.stop();
  }, 60_000);
});

/** Creates roles from several clients until the server is killed. */
async function killed(store: Store, round: number, acknowledged: string[]): Promise<void> {
  const server = await ServerProcess.start(store);
  const maker = async (client: number): Promise<void> => {
    for (let n = 0; ; n += 1) {
      const name = `k${round}c${client}n${n}`;
      const reply = await server.call('roles:create', { name });
      if (!reply) return;
      if (reply.ok) acknowledged.push(name);
    }
  };
  const makers = [0, 1, 2].map(maker);
  const wanted = acknowledged.length + 10;
  while (acknowledged.length < wanted) await new Promise((resolve) => setTimeout(resolve, 7 + round * 10));
  await Promise.all([server.kill(), ...makers]);
}

describeEngines('a failing journal', (engine) => {
  test('an action that was queued before a crash is stored once', async () => {
    const server = await TestServer.start(engine);
    const { database, journal } = server.running.applications.main;
    const insert = async (uid: string): Promise<void> => {
      const act = { uid, at: '2026-11-20T12:00:00.000Z', actor: 'user:1', credential: null, role: 'admin' };
      const rest = { action: 'roles:create', resource: 'roles', targets: ['again'], destroyed: false };
      const text = JSON.stringify({ ...act, ...rest, address: null, requestId: null });
      await database.write((transaction) =>
        transaction.run({ text: `INSERT INTO _acts (act) VALUES ('${text}')`, values: [] }),
      );
      await journal.openFlushedStore();
    };
    const times = async (): Promise<number> =>
      (await listAuditEntries(server)).filter(({ target }) => target === 'again').length;
    await insert('one');
    await insert('one');
    expect(await times()).toBe(1);
    await insert('another');
    expect(await times()).toBe(2);
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
    await server.stop();
  });

  if (engine.name === 'postgres') return;

  test('a journal that cannot be written does not prevent actions, and each is queued until the journal can be written again', async () => {
    const server = await TestServer.start(engine);
    await server.running.stop();
    const path = join(server.store.dataDir, 'applications', '1.audit.db');
    for (const each of [path, `${path}-wal`, `${path}-shm`]) move(each, `${each}.away`);
    mkdirSync(path);
    await server.boot();
    await role(server, 'meanwhile');
    const refused = await server.call('GET /api/audit:list');
    expect([refused.status, refused.body.code]).toEqual([500, 'APPLICATION_FAILED']);
    await server.call('GET /api/roles:list', { as: 'nobody' });
    rmSync(path, { recursive: true });
    for (const each of [path, `${path}-wal`, `${path}-shm`]) move(`${each}.away`, each);
    const entries = await listAuditEntries(server);
    expect(entries.filter(({ target }) => target === 'meanwhile')).toHaveLength(1);
    expect(entries.filter(({ action, code }) => action === 'roles:list' && code === 'TOKEN_MISSING')).toHaveLength(1);
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
    await server.stop();
  });
});

describeEngines('several servers with one journal', (engine) => {
  if (engine.name === 'sqlite') {
    test('one process serves a SQLite file', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  test('write one chain and add up the use of API keys', async () => {
    const store = await engine.store(true);
    const shared = shareStore(engine, store);
    const nodes = await Promise.all([TestServer.start(shared), TestServer.start(shared)]);
    const [first, second] = nodes as [TestServer, TestServer];
    const key = await first.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } });
    const made: string[] = [];
    const client = async (node: TestServer, id: number): Promise<void> => {
      for (let n = 0; n < 12; n += 1) {
        const name = `c${id}n${n}`;
        if ((await node.call('POST /api/roles:create', { body: { name } })).status === 200) made.push(name);
        await node.call('GET /api/auth:check', { as: key.token });
        await node.call('GET /api/users:list', { as: key.token });
        if (n % 3 === 0) await node.running.applications.main.journal.openFlushedStore();
      }
    };
    await Promise.all([client(first, 0), client(second, 1), client(first, 2), client(second, 3)]);
    for (const node of nodes) await node.running.applications.main.journal.openFlushedStore();
    const entries = await listAuditEntries(first);
    const targets = entries.filter(({ action }) => action === 'roles:create').map(({ target }) => target!);
    expect(made.length).toBeGreaterThan(24);
    expect(targets.toSorted()).toEqual(made.toSorted());
    const refused = entries.filter(({ action }) => action === 'users:list');
    expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(48);
    expect(await verifyJournal(second)).toMatchObject({ valid: true, entries: entries.length });
    expect(await second.data(`GET /api/apiKeys:stats?filterByTk=${key.id}`)).toMatchObject({
      requests: 96,
      failedAttempts: 48,
      endpoints: [{ endpoint: 'auth:check', requests: 48 }],
    });
    await Promise.all(nodes.map((node) => node.stop()));
    await store.remove();
  }, 60_000);
});
