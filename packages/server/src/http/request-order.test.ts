import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RequestOrder } from './request-order.ts';

const socket = new EventEmitter() as never;
/** A reply that is sent at once. */
const response = { socket, once: () => response } as never;

test('safe requests of a connection run at the same time, a request that may write runs exclusively, and the order is kept', async () => {
  const order = new RequestOrder();
  const started: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'GET', 'OPTIONS', 'DELETE', 'GET'];
  const runs = methods.map((method, index) =>
    order
      .run({ socket, method }, response, () => {
        started.push(index);
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        ends[index] = (error) => (error ? reject(error) : resolve());
        return promise;
      })
      .catch((error: Error) => error.message),
  );
  const steps: [end: number, expected: number[]][] = [
    [1, [0, 1]],
    [0, [0, 1, 2]],
    [2, [0, 1, 2, 3]],
    [3, [0, 1, 2, 3, 4, 5]],
    [5, [0, 1, 2, 3, 4, 5]],
    [4, [0, 1, 2, 3, 4, 5, 6]],
    [6, [0, 1, 2, 3, 4, 5, 6, 7]],
  ];
  await setImmediate();
  expect(started).toEqual([0, 1]);
  for (const [end, expected] of steps) {
    ends[end]!(end === 3 ? new Error('refused') : undefined); // a refusal does not hold up the next one
    await setImmediate();
    expect(started, `after ${end}`).toEqual(expected);
  }
  ends[7]!();
  expect((await Promise.all(runs))[3]).toBe('refused');
});

test('other connections do not wait', async () => {
  const order = new RequestOrder();
  const { promise, resolve } = Promise.withResolvers<void>();
  const write = order.run({ socket, method: 'POST' }, response, () => promise);
  await order.run({ socket: {} as never, method: 'POST' }, response, async () => {});
  resolve();
  await write;
});

test('few requests run before earlier replies are sent; after the connection ends, only requests that write still run', async () => {
  const connection = new EventEmitter();
  const order = new RequestOrder();
  const replies: EventEmitter[] = [];
  let started = 0;
  const send = (method: string): void => {
    const reply = Object.assign(new EventEmitter(), { socket: replies.length === 0 ? connection : null });
    replies.push(reply);
    void order.run({ socket: connection as never, method }, reply as never, async () => {
      started += 1;
    });
  };
  for (let index = 0; index < 9; index += 1) send('GET');
  send('POST');
  await setImmediate();
  expect(started).toBe(5);
  replies[1]!.emit('close');
  replies[2]!.emit('close');
  replies[2]!.emit('close');
  await setImmediate();
  expect(started).toBe(7);
  connection.emit('close');
  await setImmediate();
  expect(started).toBe(8);
  expect(connection.listenerCount('close')).toBeLessThanOrEqual(4);
});
