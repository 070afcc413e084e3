import { expect, test } from 'vitest';
import { limitIdleTime } from './idle-limit.ts';

async function* send(pieces: readonly string[], waits: boolean): AsyncGenerator<string> {
  yield* pieces;
  if (waits) await new Promise(() => {});
}

async function collect(pieces: AsyncIterable<string>, into: string[]): Promise<void> {
  for await (const piece of pieces) into.push(piece);
}

test('pieces pass until none arrives any more', async () => {
  const passed: string[] = [];
  await collect(limitIdleTime(send(['a', 'b'], false), 60_000), passed);
  await expect(collect(limitIdleTime(send(['c'], true), 20), passed)).rejects.toMatchObject({ code: 'BODY_INVALID' });
  expect(passed).toEqual(['a', 'b', 'c']);
});

test('a consumer may stop early', async () => {
  for await (const piece of limitIdleTime(send(['a', 'b'], true), 60_000)) {
    expect(piece).toBe('a');
    break;
  }
});
