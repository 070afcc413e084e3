/** Conflicting changes on both sides between two reports of the mail server. Found by mail-interleaving.test.ts. */
import { expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { FakeMailServer } from '../support/fake-mail-server.ts';
import { mail, useTwoSides } from '../support/two-sides.ts';

describeEngines('mail that both sides change at the same time', (engine) => {
  const sides = useTwoSides(engine);
  const { connect, find, list, move, operations, placements, update } = sides;

  const box = (id: number) => ({ id, address: 'x' });
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
});
