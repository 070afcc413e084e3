/** Searches without an index find exactly what `foldText` defines, also if SQL folds texts in a cheaper way. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { foldText } from '../../src/database/text-fold.ts';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const pieces = [
  ...['a', 'A', 'b', 'i', 'I', 'k', 'K', 'ab', 'Kim', '\u212a', '\u0130', 'ı', 'i\u0307', 'ς', 'Σ', 'ΟΔΟΣ'],
  ...['é', 'É', '\u0301', '\u212b', 'å', 'ß', 'ẞ', 'ſ', 's', '😀', '%', '_', '\\', '*', "'", '"', '0', '\n'],
];
const texts = (most: number, count: number): string[] =>
  fc.sample(
    fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: most }).map((each) => each.join('')),
    { numRuns: count, seed: 53 },
  );
const needles = Number(process.env['PROPERTY_RUNS'] ?? 150);

describeEngines('searches in texts', (engine) => {
  let server: TestServer;
  const haystacks = texts(8, 400);
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [{ name: 'text', type: 'text' }];
    await server.data('POST /api/collections:create', { body: { name: 'notes', fields } });
    await server.data('POST /api/notes:create', { body: [...haystacks.map((text) => ({ text })), { text: null }] });
  });
  afterAll(() => server.stop());

  test('with $includes and search find each text that contains the needle after folding, and no other', async () => {
    let found = 0;
    for (const needle of texts(3, needles)) {
      const expected = haystacks.flatMap((text, index) =>
        foldText(text).includes(foldText(needle)) ? [index + 1] : [],
      );
      const filter = encodeURIComponent(JSON.stringify({ text: { $includes: needle } }));
      const list = `GET /api/notes:list?pageSize=500&count=none&fields=id&sort=id`;
      const included = await server.data(`${list}&filter=${filter}`);
      expect(
        included.map(({ id }: { id: number }) => id),
        JSON.stringify(needle),
      ).toEqual(expected);
      if (needle !== needle.trim()) continue; // a search ignores spaces at its beginning and end
      const searched = await server.data(`${list}&search=${encodeURIComponent(needle)}`);
      expect(
        searched.map(({ id }: { id: number }) => id),
        JSON.stringify(needle),
      ).toEqual(expected);
      found += expected.length;
    }
    expect(found).toBeGreaterThan(needles);
  });
});
