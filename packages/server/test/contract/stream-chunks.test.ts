import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pageSeparator } from '../../src/database/dialect.ts';
import { anonymous } from '../../src/identity/authenticator.ts';
import { normaliseRequest } from '../../src/protocol/request-normaliser.ts';
import { requireGrant } from '../../src/records/read/read-records.ts';
import { streamRecords } from '../../src/records/read/stream-records.ts';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/** The number of records with 60,000 characters, of which ten make up a chunk, and of the short ones after them. */
const long = 12;
const short = 290;

describe('chunks of a stream', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(sqlite);
    const fields = [{ name: 'text', type: 'text' }];
    await server.data('POST /api/collections:create', { body: { name: 'items', fields } });
    const permission = { role: 'public', resource: 'items', actions: ['list'] };
    await server.data('POST /api/permissions:create', { body: permission });
    const texts = [...Array(long).fill('x'.repeat(60_000)), ...Array(short).fill('short')];
    await server.data('POST /api/items:create', { body: texts.map((text) => ({ text })) });
  });
  afterAll(() => server.stop());

  for (const sort of ['id', '-text,id'])
    test(`a chunk has fewer records if they are long: sort=${sort}`, async () => {
      const { main } = server.running.applications;
      const context = main.recordContext(anonymous, null);
      const collection = context.registry.get('items');
      const request = normaliseRequest('list', { sort }, false);
      const counts: number[] = [];
      const readGrant = (): ReturnType<typeof requireGrant> => requireGrant(context, collection, 'list');
      const options = { readGrant, firstChunk: 1 };
      for await (const chunk of streamRecords(async () => context, collection, request, options))
        counts.push(chunk.split(pageSeparator).length);
      expect(counts).toEqual([1, 10, 10, 100, 100, 81]);
    });
});
