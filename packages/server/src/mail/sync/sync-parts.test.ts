import { describe, expect, test } from 'vitest';
import { splitIntoChunks } from '../../base/split-into-chunks.ts';
import { computeSyncPause } from './backoff.ts';
import { ByteBudget } from './byte-budget.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { NotifiedPolls } from './notified-polls.ts';
import { compareByImportance, readServerMailboxes } from './server-mailboxes.ts';
import { formatUidSet } from './uid-set.ts';
import { Wakeup } from './wakeup.ts';

const { signal } = new AbortController();

test('UIDs are written as the shortest set', () => {
  expect(formatUidSet([7, 3, 2, 1, 9, 8, 20, 2])).toBe('1:3,7:9,20');
  expect(formatUidSet([])).toBe('');
  expect(splitIntoChunks([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
});

test('the pause doubles with each failure, and depends on the cause', () => {
  const highest = (retry: 'soon' | 'later' | 'never', failures: number): number | null =>
    computeSyncPause(retry, failures, 2000, () => 1);
  expect([1, 2, 3].map((failures) => highest('soon', failures))).toEqual([2000, 4000, 8000]);
  expect(highest('soon', 50)).toBe(300_000);
  expect(highest('later', 1)).toBe(30_000);
  expect(highest('later', 50)).toBe(3_600_000);
  expect(highest('never', 1)).toBeNull();
  expect(computeSyncPause('soon', 1, 2000, () => 0)).toBe(1000);
});

describe('the budget of bytes', () => {
  test('lets batches pass in the order of their requests', async () => {
    const budget = new ByteBudget(100);
    const release = await budget.acquire(80, signal);
    const order: string[] = [];
    const large = budget.acquire(60, signal).then((done) => {
      order.push('large');
      return done;
    });
    // This batch would fit, but it was requested later.
    const small = budget.acquire(10, signal).then((done) => {
      order.push('small');
      return done;
    });
    await Promise.resolve();
    expect(order).toEqual([]);
    release();
    release();
    for (const done of await Promise.all([large, small])) done();
    expect(order).toEqual(['large', 'small']);
    expect(budget.used).toBe(0);
  });

  test('lets a batch pass that is larger than the budget, and forgets requests that are aborted', async () => {
    const budget = new ByteBudget(100);
    const release = await budget.acquire(1000, signal);
    const aborted = new AbortController();
    const waiting = budget.acquire(1, aborted.signal);
    aborted.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    release();
    expect(budget.used).toBe(0);
  });
});

describe('connections', () => {
  test('are limited for each host and in total, and a host that is full does not block others', async () => {
    const slots = new ConnectionSlots({ perHost: 1, total: 2 });
    const first = await slots.acquire('one.example', signal);
    let hasSecond = false;
    const second = slots.acquire('one.example', signal).then((slot) => {
      hasSecond = true;
      return slot;
    });
    const other = await slots.acquire('two.example', signal);
    expect([slots.open, hasSecond, first.isWanted, other.isWanted]).toEqual([2, false, true, true]);
    first.release();
    first.release();
    expect((await second).isWanted).toBe(false);
    other.release();
    (await second).release();
    expect(slots.open).toBe(0);
  });
});

test('a signal that comes while nobody waits ends the next wait', async () => {
  const wakeup = new Wakeup();
  wakeup.signal();
  expect(await wakeup.wait(10_000)).toBe(true);
  expect(await wakeup.wait(1)).toBe(false);
});

describe('the list of mailboxes', () => {
  const listed = (path: string, more: Record<string, unknown> = {}): never =>
    ({ path, delimiter: '/', flags: new Set(), listed: true, ...more }) as never;

  test('assigns each role once, preferably to the mailbox that the server declares', () => {
    const list = [
      listed('Sent', { specialUse: '\\Sent', specialUseSource: 'name' }),
      listed('Sent Items', { specialUse: '\\Sent', specialUseSource: 'extension' }),
      listed('INBOX', { specialUse: '\\Inbox' }),
      listed('Folders', { flags: new Set(['\\Noselect']) }),
    ];
    expect(readServerMailboxes(list, false).map(({ path, role, selectable }) => [path, role, selectable])).toEqual([
      ['Sent', null, true],
      ['Sent Items', 'sent', true],
      ['INBOX', 'inbox', true],
      ['Folders', null, false],
    ]);
  });

  test('joins the parts of a path by a slash, whatever the server uses', () => {
    const [mailbox] = readServerMailboxes([listed('INBOX.Work.2026', { delimiter: '.' })], false);
    expect(mailbox).toMatchObject({ path: 'INBOX/Work/2026', rawPath: 'INBOX.Work.2026', delimiter: '.' });
  });

  test('leaves out the labels of Gmail, which are labels of e-mails and not copies', () => {
    const list = [
      listed('INBOX'),
      listed('Customers'),
      listed('[Gmail]/All Mail', { specialUse: '\\All', specialUseSource: 'extension' }),
      listed('[Gmail]/Starred', { specialUse: '\\Flagged', specialUseSource: 'extension' }),
      listed('[Gmail]/Trash', { specialUse: '\\Trash', specialUseSource: 'extension' }),
    ];
    expect(readServerMailboxes(list, true).map(({ rawPath }) => rawPath)).toEqual([
      'INBOX',
      '[Gmail]/All Mail',
      '[Gmail]/Trash',
    ]);
  });

  test('is synchronised in the order of importance, from the inbox to junk', () => {
    const list = ['junk', null, 'inbox', 'sent'].map((role) => ({ role, path: role ?? 'Work' }));
    expect(list.sort(compareByImportance).map(({ path }) => path)).toEqual(['inbox', 'sent', 'Work', 'junk']);
  });
});

test('polls after notifications become rare if they find nothing, and prompt again once they find something', () => {
  const polls = new NotifiedPolls(45_000);
  expect(polls.dueAt).toBe(Number.POSITIVE_INFINITY);
  polls.note(1000);
  polls.note(1050);
  expect(polls.dueAt).toBe(1100);
  const poll = (from: number, to: number, hasFound: boolean): number => {
    polls.begin(from);
    polls.note(to);
    polls.end(to, hasFound);
    return polls.dueAt - to;
  };
  expect(poll(1100, 1110, true)).toBe(250);
  expect(poll(2000, 2500, true)).toBe(500);
  expect(poll(3000, 9000, true)).toBe(2000);
  expect([0, 1, 2, 3, 4, 5, 6].map((round) => poll(10_000 + round, 10_000 + round, false))).toEqual([
    4000, 8000, 16_000, 32_000, 45_000, 45_000, 45_000,
  ]);
  expect(poll(99_000, 99_000, true)).toBe(250);
  // A regular poll that finds nothing changes nothing.
  polls.begin(200_000);
  polls.end(200_000, false);
  polls.begin(200_001);
  polls.end(200_001, false);
  polls.note(200_002);
  expect(polls.dueAt).toBe(200_001 + 500);
});

test('a mailbox that is listed twice is one mailbox, and a nonexistent one is left out', () => {
  const name = (path: string, flags: string[], specialUse?: string): object => ({
    path,
    delimiter: '/',
    flags: new Set(flags),
    listed: true,
    ...(specialUse && { specialUse, specialUseSource: 'extension' }),
  });
  const list = readServerMailboxes(
    [
      name('Old', ['\\NonExistent', '\\Noselect']),
      name('New', []),
      name('Sent mail', []),
      name('Again', ['\\NonExistent', '\\Noselect']),
      name('Parent', ['\\NonExistent', '\\Noselect']),
      name('INBOX', []),
      name('Sent mail', ['\\Sent'], '\\Sent'),
      name('Again', []),
      name('Parent/Child', []),
      name('New', []),
    ] as never,
    false,
  );
  expect(list.map(({ path, role, selectable }) => `${path} ${role} ${selectable}`).sort()).toEqual([
    'Again null true',
    'INBOX inbox true',
    'New null true',
    'Parent null false',
    'Parent/Child null true',
    'Sent mail sent true',
  ]);
});
