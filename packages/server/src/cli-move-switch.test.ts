import { expect, test } from 'vitest';
import { NotStarted, type RunningMove, waitUntilStarted } from './cli-move-sides.ts';
import { switchOver } from './cli-move-switch.ts';
import { describeMovedApplication } from './transfer/move/move-protocol.ts';

const versions = { version: '1', schema: '1', store: 1 };

test('if the disk is full before the target starts the application, the source starts it again', async () => {
  const calls: string[] = [];
  let status = 'stopped';
  const describeSide = (side: string): object => ({
    call: async (action: string) => {
      if (action === 'applications:list')
        return [{ status, updatedAt: 't', displayName: describeMovedApplication('m') }];
      calls.push(`${side} ${action}`);
      if (side === 'source') status = 'running';
      return null;
    },
  });
  const reader = { versions: async () => versions, lastGenerated: async () => 7n };
  const state = {
    ...{ id: 'm', to: 'there', tables: {}, isComplete: true, wasRunning: true, mayBeServed: false },
    copied: { updatedAt: 't', version: '1', schema: '1', lastEvent: '7' },
  };
  const move = {
    request: { application: 'shop', to: 'there', maxPauseSeconds: 5 },
    source: {
      operator: describeSide('source'),
      location: { name: 'here', openSource: async () => ({ reader, close: async () => {} }) },
    },
    target: { operator: describeSide('target'), location: { name: 'there', replace: async () => {} } },
    state,
    save: async () => {
      if (state.mayBeServed) throw new Error('The disk is full.');
    },
  } as unknown as RunningMove;
  await expect(switchOver(move, { from: 's', into: 't' }, {} as never)).rejects.toThrow(
    /The disk is full\. Nothing was switched, and "shop" runs in here again/,
  );
  expect(calls).toEqual(['target applications:update', 'source applications:start']);
});

test('NotStarted is thrown for an application that failed to start, not for one that is still starting', async () => {
  const waitFor = (status: string): Promise<unknown> => {
    const side = { operator: { call: async () => [{ status }] }, location: { name: 'there' } };
    return waitUntilStarted(side as unknown as RunningMove['source'], 'shop', performance.now() + 100).catch(
      (error: unknown) => error,
    );
  };
  expect(await waitFor('running')).toBeUndefined();
  expect(await waitFor('failed')).toBeInstanceOf(NotStarted);
  const stillStarting = await waitFor('starting');
  expect(stillStarting).toBeInstanceOf(Error);
  expect(stillStarting).not.toBeInstanceOf(NotStarted);
});
