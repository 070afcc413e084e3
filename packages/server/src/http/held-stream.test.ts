import { Readable } from 'node:stream';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { heldStream } from './held-stream.ts';

async function* pieces(): AsyncGenerator<string> {
  yield 'a';
  yield 'b';
}

async function* failing(): AsyncGenerator<string> {
  yield 'a';
  throw new Error('cut off');
}

async function read(stream: AsyncGenerator<string>, most = Infinity): Promise<string> {
  let text = '';
  for await (const piece of stream) {
    text += piece;
    if (text.length >= most) break;
  }
  return text;
}

test('what a stream holds is let go once, at its end', async () => {
  let times = 0;
  const stream = heldStream(pieces(), () => (times += 1));
  expect(times).toBe(0);
  expect(await read(stream)).toBe('ab');
  await stream.return(undefined);
  expect(times).toBe(1);
});

test('also when it fails', async () => {
  let times = 0;
  const stream = heldStream(failing(), () => (times += 1));
  await expect(read(stream)).rejects.toThrow('cut off');
  expect(times).toBe(1);
});

test('also when its reader stops in the middle', async () => {
  let times = 0;
  const stream = heldStream(pieces(), () => (times += 1));
  expect(await read(stream, 1)).toBe('a');
  expect(times).toBe(1);
});

test('also when nobody ever takes a piece: a reply whose client has gone', async () => {
  let times = 0;
  const readable = Readable.from(heldStream(pieces(), () => (times += 1)));
  readable.destroy();
  await afterOthers();
  await afterOthers();
  expect(times).toBe(1);
});
