import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorCatalogue } from '../src/protocol/error-catalogue.ts';

test('docs/errors.md lists exactly the errors of the code', () => {
  const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| \d+ \| (.+) \|$/gm)].map(([, code, label, when]) => [
    code,
    label,
    when,
  ]);
  expect(rows).toEqual(Object.entries(errorCatalogue).map(([code, { label, when }]) => [code, label, when]));
});
