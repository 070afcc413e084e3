/** Conflicting changes on both sides between two commands to the mail server. Found by mail-interleaving.test.ts. */
import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { ImapInMemory } from '../support/imap-in-memory.ts';
import { droppedConnection, StepwiseSync } from '../support/stepwise-sync.ts';
import { waitFor } from '../support/sync-world.ts';
import { mail, useTwoSides } from '../support/two-sides.ts';

const allCapabilities = ['IDLE', 'MOVE', 'UIDPLUS'];

describeEngines('mail that both sides change between two commands', (engine) => {
  const sides = useTwoSides(engine);
  const { connect, find, list, move, operations, placements, update } = sides;

  const box = (id: number) => ({ id, address: 'x' });
  const getStore = () => sides.server.running.applications.main.mail;
  const queueAgain = (account: number) => getStore().operations.requeueRunning(box(account));

  /** An account with one message in the inbox, synchronised command by command. */
  async function connectStepwise(subject: string, capabilities: readonly string[] = allCapabilities) {
    const account = await connect();
    const imap = new ImapInMemory(['INBOX', 'Left', 'Right']);
    imap.append('INBOX', mail(subject));
    const sync = new StepwiseSync(sides.server, box(account), imap, capabilities);
    await sync.run();
    const { id } = await find(account, subject);
    /** Runs a change before the first command with a certain name, on a new connection. */
    const runWith = async (command: string, change: () => unknown): Promise<void> => {
      let isDone = false;
      sync.before = async (name) => {
        if (isDone || name !== command) return;
        isDone = true;
        await change();
      };
      await sync.run();
      expect(isDone).toBe(true);
      sync.before = async () => {};
    };
    const moveThere = (to: string): void => {
      const [there] = imap.find(subject);
      imap.move(there!.path, there!.uid, to);
    };
    /** Runs each change before the next command with its name, on a new connection. */
    const runScript = async (script: readonly (readonly [command: string, change: () => unknown])[]): Promise<void> => {
      const rest = [...script];
      sync.before = async (name) => {
        if (rest[0]?.[0] === name) await rest.shift()![1]();
      };
      await sync.run();
      expect(rest).toEqual([]);
      sync.before = async () => {};
    };
    /** Synchronises until nothing is left to do, and expects the same message on both sides. */
    const settle = async (mailbox: string, flags: string): Promise<void> => {
      for (let round = 0; round < 3; round += 1) await sync.run();
      expect(imap.find(subject)).toMatchObject([{ path: mailbox }]);
      const [line] = imap.list().filter((each) => each.includes(` ${subject}`));
      expect(line!.slice(line!.indexOf(subject) + subject.length).trim()).toBe(flags);
      expect(await find(account, subject)).toMatchObject({
        id,
        folder: mailbox === 'INBOX' ? 'inbox' : mailbox,
        read: flags.includes('Seen'),
        starred: flags.includes('Flagged'),
      });
      expect(await operations(account)).toEqual([]);
    };
    const drop = (): never => {
      throw droppedConnection();
    };
    return { account, id, imap, sync, runWith, runScript, settle, moveThere, drop };
  }

  test('a copy is only deleted while the server shows another one', async () => {
    const { account, id, imap, sync, runWith, moveThere } = await connectStepwise('one left');
    // The inbox was read before the move: the message is known in both mailboxes, but is only in one.
    imap.append('INBOX', mail('another'));
    imap.append('Left', mail('third'));
    await runWith('SELECT Left', () => moveThere('Left'));
    expect(await placements(account)).toContain('INBOX with UID');
    await move(id, 'inbox');
    for (let round = 0; round < 3; round += 1) await sync.run();
    expect(imap.find('one left')).toHaveLength(1);
    expect(await find(account, 'one left')).toMatchObject({ id });
    expect(await operations(account)).toEqual([]);
  });

  test('a message that is moved into a mailbox that a new connection has not read yet keeps its id', async () => {
    const { account, id, imap, sync, runWith, moveThere } = await connectStepwise('kept');
    moveThere('Left');
    await sync.run();
    moveThere('Right');
    const left = (await getStore().server.readMailboxes(account)).find(({ path }) => path === 'Left');
    await getStore().server.applyVanished(box(account), left!, [1], {});
    const lostAt = Date.now();
    await waitFor(() => Date.now() > lostAt + 1, 'a look that begins later');
    // The inbox did not change until the other mailboxes were being read.
    await runWith('SELECT Right', () => moveThere('INBOX'));
    await sync.run();
    expect(await find(account, 'kept')).toMatchObject({ id, folder: 'inbox' });
    expect(imap.list()).toEqual(['INBOX 2 kept']);
  });

  test('flags that were set during an interrupted move are sent', async () => {
    const { account, id, imap, sync, runWith } = await connectStepwise('interrupted', ['IDLE']);
    await move(id, 'Left');
    await update(id, { read: true });
    await runWith('EXPUNGE', async () => {
      throw droppedConnection();
    });
    for (let round = 0; round < 3; round += 1) await sync.run();
    expect(imap.list()).toEqual(['Left 1 interrupted \\Seen']);
    expect(await find(account, 'interrupted')).toMatchObject({ id, folder: 'Left', read: true });
    expect(await placements(account)).toEqual(['Left with UID']);
    expect(await operations(account)).toEqual([]);
  });

  test('a flag that is changed back while its change fails keeps its last value on both sides', async () => {
    const { account, id, imap, sync, runWith } = await connectStepwise('changed back');
    await update(id, { read: true });
    // The server does not confirm the first change, because another program reverts it at once.
    await runWith('FETCH', async () => {
      imap.setFlag('INBOX', 1, '\\Seen', false);
      await update(id, { read: false });
    });
    for (let round = 0; round < 3; round += 1) await sync.run();
    expect(await find(account, 'changed back')).toMatchObject({ read: false });
    expect(imap.list()).toEqual(['INBOX 1 changed back']);
    expect(await operations(account)).toEqual([]);
  });

  test('a flag that is changed again while its message is missing on the server keeps its last value on both sides', async () => {
    const { account, id, imap, sync, runWith, moveThere } = await connectStepwise('changed while missing');
    await update(id, { read: true });
    const { operations: queue } = getStore();
    const [first] = await queue.readDue(box(account), 10);
    await queue.begin(box(account), [first!]);
    await update(id, { read: false });
    // The message was not found, and its mailbox is read next.
    await queue.retry(box(account), first!.id, null, null);
    await update(id, { read: true });
    await runWith('LIST', () => moveThere('Left'));
    for (let round = 0; round < 3; round += 1) await sync.run();
    expect(await find(account, 'changed while missing')).toMatchObject({ read: true });
    expect(imap.list()).toEqual(['Left 1 changed while missing \\Seen']);
    expect(await operations(account)).toEqual([]);
  });

  test('a flag change that is reverted after its connection was lost is reverted on the server too', async () => {
    const { account, id, imap, sync, runWith } = await connectStepwise('taken back');
    await update(id, { read: true });
    await runWith('FETCH', async () => {
      throw droppedConnection();
    });
    await runWith('LIST', async () => {
      await queueAgain(account);
      await update(id, { read: false });
    });
    for (let round = 0; round < 3; round += 1) await sync.run();
    expect(await find(account, 'taken back')).toMatchObject({ read: false });
    expect(imap.list()).toEqual(['INBOX 1 taken back']);
    expect(await operations(account)).toEqual([]);
  });

  test('a flag that is set after a move here, and changed back while the move is being sent, keeps its last value', async () => {
    const { account, id, imap, sync, runWith } = await connectStepwise('changed back during a move');
    await move(id, 'Left');
    await update(id, { read: true });
    await runWith('MOVE', () => update(id, { read: false }));
    for (let round = 0; round < 3; round += 1) await sync.run();
    expect(await find(account, 'changed back during a move')).toMatchObject({ folder: 'Left', read: false });
    expect(imap.list()).toEqual(['Left 1 changed back during a move']);
    expect(await operations(account)).toEqual([]);
  });

  test('if a message is moved here into the mailbox where another program has already moved it, its flags on the server are kept', async () => {
    const { account, id, imap, sync, runWith, moveThere } = await connectStepwise('answered and moved');
    imap.append('INBOX', mail('one more'));
    imap.append('Left', mail('yet another'));
    // The inbox was read before the move: the message is known in both mailboxes.
    await runWith('SELECT Left', () => {
      imap.setFlag('INBOX', 1, '\\Answered', true);
      moveThere('Left');
    });
    expect((await placements(account)).filter((each) => each === 'Left with UID')).toHaveLength(2);
    expect(await find(account, 'answered and moved')).toMatchObject({ id, folder: 'inbox', answered: false });
    await move(id, 'Left');
    for (let round = 0; round < 3; round += 1) await sync.run();
    expect(imap.find('answered and moved')).toMatchObject([{ path: 'Left' }]);
    expect(await find(account, 'answered and moved')).toMatchObject({ id, folder: 'Left', answered: true });
    expect(await operations(account)).toEqual([]);
  });

  test('flags that were set before another program moved the message are sent to the copy that is moved back', async () => {
    const { id, imap, runScript, settle, moveThere } = await connectStepwise('flagged and moved back');
    imap.append('INBOX', mail('one more here'));
    imap.append('Left', mail('one more there'));
    await runScript([
      [
        // The inbox was read before the move: the message is known in both mailboxes.
        'SELECT Left',
        () => {
          moveThere('Left');
          return update(id, { starred: true });
        },
      ],
      [
        'SELECT INBOX',
        async () => {
          await update(id, { read: true });
          await move(id, 'inbox');
        },
      ],
    ]);
    await settle('INBOX', '\\Flagged \\Seen');
  });

  test.for([
    ['with UIDPLUS', ['IDLE', 'UIDPLUS']],
    ['without UIDPLUS', ['IDLE']],
  ] as const)(
    'flags of a message that is moved back during its interrupted move are sent, %s',
    async ([name, capabilities]) => {
      const { id, runScript, settle, drop } = await connectStepwise(`moved back ${name}`, capabilities);
      await move(id, 'Left');
      await update(id, { read: true });
      await runScript([
        ['COPY', () => {}],
        ['(end)', drop],
      ]);
      await runScript([['LIST', () => move(id, 'inbox')]]);
      await settle('INBOX', '\\Seen');
    },
  );

  test('a reverted flag change is sent even if the connection was lost and another program has moved the message', async () => {
    const { id, runScript, settle, moveThere, drop } = await connectStepwise('taken back elsewhere');
    await update(id, { starred: true });
    await runScript([
      [
        'SELECT INBOX',
        () => {
          moveThere('Left');
          drop();
        },
      ],
    ]);
    await runScript([['SELECT Left', () => update(id, { starred: false })]]);
    await settle('Left', '');
  });

  test('flags that were set before and during an interrupted move are sent to the mailbox where another program has moved the message', async () => {
    const { id, runScript, settle, moveThere, drop } = await connectStepwise('flagged twice');
    await move(id, 'Right');
    await update(id, { starred: true });
    await runScript([['SELECT INBOX', drop]]);
    await runScript([
      ['LIST', () => update(id, { read: true })],
      ['SELECT INBOX', () => moveThere('Left')],
    ]);
    await settle('Left', '\\Flagged \\Seen');
  });

  test('flags that were set during an interrupted move are sent even if both sides have moved the message again', async () => {
    const { id, runScript, settle, moveThere, drop } = await connectStepwise('moved on by both');
    await move(id, 'Right');
    await runScript([['SELECT INBOX', drop]]);
    await runScript([
      [
        'LIST',
        async () => {
          await update(id, { read: true });
          await move(id, 'inbox');
          moveThere('Left');
        },
      ],
    ]);
    await settle('Left', '\\Seen');
  });

  test('the last copy of a message is not deleted if its UID is filled in for a pending deletion of another copy', async () => {
    const { id, runScript, settle, moveThere, drop } = await connectStepwise('moved there and back');
    await move(id, 'Right');
    await runScript([['SELECT INBOX', drop]]);
    await runScript([
      ['LIST', () => moveThere('Left')],
      // The message of the interrupted move is found in the mailbox "Left"; in "Right" it would be a surplus copy.
      ['SELECT INBOX', () => move(id, 'Left')],
      ['SELECT INBOX', () => move(id, 'Right')],
    ]);
    await settle('Right', '');
  });

  test('an e-mail has the flags of the copy that remains', async () => {
    const { id, imap, runScript, settle, drop } = await connectStepwise('one copy is read');
    await move(id, 'Right');
    await runScript([
      ['MOVE', () => {}],
      ['(end)', drop],
    ]);
    imap.setFlag('Right', 1, '\\Seen', true);
    imap.append('Right', imap.get('Right').messages.get(1)!.raw);
    await runScript([
      ['LIST', () => move(id, 'inbox')],
      ['SELECT INBOX', () => {}],
      ['SELECT INBOX', () => move(id, 'Left')],
    ]);
    await settle('Left', '\\Seen');
  });

  test.for([
    ['with MOVE', allCapabilities],
    ['without MOVE', ['IDLE', 'UIDPLUS']],
    ['with IDLE only', ['IDLE']],
  ] as const)(
    'if another program moves one of several messages during their move, the others are moved and keep their ids, %s',
    async ([name, capabilities]) => {
      const { account, id, imap, sync, runScript, settle, moveThere } = await connectStepwise(name, capabilities);
      const subject = `another ${name}`;
      imap.append('INBOX', mail(subject));
      await sync.run();
      const other = await find(account, subject);
      await sides.server.data('POST /api/emails:move', { as: 'ann', body: { ids: [id, other.id], mailbox: 'Left' } });
      await runScript([[capabilities[1] === 'MOVE' ? 'MOVE' : 'COPY', () => moveThere('Right')]]);
      await settle('Right', '');
      expect(imap.find(subject)).toMatchObject([{ path: 'Left' }]);
      expect(await find(account, subject)).toMatchObject({ id: other.id, folder: 'Left' });
    },
  );

  describe('without MOVE', () => {
    const afterCopy = (change: () => unknown) =>
      [
        ['COPY', () => {}],
        ['(end)', change],
      ] as const;

    test('a message that another program moves after it was copied exists once, in the mailbox where that program has moved it', async () => {
      const { id, runScript, settle, moveThere } = await connectStepwise('copied-and-moved', ['IDLE', 'UIDPLUS']);
      await move(id, 'Left');
      await update(id, { read: true });
      await runScript(afterCopy(() => moveThere('Right')));
      await settle('Right', '\\Seen');
    });

    test('a message that another program moves into the target mailbox after it was copied exists once there', async () => {
      const { id, runScript, settle, moveThere } = await connectStepwise('copied-and-moved-here', ['IDLE', 'UIDPLUS']);
      await move(id, 'Left');
      await runScript(afterCopy(() => moveThere('Left')));
      await settle('Left', '');
    });

    test('the copy of a message that another program deletes stays', async () => {
      const { id, imap, runScript, settle } = await connectStepwise('copied-and-deleted', ['IDLE', 'UIDPLUS']);
      await move(id, 'Left');
      await runScript(afterCopy(() => imap.expunge('INBOX', 1)));
      await settle('Left', '');
    });

    test('the copy stays if another message has the same Message-ID and size', async () => {
      const { account, id, imap, runScript } = await connectStepwise('copied', ['IDLE', 'UIDPLUS']);
      await move(id, 'Left');
      await runScript(
        afterCopy(() => {
          const { raw } = imap.get('INBOX').messages.get(1)!;
          imap.expunge('INBOX', 1);
          imap.append('Right', raw.toString('latin1').replace('copied', 'forged'));
        }),
      );
      expect(imap.find('copied')).toMatchObject([{ path: 'Left' }]);
      expect(await find(account, 'copied')).toMatchObject({ id, folder: 'Left' });
      expect(await operations(account)).toEqual([]);
    });

    test('without UIDPLUS, both copies stay, and are shown', async () => {
      const { account, id, imap, sync, runScript, moveThere } = await connectStepwise('copied twice', ['IDLE']);
      await move(id, 'Left');
      await runScript(afterCopy(() => moveThere('Right')));
      for (let round = 0; round < 3; round += 1) await sync.run();
      expect(imap.find('copied twice')).toMatchObject([{ path: 'Left' }, { path: 'Right' }]);
      expect(await placements(account)).toEqual(['Left with UID', 'Right with UID']);
      expect(await list(account)).toMatchObject([{ id }]);
      expect(await operations(account)).toEqual([]);
    });
  });
});
