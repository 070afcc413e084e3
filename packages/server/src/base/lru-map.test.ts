import { describe, expect, test } from 'vitest';
import { LruMap } from './lru-map.ts';

describe('an LRU map', () => {
  const many = { entries: 1_000_000, bytes: 1_000_000, keyLength: 100, sizeOf: (value: string) => value.length };

  test('keeps what is used, within its number of entries', () => {
    const map = new LruMap<string>({ ...many, entries: 10 });
    for (let index = 0; index < 1000; index += 1) {
      map.set(`key ${index}`, 'value');
      expect(map.get('key 0')).toBe('value');
    }
    expect(map.get('key 500')).toBeUndefined();
    expect(map.get('key 999')).toBe('value');
  });

  test('holds no more than its bytes, whatever is put in', () => {
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

  test('does not store long keys and large values, nor keep the former value in their place', () => {
    const map = new LruMap<string>(many);
    map.set('k'.repeat(101), 'value');
    expect(map.get('k'.repeat(101))).toBeUndefined();
    map.set('key', 'value');
    map.set('key', 'x'.repeat(600_000));
    expect(map.get('key')).toBeUndefined();
    expect(map.bytes).toBe(0);
  });
});
