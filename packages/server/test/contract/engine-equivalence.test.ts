import { expect, inject, test } from 'vitest';
import { postgres, sqlite } from '../support/engines.ts';
import { RandomRequests } from '../support/random-requests.ts';
import { programDefinitions, RecordPrograms } from '../support/record-programs.ts';
import { TestServer } from '../support/scenario.ts';

const programs = Number(process.env['RANDOM_PROGRAMS'] ?? 4);
const length = Number(process.env['RANDOM_REQUESTS'] ?? 250);
const seed = Number(process.env['RANDOM_SEED'] ?? 4711);
const skipped = inject('postgresSkipped');
const clock = { now: () => Date.parse('2026-11-21T08:00:00.000Z') };

/** The part of a reply that must be the same on both engines: everything except the request id and generated ids. */
function comparable(text: string): string {
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  return text.replace(uuid, '<uuid>').replace(/"requestId":"[^"]*"/, '');
}

test.skipIf(skipped !== null)(
  'the same random definitions and writes give the same replies and the same data on both engines',
  { timeout: 1_200_000 },
  async () => {
    for (let program = 0; program < programs; program += 1) {
      const servers = await Promise.all([sqlite, postgres].map((engine) => TestServer.start(engine, { clock })));
      const random = new RandomRequests(seed + program, { keyed: true });
      const story: string[] = [];
      for (let count = 0; count < length; count += 1) {
        const [request, body] = random.next();
        const [one, other] = await Promise.all(
          servers.map((server) => server.call(request, body === undefined ? {} : { body })),
        );
        story.push(`${request} ${JSON.stringify(body) ?? ''} -> ${one!.status}`);
        const told = `program ${seed + program}, request ${count}\n${story.slice(-3).join('\n')}`;
        expect([other!.status, comparable(other!.text)], told).toEqual([one!.status, comparable(one!.text)]);
      }
      const [one, other] = await Promise.all(servers.map((server) => server.readSnapshot()));
      expect(JSON.parse(comparable(other!))).toEqual(JSON.parse(comparable(one!)));
      await Promise.all(servers.map((server) => server.stop()));
    }
  },
);

const recordPrograms = Number(process.env['RECORD_PROGRAMS'] ?? 300);

test.skipIf(skipped !== null)(
  'random programs about records get the same replies and leave the same records on both engines',
  { timeout: 3_600_000 },
  async () => {
    const servers = await Promise.all([sqlite, postgres].map((engine) => TestServer.start(engine, { clock })));
    for (const server of servers) await server.data('POST /api/collections:apply', { body: programDefinitions });
    const random = new RecordPrograms(seed);
    const statuses = new Map<number, number>();
    for (let program = 0; program < recordPrograms; program += 1)
      for (const [request, body] of random.next()) {
        const [one, other] = await Promise.all(
          servers.map((server) => server.call(request, body === undefined ? {} : { body })),
        );
        statuses.set(one!.status, (statuses.get(one!.status) ?? 0) + 1);
        const told = `seed ${seed}, program ${program}\n${decodeURIComponent(request)} ${JSON.stringify(body) ?? ''}`;
        expect([other!.status, comparable(other!.text)], told).toEqual([one!.status, comparable(one!.text)]);
      }
    process.stdout.write(`replies of ${recordPrograms} programs by status: ${JSON.stringify([...statuses])}\n`);
    expect(statuses.get(500)).toBeUndefined();
    expect(statuses.get(200)).toBeGreaterThan([...statuses.values()].reduce((sum, each) => sum + each, 0) / 3);
    const lists = ['people:list?withDeleted=true&', 'teams:list?', 'skills:list?withDeleted=true&', 'desks:list?'];
    for (const list of lists) {
      const [one, other] = await Promise.all(
        servers.map((server) =>
          server.call(`GET /api/${list}paginate=false&appends=${list[0] === 'p' ? 'skills' : ''}`),
        ),
      );
      expect(comparable(other!.text)).toBe(comparable(one!.text));
    }
    await Promise.all(servers.map((server) => server.stop()));
  },
);
