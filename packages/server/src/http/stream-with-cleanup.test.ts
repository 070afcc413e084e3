import { Readable } from 'node:stream';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { streamWithCleanup } from './stream-with-cleanup.ts';

async function* pieces(): AsyncGenerator<string> {
  yield 'a';
  yield 'b';
}

async function* failing(): AsyncGenerator<string> {
  yield 'a';
  throw new Error('cut off');
}

async function readAll(stream: AsyncGenerator<string>, maxLength = Infinity): Promise<string> {
  let text = '';
  for await (const piece of stream) {
    text += piece;
    if (text.length >= maxLength) break;
  }
  return text;
}

test('the resources of a stream are released once, at its end', async () => {
  let times = 0;
  const stream = streamWithCleanup(pieces(), () => (times += 1));
  expect(times).toBe(0);
  expect(await readAll(stream)).toBe('ab');
  await stream.return(undefined);
  expect(times).toBe(1);
});

test('the resources of a stream are released if it fails', async () => {
  let times = 0;
  const stream = streamWithCleanup(failing(), () => (times += 1));
  await expect(readAll(stream)).rejects.toThrow('cut off');
  expect(times).toBe(1);
});

test('the resources of a stream are released if its reader stops early', async () => {
  let times = 0;
  const stream = streamWithCleanup(pieces(), () => (times += 1));
  expect(await readAll(stream, 1)).toBe('a');
  expect(times).toBe(1);
});

test('the resources of a stream are released if it is never read, because its client has disconnected', async () => {
  let times = 0;
  const readable = Readable.from(streamWithCleanup(pieces(), () => (times += 1)));
  readable.destroy();
  await afterOthers();
  await afterOthers();
  expect(times).toBe(1);
});
