import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

test('a name has its own places, and all together no more than there are', () => {
  const lanes = new Lanes(2, 3);
  expect([lanes.take('a', 5), lanes.take('a', 1), lanes.take('b', 2), lanes.take('c', 1)]).toEqual([2, 0, 1, 0]);
  lanes.release('a');
  expect([lanes.take('c', 2), lanes.take('a', 1)]).toEqual([1, 0]);
  lanes.release('a');
  lanes.release('b');
  lanes.release('c');
  expect([lanes.take('a', 9), lanes.take('b', 9)]).toEqual([2, 1]);
});
