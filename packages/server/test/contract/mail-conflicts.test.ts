/** Conflicting changes on both sides between two reports of the mail server. Found by mail-interleaving.test.ts. */
import { describe, expect, test } from 'vitest';
import { createReader } from '../../src/database/run-statement.ts';
import { sql } from '../../src/database/sql.ts';
import { describeEngines } from '../support/engines.ts';
import { FakeMailServer } from '../support/fake-mail-server.ts';
import { ImapInMemory } from '../support/imap-in-memory.ts';
import { droppedConnection, StepwiseSync } from '../support/stepwise-sync.ts';
import { waitFor } from '../support/sync-world.ts';
import { mail, useTwoSides } from '../support/two-sides.ts';

const allCapabilities = ['IDLE', 'MOVE', 'UIDPLUS'];

describeEngines('mail that both sides change at the same time', (engine) => {
  const sides = useTwoSides(engine);
  const { connect, find, list, move, operations, update } = sides;

  const box = (id: number) => ({ id, address: 'x' });
  const queueAgain = (account: number) => getStore().operations.requeueRunning(box(account));
  const getStore = () => sides.server.running.applications.main.mail;

  /** Creates an e-mail in the inbox that the server no longer shows there. */
  async function lose(subject: string): Promise<{ account: number; id: number; uid: number }> {
    const fake = new FakeMailServer();
    fake.createMailbox('Other');
    const account = await connect(fake);
    const uid = sides.fake.append('INBOX', mail(subject));
    await sides.sync.run();
    const { id } = await find(account, subject);
    const inbox = (await getStore().server.readMailboxes(account)).find(({ role }) => role === 'inbox');
    await getStore().server.applyVanished(box(account), inbox!, [uid], {});
    return { account, id, uid };
  }

  /** The placements of the e-mails of an account: each mailbox, and whether the UID is known. */
  async function placements(account: number): Promise<string[]> {
    const run = createReader(sides.server.running.applications.main.database);
    const rows = await run(
      sql`SELECT m.path,p.uid FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" WHERE m."accountId"=${account}`,
    );
    return rows.map(([path, uid]) => `${path} ${uid === null ? 'without UID' : 'with UID'}`).sort();
  }

  test('flag changes of a message that the server has moved are sent when the message is found', async () => {
    const { account, id, uid } = await lose('flagged while lost');
    await update(id, { read: true, starred: true });
    await update(id, { read: false });
    sides.fake.move('INBOX', uid, 'Work');
    await sides.sync.run();
    await sides.sync.run();
    expect(sides.fake.picture()).toMatchObject({ INBOX: [], Work: ['flagged while lost \\Flagged'] });
    expect(await find(account, 'flagged while lost')).toMatchObject({ id, folder: 'Work', read: false, starred: true });
    expect(await operations(account)).toEqual([]);
  });

  test('a local move of a message that is missing on the server is dropped if the server has moved it', async () => {
    const { account, id, uid } = await lose('moved while lost');
    await move(id, 'trash');
    await update(id, { read: true });
    sides.fake.move('INBOX', uid, 'Work');
    await sides.sync.run();
    await sides.sync.run();
    expect(sides.fake.picture()).toMatchObject({ INBOX: [], Trash: [], Work: ['moved while lost \\Seen'] });
    expect(await find(account, 'moved while lost')).toMatchObject({ id, folder: 'Work' });
    expect(await placements(account)).toEqual(['Work with UID']);
    expect(await operations(account)).toEqual([]);
  });

  test('a local move of a missing message is made if the message is found in its former mailbox', async () => {
    const { account, id, uid } = await lose('found again');
    await move(id, 'Work');
    sides.fake.setFlag('INBOX', uid, '\\Flagged');
    sides.fake.move('INBOX', uid, 'INBOX');
    await sides.sync.run();
    await sides.sync.run();
    expect(sides.fake.picture()).toMatchObject({ INBOX: [], Work: ['found again \\Flagged'] });
    expect(await find(account, 'found again')).toMatchObject({ id, folder: 'Work', starred: true });
    expect(await placements(account)).toEqual(['Work with UID']);
    expect(await operations(account)).toEqual([]);
  });

  test('a missing message that was moved and flagged here is deleted if the server has deleted it', async () => {
    const { account, id, uid } = await lose('deleted there');
    await move(id, 'Work');
    await update(id, { read: true });
    sides.fake.expunge('INBOX', uid);
    await sides.sync.run();
    await sides.sync.run();
    expect(await list(account)).toEqual([]);
    expect(await placements(account)).toEqual([]);
    expect(await operations(account)).toEqual([]);
  });

  test('a message that another program moves during our move is shown in the mailbox where that program put it', async () => {
    const fake = new FakeMailServer();
    fake.createMailbox('Other');
    const account = await connect(fake);
    const uid = sides.fake.append('INBOX', mail('moved on'));
    await sides.sync.run();
    const { id } = await find(account, 'moved on');
    await move(id, 'Work');
    const [due] = await getStore().operations.readDue(box(account), 10);
    await getStore().operations.begin(box(account), [due!]);
    await move(id, 'trash');
    await update(id, { read: true });
    sides.fake.move('INBOX', uid, 'Other');
    await getStore().server.reportMissing(box(account), due!);
    await sides.sync.run();
    await sides.sync.run();
    expect(sides.fake.picture()).toMatchObject({ INBOX: [], Work: [], Trash: [], Other: ['moved on \\Seen'] });
    expect(await placements(account)).toEqual(['Other with UID']);
    expect(await operations(account)).toEqual([]);
  });

  test('of two copies, the last one is moved and not deleted', async () => {
    const account = await connect();
    const uid = sides.fake.append('INBOX', mail('two copies'));
    const [message] = sides.fake.get('INBOX').messages.values();
    sides.fake.append('Work', message!.raw, [], message!.providerId);
    await sides.sync.run();
    const { id } = await find(account, 'two copies');
    await move(id, 'trash');
    sides.fake.expunge('INBOX', uid);
    await sides.sync.read();
    await sides.sync.run();
    expect(sides.fake.picture()).toEqual({ INBOX: [], Work: [], Trash: ['two copies'] });
    expect(await list(account, '&folder=trash')).toMatchObject([{ id }]);
    expect(await placements(account)).toEqual(['Trash with UID']);
    expect(await operations(account)).toEqual([]);
  });

  test('if two copies are permanently deleted here, both are deleted on the server', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('both copies'));
    const [message] = sides.fake.get('INBOX').messages.values();
    sides.fake.append('Work', message!.raw, [], message!.providerId);
    await sides.sync.run();
    const { id } = await find(account, 'both copies');
    await move(id, 'trash');
    await sides.server.data(`POST /api/emails:destroy?filterByTk=${id}&force=true`, { as: 'ann' });
    await sides.sync.run();
    expect(sides.fake.picture()).toEqual({ INBOX: [], Work: [], Trash: [] });
    expect(await operations(account)).toEqual([]);
  });

  test('an operation that was changed after it was read is not started', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('changed'));
    await sides.sync.run();
    const { id } = await find(account, 'changed');
    await update(id, { read: true });
    const { operations: queue } = getStore();
    const [before] = await queue.readDue(box(account), 10);
    await update(id, { starred: true });
    expect(await queue.begin(box(account), [before!])).toEqual([]);
    const [after] = await queue.readDue(box(account), 10);
    expect(after!.flags).toEqual({ add: ['\\Seen', '\\Flagged'], remove: [] });
    expect(await queue.begin(box(account), [after!])).toEqual([after!.id]);
  });

  test('a local change waits for the transaction that stores what the server reports', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('waiting'));
    await sides.sync.run();
    const { id, conversationId } = await find(account, 'waiting');
    const { database } = sides.server.running.applications.main;
    const { server } = sides;
    // Tickets own e-mails, and their notes refer to one.
    const mails = { name: 'mails', type: 'hasMany', target: 'emails', foreignKey: 'ticketId' };
    await server.data('POST /api/collections:create', { body: { name: 'tickets', fields: [mails] } });
    const about = { name: 'about', type: 'belongsTo', target: 'emails' };
    const ticket = { name: 'ticket', type: 'belongsTo', target: 'tickets' };
    await server.data('POST /api/collections:create', { body: { name: 'ticketNotes', fields: [about, ticket] } });
    const { id: ticketId } = await server.data('POST /api/tickets:create', { as: 'ann', body: {} });
    const { id: noteId } = await server.data('POST /api/ticketNotes:create', { as: 'ann', body: { aboutId: id } });
    const nested = (more: object, headers = {}) =>
      server.data(`POST /api/ticketNotes:update?filterByTk=${noteId}&updateAssociationValues=about`, {
        as: 'ann',
        headers,
        body: { about: { id, ...more } },
      });
    const byFilter = { op: 'update', resource: 'emails', filter: { subject: 'waiting' }, values: { read: true } };
    const batch = (operation: object) =>
      server.data('POST /api/batch', { as: 'ann', body: { operations: [operation] } });
    const changes = [
      () => update(id, { read: true }),
      () =>
        server.data(`POST /api/emails:update?filter=${JSON.stringify({ id })}`, { as: 'ann', body: { read: false } }),
      () => batch({ op: 'update', resource: 'emails', filterByTk: id, values: { read: true } }),
      () => batch(byFilter),
      () =>
        server.data(`PATCH /api/emails/${id}`, {
          as: 'ann',
          headers: { 'idempotency-key': 'waits' },
          body: { read: false },
        }),
      () =>
        server.data(`POST /api/conversations/${conversationId}/emails:update?filterByTk=${id}`, {
          as: 'ann',
          body: { read: true },
        }),
      () => nested({ read: false }),
      () => nested({ read: true }, { 'idempotency-key': 'nested' }),
      () => server.data('POST /api/tickets:create', { as: 'ann', body: { mails: [id] } }),
      () => server.data(`POST /api/tickets/${ticketId}/mails:set`, { as: 'ann', body: [id] }),
      () => batch({ op: 'remove', resource: 'tickets', relation: 'mails', of: ticketId, values: [id] }),
      () => batch({ op: 'update', resource: 'tickets', filterByTk: ticketId, values: { mails: [id] } }),
      () => sides.server.data('POST /api/emails:batchUpdate', { as: 'ann', body: { ids: [id], starred: true } }),
      () => move(id, 'Work'),
    ];
    for (const change of changes) {
      let hasEnded = false;
      let changing: Promise<boolean> | undefined;
      await database.write(
        async () => {
          changing = change().then(() => hasEnded);
          // A change that does not wait for the lock would be answered during this pause.
          await new Promise((resolve) => setTimeout(resolve, 300));
          hasEnded = true;
        },
        { lockKey: `mail ${account}` },
      );
      expect(await changing).toBe(true);
    }
    expect(await find(account, 'waiting')).toMatchObject({ read: true, starred: true, folder: 'Work' });
  });

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
