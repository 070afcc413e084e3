import { expect, test } from 'vitest';
import type { OpenTarget } from '../../transfer/move/local-target.ts';
import { describeMovedApplication } from '../../transfer/move/move-protocol.ts';
import type { Applications } from '../applications.ts';
import { ReceivedMoves } from './received-moves.ts';

test('while a server stops, every step of a move gets a 503 that permits a retry, including a running step', async () => {
  const key = { application: 'shop', move: 'm' };
  let isOpen = false;
  const opened = {
    close: async () => {
      isOpen = false;
    },
  } as OpenTarget;
  const moves = new ReceivedMoves({
    applications: {
      whileStopped: (_, work) => work({ store: 's', displayName: describeMovedApplication('m') }),
    } as Applications,
    openStores: async () => ({
      openTarget: async () => {
        isOpen = true;
        return opened;
      },
      replace: async () => {},
    }),
    source: {} as never,
  });
  const stopping = { code: 'STOPPING', retryAfter: 5 };
  const { promise, reject } = Promise.withResolvers<never>();
  const running = moves.use(key, () => promise);
  await expect.poll(() => isOpen).toBe(true);
  await moves.close();
  expect(isOpen).toBe(false);
  reject(new Error('the connection was closed'));
  await expect(running).rejects.toMatchObject(stopping);
  await expect(moves.use(key, async () => {})).rejects.toMatchObject(stopping);
  await expect(moves.place(key)).rejects.toMatchObject(stopping);
  await expect(moves.complete(key, {} as never)).rejects.toMatchObject(stopping);
  expect(isOpen).toBe(false);
});
