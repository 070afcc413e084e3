import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Caller } from '../support/oracle/caller.ts';
import type { CollectionModel, Dataset, Row } from '../support/oracle/model.ts';
import { Visibility } from '../support/oracle/visibility.ts';
import { Draw } from '../support/random-data/draw.ts';
import { changeHiddenValues } from '../support/random-data/hidden-values.ts';
import { type InstallTarget, installDataset, installRole, installUser } from '../support/random-data/install.ts';
import { makeRandomDataset, type RandomDataset } from '../support/random-data/random-dataset.ts';
import { makeRandomList, makeRandomQuery, toRequestBody } from '../support/random-data/requests.ts';
import { now, zones } from '../support/random-data/values.ts';
import { limitToVisible } from '../support/random-data/visible-schema.ts';
import { TestServer } from '../support/scenario.ts';

const runs = Number(process.env['PROPERTY_RUNS'] ?? 12);
const seed = Number(process.env['RANDOM_SEED'] ?? 20261121);
const names = ['left', 'right'] as const;

describeEngines('hidden data', (engine) => {
  let server: TestServer;
  let user: Row;
  let count = 0;
  let compared = 0;
  const places: InstallTarget[] = [];

  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { LIMIT_COLLECTIONS: '100000' }, clock: { now: () => now } });
    for (const name of names) {
      await server.data('POST /api/applications:create', { body: { name, displayName: name } });
      const { token } = await server.data(`POST /api/applications:enter?filterByTk=${name}`);
      server.tokens.set(name, token);
      const place = { server, as: name, headers: { 'x-app': name } };
      places.push(place);
      user = await installUser(place);
    }
  });
  afterAll(() => server.stop());

  const callerOf = (role: string): Caller => ({ role, user, calendar: { now, zone: 'UTC' } });

  /**
   * Creates both applications with the same definitions and permissions. Their data only differs in values that the
   * role cannot see.
   */
  async function install(draw: Draw): Promise<RandomDataset | null> {
    const random = makeRandomDataset(draw, `h${count}`);
    const { schema, dataset: world, role, permissions } = random;
    const other = changeHiddenValues(draw, world, (each) => new Visibility(each, callerOf(role), permissions));
    if (other === null) return null;
    for (const [index, place] of places.entries()) {
      await installDataset(place, schema, index === 0 ? world : other);
      server.tokens.set(`${role} ${place.as}`, await installRole(place, role, permissions));
    }
    return random;
  }

  async function compare(path: string, body: object, role: string, zone: string): Promise<void> {
    const replies: unknown[] = [];
    for (const { as, headers } of places) {
      const sent = { ...headers, 'x-timezone': zone, 'x-request-id': 'same' };
      const reply = await server.call(`POST /api/${path}`, { as: `${role} ${as}`, body, headers: sent });
      replies.push({ status: reply.status, text: reply.text, etag: reply.headers.get('etag') });
    }
    expect(replies[1], `${path} ${JSON.stringify(body)}`).toEqual(replies[0]);
    compared += 1;
  }

  async function ask(draw: Draw, collection: CollectionModel, role: string, world: Dataset): Promise<void> {
    const zone = draw.pick(zones);
    const list = { ...toRequestBody(makeRandomList(draw, collection, world)), pageSize: 1 + draw.below(5) };
    const [row] = world.rows.get(collection.name) ?? [];
    await draw.pick([
      () => compare(`${collection.name}:list`, list, role, zone),
      () => compare(`${collection.name}:list`, list, role, zone),
      () => compare(`${collection.name}:query`, makeRandomQuery(draw, collection, world), role, zone),
      () => compare(`${collection.name}:get`, { filterByTk: row?.[collection.key] ?? 1 }, role, zone),
    ])();
  }

  test('does not change the status, body or ETag of any reply', { timeout: 3_600_000 }, async () => {
    const property = fc.asyncProperty(fc.gen(), async (value) => {
      count += 1;
      const draw = new Draw(value);
      const installed = await install(draw);
      if (installed === null) return;
      const { role, dataset: world, permissions } = installed;
      const seen = limitToVisible(world, new Visibility(world, callerOf(role), permissions));
      for (let request = 0; request < 20; request += 1) {
        const named = draw.chance(75) ? seen : world;
        await ask(draw, draw.pick([...named.collections.values()]), role, named);
      }
    });
    await fc.assert(property, { numRuns: runs, seed, endOnFailure: true });
    expect(compared).toBeGreaterThan(runs * 5);
  });
});
