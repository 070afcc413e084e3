/**
 * Properties of schema documents on both engines: applying a document gives exactly this document, whatever was defined
 * before.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { randomDocument } from '../support/random-schema-document.ts';
import { TestServer } from '../support/scenario.ts';

const runs = Number(process.env['SCHEMA_RUNS'] ?? 5);

describeEngines('random schema documents', (engine) => {
  let server: TestServer;
  let empty: Json;
  const pull = async (): Promise<Json> => (await server.data('POST /api/schema:pull', { body: {} })).schema;
  const apply = (schema: Json): Promise<Json> =>
    server.data('POST /api/schema:apply', { body: { schema, allowDestructive: true } });

  beforeAll(async () => {
    server = await TestServer.start(engine, {
      env: { WEBHOOKS: 'off', ...(process.env['SCHEMA_RUNS'] && { LOG_LEVEL: 'error' }) },
    });
    empty = await pull();
  });
  afterAll(() => server.stop());

  test(
    'applying B to A is B, applying B again changes nothing, and a rollback is A',
    async () => {
      await fc.assert(
        fc.asyncProperty(randomDocument(empty), randomDocument(empty), async (first, second) => {
          await apply(empty);
          await apply(first);
          const before = await pull();
          await apply(empty);
          await apply(second);
          const wanted = await pull();
          await apply(before);
          expect(await pull()).toEqual(before);
          await apply(wanted);
          expect(await pull()).toEqual(wanted);
          expect((await apply(wanted)).revision).toBeNull();
          if (JSON.stringify(before) === JSON.stringify(wanted)) return;
          await server.data('POST /api/schema:rollback', { body: { allowDestructive: true } });
          expect(await pull()).toEqual(before);
        }),
        {
          // SCHEMA_SEED sets another seed; SCHEMA_RUNS the number of runs.
          numRuns: runs,
          seed: Number(process.env['SCHEMA_SEED'] ?? 20261128),
          endOnFailure: true,
        },
      );
    },
    60_000 + runs * 10_000,
  );
});
