import { describe, expect, test } from 'vitest';
import { loadExtensions } from '../../src/extensions/load-extensions.ts';
import { makeExtensionsFolder } from '../support/orders-extension.ts';

describe('an extension that stops the start', () => {
  const bad: readonly [string, string, string][] = [
    ['no extension', 'export default 5', 'defineExtension'],
    ['no default export', 'export const a = 1', 'defineExtension'],
    ['a syntax error', 'export default {', 'cannot be loaded'],
    ['an error at load', 'throw new Error("boom")', 'boom'],
    ['no name', 'export default {}', 'name'],
    ['an unknown member', 'export default { name: "a", hooks: [] }', 'hooks'],
    [
      'a hook without a collection',
      'export default { name: "a", before: [{ actions: ["create"], run() {} }] }',
      'collection',
    ],
    [
      'a hook of no action',
      'export default { name: "a", before: [{ collection: "x", actions: ["list"], run() {} }] }',
      'create',
    ],
    ['a hook without a function', 'export default { name: "a", after: [{ events: ["*"] }] }', 'run'],
    ['an invalid event', 'export default { name: "a", after: [{ events: ["x"], run() {} }] }', 'orders.created'],
    [
      'a generated action',
      'export default { name: "a", actions: [{ action: "x:list", summary: "", reads: true, permission: "public", run() {} }] }',
      'generated',
    ],
    [
      'an action without a permission',
      'export default { name: "a", actions: [{ action: "x:y", summary: "", reads: true, run() {} }] }',
      'permission',
    ],
    [
      'an existing type',
      'export default { name: "a", fieldTypes: [{ name: "string", maxLength: 5, isValid: () => true, message: "" }] }',
      'already',
    ],
  ];

  test.each(bad)('%s', async (_name, text, words) => {
    const path = makeExtensionsFolder({ 'bad.ts': text });
    await expect(loadExtensions(path)).rejects.toThrow(/^EXTENSIONS_DIR: bad\.ts: /);
    await expect(loadExtensions(path)).rejects.toThrow(words);
  });

  test('a duplicate name and a missing folder stop the start', async () => {
    const twins = makeExtensionsFolder({
      'a.ts': 'export default { name: "a" }',
      'b.ts': 'export default { name: "a" }',
    });
    await expect(loadExtensions(twins)).rejects.toThrow('b.ts: another extension');
    await expect(loadExtensions('/nowhere/at/all')).rejects.toThrow('cannot be read');
  });
});
