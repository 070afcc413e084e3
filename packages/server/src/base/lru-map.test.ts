import { describe, expect, test } from 'vitest';
import { LruMap } from './lru-map.ts';

describe('an LRU map', () => {
  const many = { entries: 1_000_000, bytes: 1_000_000, keyLength: 100, sizeOf: (value: string) => value.length };

  test('keeps the most recently used entries, up to the maximum number', () => {
    const map = new LruMap<string>({ ...many, entries: 10 });
    for (let index = 0; index < 1000; index += 1) {
      map.set(`key ${index}`, 'value');
      expect(map.get('key 0')).toBe('value');
    }
    expect(map.get('key 500')).toBeUndefined();
    expect(map.get('key 999')).toBe('value');
  });

  test('never exceeds its maximum number of bytes', () => {
    const map = new LruMap<string>(many);
    for (let index = 0; index < 5000; index += 1) {
      map.set(`key ${index % 700}`, 'x'.repeat((index * 7919) % 20_000));
      if (index % 3 === 0) map.get(`key ${(index * 31) % 700}`);
      if (index % 5 === 0) map.delete(`key ${(index * 17) % 700}`);
      expect(map.bytes).toBeLessThanOrEqual(many.bytes + 25_000);
      expect(map.bytes).toBeGreaterThanOrEqual(0);
    }
    for (let index = 0; index < 700; index += 1) map.delete(`key ${index}`);
    expect(map.bytes).toBe(0);
  });

  test('does not store long keys or large values, and does not keep the previous value of such a key', () => {
    const map = new LruMap<string>(many);
    map.set('k'.repeat(101), 'value');
    expect(map.get('k'.repeat(101))).toBeUndefined();
    map.set('key', 'value');
    map.set('key', 'x'.repeat(600_000));
    expect(map.get('key')).toBeUndefined();
    expect(map.bytes).toBe(0);
  });

  test('reports each evicted value exactly once', () => {
    const stored = new Set<string>();
    const dropped = (value: string): void => {
      expect(stored.delete(value)).toBe(true);
    };
    const map = new LruMap<string>({ ...many, entries: 10, onEvict: dropped });
    const put = (key: string, value: string): void => {
      stored.add(value);
      map.set(key, value);
      for (const each of stored) expect(map.get(each.split(':')[0] ?? '')).toBe(each);
    };
    // An entry that is read is in both generations, and the checks of `put` read all entries.
    for (let index = 0; index < 4; index += 1) put(`key ${index}`, `key ${index}:first`);
    for (let index = 0; index < 4; index += 1) put(`key ${index}`, `key ${index}:second`);
    expect([...stored].every((each) => each.endsWith(':second'))).toBe(true);
    map.delete('key 0');
    expect([...stored]).not.toContain('key 0:second');
    for (let index = 0; index < 100; index += 1) {
      stored.add(`many ${index}`);
      map.set(`many ${index}`, `many ${index}`);
    }
    expect(stored.size).toBeLessThanOrEqual(10);
    for (const each of stored) expect(map.get(each)).toBe(each);
    stored.add('not stored');
    map.set('k'.repeat(101), 'not stored');
    map.clear();
    expect(stored.size).toBe(0);
  });
});
