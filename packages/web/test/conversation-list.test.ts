/** The list of conversations if an action and a read of the same rows overlap. */
import type { Client } from '@tablinum/client';
import { expect, test } from 'vitest';
import { ConversationList } from '../src/inbox/list/conversation-list.ts';
import type { Conversation } from '../src/inbox/mail-types.ts';

const view = { folder: 'inbox' } as ConstructorParameters<typeof ConversationList>[1];
const row = (id: number): Conversation =>
  ({ id, lastAt: `2026-01-0${id}T00:00:00Z`, unread: 0, starred: 0 }) as Conversation;

/** A list whose reads the test answers, in the order in which they are made. */
function createList() {
  const reads: ((rows: readonly Conversation[]) => Promise<void>)[] = [];
  const call = () =>
    new Promise((resolve) => {
      reads.push(async (data) => {
        resolve({ data, meta: { nextCursor: null } });
        await new Promise((done) => setTimeout(done, 5));
      });
    });
  const list = new ConversationList({ call } as unknown as Client, view);
  const nextRead = async () => {
    await expect.poll(() => reads.length).toBeGreaterThan(0);
    return reads.shift()!;
  };
  return { list, nextRead, ids: () => list.state.rows.map(({ id }) => id) };
}

async function createLoadedList() {
  const created = createList();
  void created.list.loadMore();
  await (await created.nextRead())([row(3), row(2), row(1)]);
  expect(created.ids()).toEqual([3, 2, 1]);
  return created;
}

test('a read of changed rows that began before an archived row was written does not show it again', async () => {
  const { list, nextRead, ids } = await createLoadedList();
  list.markStale(2);
  const answer = await nextRead();
  list.hide([2]);
  list.settle([2]);
  await answer([row(2)]);
  expect(ids()).toEqual([3, 1]);
  await (await nextRead())([]);
  expect(ids()).toEqual([3, 1]);
});

test('a reload that began before an archived row was written does not show it again', async () => {
  const { list, nextRead, ids } = await createLoadedList();
  void list.reload();
  const answer = await nextRead();
  list.hide([2]);
  list.settle([2]);
  await answer([row(3), row(2), row(1)]);
  expect(ids()).toEqual([3, 1]);
});

test('a row that the server still lists after the action is shown again', async () => {
  const { list, nextRead, ids } = await createLoadedList();
  list.hide([2]);
  expect(ids()).toEqual([3, 1]);
  list.settle([2]);
  await (await nextRead())([row(2)]);
  expect(ids()).toEqual([3, 2, 1]);
});

test('a row that is restored during a read stays', async () => {
  const { list, nextRead, ids } = await createLoadedList();
  list.hide([2]);
  list.markStale(2);
  const answer = await nextRead();
  list.settle([2], [row(2)]);
  await answer([]);
  expect(ids()).toEqual([3, 2, 1]);
});
