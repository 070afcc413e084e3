import { expect, test } from 'vitest';
import { createReader } from '../../src/database/run-statement.ts';
import { sql } from '../../src/database/sql.ts';
import { describeEngines } from '../support/engines.ts';
import { FakeMailServer, FakeSync } from '../support/fake-mail-server.ts';
import type { Json } from '../support/json.ts';
import { upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { imapSettings, mail, useTwoSides } from '../support/two-sides.ts';

describeEngines('mail on two sides', (engine) => {
  const sides = useTwoSides(engine);
  const { connect, list, mailboxesOf, find, operations, move, update } = sides;

  test('messages of the server are stored with their flags, and linked to their UIDs', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('one'), ['\\Seen', '$Junk', 'Invoices']);
    sides.fake.append('Work', mail('two'), ['\\Flagged', '\\Answered', '$Forwarded']);
    await sides.sync.run();
    expect(await find(account, 'one')).toMatchObject({
      read: true,
      starred: false,
      folder: 'inbox',
      labels: ['Invoices'],
      keywords: ['$Junk'],
    });
    expect(await find(account, 'two')).toMatchObject({
      read: false,
      starred: true,
      answered: true,
      forwarded: true,
      folder: 'Work',
    });
    await sides.sync.run();
    expect(await list(account)).toHaveLength(2);
  });

  test('flag changes are sent to the server and received from it; a flag that is toggled back is not sent', async () => {
    const account = await connect();
    const uid = sides.fake.append('INBOX', mail('flags'), []);
    await sides.sync.run();
    const { id } = await find(account, 'flags');
    await update(id, { read: true, labels: ['Billing', 'später heute'] });
    expect(await operations(account)).toHaveLength(1);
    await update(id, { read: false });
    await update(id, { read: true });
    await sides.sync.send();
    expect(sides.fake.picture()['INBOX']).toEqual(['flags Billing \\Seen']);
    expect(await operations(account)).toEqual([]);
    await update(id, { starred: true });
    await update(id, { starred: false });
    expect(await operations(account)).toEqual([]);
    sides.fake.setFlag('INBOX', uid, '\\Seen', false);
    sides.fake.setFlag('INBOX', uid, 'Urgent');
    await sides.sync.run();
    expect(await find(account, 'flags')).toMatchObject({ read: false, labels: ['Billing', 'Urgent', 'später heute'] });
  });

  test('a queued local flag wins over the reported one, other flags are those of the server', async () => {
    const account = await connect();
    const uid = sides.fake.append('INBOX', mail('overlay'), []);
    await sides.sync.run();
    const { id } = await find(account, 'overlay');
    await update(id, { read: true });
    sides.fake.setFlag('INBOX', uid, '\\Flagged');
    await sides.sync.read();
    expect(await find(account, 'overlay')).toMatchObject({ read: true, starred: true });
    for (const isSet of [true, false]) {
      sides.fake.setFlag('INBOX', uid, '\\Seen', isSet);
      await sides.sync.read();
      expect(await find(account, 'overlay')).toMatchObject({ read: true });
    }
    await sides.sync.run();
    expect(sides.fake.picture()['INBOX']).toEqual(['overlay \\Flagged \\Seen']);
  });

  test('flags that the mail server refuses get their values on the server again, and other flags stay', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('refused'), ['\\Flagged', 'Billing']);
    await sides.sync.run();
    const { id } = await find(account, 'refused');
    await update(id, { read: true, starred: false, labels: ['Urgent'] });
    const { operations: queue } = sides.server.running.applications.main.mail;
    const box = { id: account, address: 'x' };
    const [due] = await queue.readDue(box, 10);
    expect(due!.flags).toEqual({ add: ['\\Seen', 'Urgent'], remove: ['\\Flagged', 'Billing'] });
    await queue.begin(box, [due!]);
    // Changes that are made while the operation runs are not dropped with it.
    await update(id, { labels: ['Later', 'Urgent'] });
    await queue.drop(box, due!.id);
    expect(await find(account, 'refused')).toMatchObject({ read: false, starred: true, labels: ['Billing', 'Later'] });
    await sides.sync.run();
    expect(sides.fake.picture()['INBOX']).toEqual(['refused Billing Later \\Flagged']);
    expect(await operations(account)).toEqual([]);
  });

  test('a move is sent once, and is not sent if the message is moved back before that', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('moved'), ['\\Flagged']);
    await sides.sync.run();
    const { id } = await find(account, 'moved');
    await move(id, 'Work');
    await update(id, { read: true });
    await move(id, 'trash');
    expect((await operations(account)).map(([kind]) => kind)).toEqual(['move', 'flags']);
    await move(id, 'inbox');
    expect((await operations(account)).map(([kind]) => kind)).toEqual(['flags']);
    await move(id, 'Work');
    await sides.sync.run();
    expect(sides.fake.picture()).toEqual({ INBOX: [], Trash: [], Work: ['moved \\Flagged \\Seen'] });
    expect(await operations(account)).toEqual([]);
    expect(await find(account, 'moved')).toMatchObject({ id, folder: 'Work', read: true, starred: true });
  });

  test('undoing the move of a message that is in two mailboxes sends nothing, or restores both', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('twice'), ['\\Flagged']);
    const [message] = sides.fake.get('INBOX').messages.values();
    sides.fake.append('Work', message!.raw, ['\\Flagged'], message!.providerId);
    await sides.sync.run();
    const { id } = await find(account, 'twice');
    const picture = sides.fake.picture();
    const moveToTrash = async () =>
      (await sides.server.call('POST /api/emails:destroy', { as: 'ann', body: { ids: [id] } })).body.meta.undo[0];
    const undo = await moveToTrash();
    expect(undo.mailbox).toHaveLength(2);
    expect((await operations(account)).map(([kind]) => kind)).toEqual(['move', 'delete']);
    await move(id, undo.mailbox);
    expect(await operations(account)).toEqual([]);
    await sides.sync.run();
    expect(sides.fake.picture()).toEqual(picture);
    // If the move was already sent, undoing it uploads the message to the server again.
    await moveToTrash();
    await sides.sync.run();
    expect(sides.fake.picture()).toMatchObject({ INBOX: [], Work: [], Trash: ['twice \\Flagged'] });
    await move(id, undo.mailbox);
    await sides.sync.run();
    expect(sides.fake.picture()).toEqual({ ...picture, Trash: [] });
    expect(await operations(account)).toEqual([]);
    expect(await list(account)).toMatchObject([{ id, folder: 'inbox', starred: true }]);
    expect(await list(account, '&folder=Work')).toMatchObject([{ id }]);
  });

  test('a message that is moved on the server stays the same e-mail', async () => {
    for (const objectIds of [true, false]) {
      const account = await connect(new FakeMailServer({ uidplus: true, objectIds }));
      const uid = sides.fake.append('INBOX', mail('carried'), []);
      await sides.sync.run();
      const { id, conversationId } = await find(account, 'carried');
      sides.fake.move('INBOX', uid, 'Work');
      await sides.sync.run();
      expect(await list(account)).toMatchObject([{ id, conversationId, folder: 'Work' }]);
    }
  });

  test('an e-mail gets the flags of its remaining copy, and its pending changes are sent to that copy', async () => {
    const account = await connect();
    const uid = sides.fake.append('INBOX', mail('copied'), ['\\Answered']);
    await sides.sync.run();
    const { id } = await find(account, 'copied');
    await update(id, { read: true });
    const [message] = sides.fake.get('INBOX').messages.values();
    sides.fake.append('Work', message!.raw, ['\\Flagged'], message!.providerId);
    await sides.sync.read();
    expect(await find(account, 'copied')).toMatchObject({ id, starred: false, answered: true });
    await update(id, { labels: ['Urgent'] });
    sides.fake.expunge('INBOX', uid);
    await sides.sync.read();
    const after = { id, folder: 'Work', read: true, starred: true, answered: false, labels: ['Urgent'] };
    expect(await find(account, 'copied')).toMatchObject(after);
    await sides.sync.run();
    expect(sides.fake.picture()['Work']).toEqual(['copied Urgent \\Flagged \\Seen']);
    expect(await operations(account)).toEqual([]);
    expect(await find(account, 'copied')).toMatchObject(after);
  });

  test('if one message is reported twice, the last report counts', async () => {
    const account = await connect();
    const uid = sides.fake.append('INBOX', mail('reported'), ['\\Flagged']);
    await sides.sync.run();
    const { server: store } = sides.server.running.applications.main.mail;
    const inbox = (await store.readMailboxes(account)).find(({ role }) => role === 'inbox');
    const report = (flags: string[]) => ({ uid, flags, labels: null, modseq: null });
    await store.applyFlags({ id: account, address: 'x' }, inbox!, [report([]), report(['\\Flagged'])], {});
    expect(await find(account, 'reported')).toMatchObject({ starred: true });
  });

  test('a message that the server deletes is deleted here', async () => {
    const account = await connect();
    const uid = sides.fake.append('INBOX', mail('expunged'), []);
    sides.fake.append('INBOX', mail('stays'), []);
    await sides.sync.run();
    sides.fake.expunge('INBOX', uid);
    await sides.sync.run();
    expect((await list(account)).map(({ subject }) => subject)).toEqual(['stays']);
    const [inbox] = await sides.server.data(
      `GET /api/mailboxes?filter=${JSON.stringify({ accountId: account, role: 'inbox' })}`,
      { as: 'ann' },
    );
    expect(inbox).toMatchObject({ messages: 1, unread: 1 });
  });

  test('a message that is permanently deleted here is deleted on the server, in whatever mailbox it is', async () => {
    const account = await connect();
    const uid = sides.fake.append('INBOX', mail('secret'), []);
    await sides.sync.run();
    const { id } = await find(account, 'secret');
    sides.fake.move('INBOX', uid, 'Work');
    await sides.server.data(`POST /api/emails:destroy?filterByTk=${id}&force=true`, { as: 'ann' });
    await sides.sync.read();
    await sides.sync.run();
    expect(sides.fake.picture()).toEqual({ INBOX: [], Trash: [], Work: [] });
    expect(await list(account)).toEqual([]);
    expect(await operations(account)).toEqual([]);
    // A copy that arrives later is new mail.
    sides.fake.append('INBOX', mail('secret'), []);
    await sides.sync.run();
    expect(await list(account)).toHaveLength(1);
  });

  test('a new UIDVALIDITY keeps e-mails, their conversations and their ids', async () => {
    for (const objectIds of [true, false]) {
      const account = await connect(new FakeMailServer({ uidplus: false, objectIds }));
      for (const each of ['first', 'second', 'third']) sides.fake.append('INBOX', mail(each), ['\\Seen']);
      await sides.sync.run();
      const before = await list(account, '&fields=id,subject,conversationId,folder');
      sides.fake.renumber('INBOX');
      await sides.sync.run();
      expect(await list(account, '&fields=id,subject,conversationId,folder')).toEqual(before);
      await update(before[0].id, { read: false });
      await sides.sync.run();
      expect(sides.fake.picture()['INBOX']).toEqual(['first \\Seen', 'second \\Seen', 'third']);
    }
  });

  test('drafts are stored on the server, and replaced there', async () => {
    const account = await connect();
    await sides.sync.run();
    const body = { account, to: 'cora@example.net', subject: 'Draft', text: 'One' };
    const draft = await sides.server.data('POST /api/emails', { as: 'ann', body });
    await sides.sync.run();
    expect(sides.fake.picture()['Drafts']).toEqual(['Draft \\Draft \\Seen']);
    await sides.server.data('POST /api/emails', { as: 'ann', body: { id: draft.id, subject: 'Draft two' } });
    expect((await operations(account)).map(([kind]) => kind)).toEqual(['append', 'delete']);
    await sides.sync.run();
    expect(sides.fake.picture()['Drafts']).toEqual(['Draft \\Draft \\Seen']);
    await sides.server.data(`POST /api/emails:destroy?filterByTk=${draft.id}&force=true`, { as: 'ann' });
    await sides.sync.run();
    expect(sides.fake.picture()['Drafts']).toEqual([]);
  });

  test('mailboxes are created, renamed and deleted on the server', async () => {
    const account = await connect();
    await sides.sync.run();
    const create = (path: string): Promise<Json> =>
      sides.server.data('POST /api/mailboxes:create', { as: 'ann', body: { accountId: account, path } });
    const rename = (id: number, path: string): Promise<Json> =>
      sides.server.data(`PATCH /api/mailboxes/${id}`, { as: 'ann', body: { path } });
    const clients = await create('Clients');
    const ada = await create('Clients/Ada');
    sides.fake.append('INBOX', mail('letter'), []);
    await sides.sync.run();
    expect([...sides.fake.mailboxes.keys()]).toEqual(expect.arrayContaining(['Clients', 'Clients/Ada']));
    const { id } = await find(account, 'letter');
    await move(id, 'Clients/Ada');
    await rename(clients.id, 'Customers');
    expect(await find(account, 'letter')).toMatchObject({ folder: 'Customers/Ada' });
    await rename(clients.id, 'Clients');
    expect((await operations(account)).map(([kind]) => kind)).toEqual(['move']);
    await rename(clients.id, 'Customers');
    await sides.sync.run();
    expect(sides.fake.picture()).toMatchObject({ INBOX: [], Customers: [], 'Customers/Ada': ['letter'] });
    expect(await find(account, 'letter')).toMatchObject({ id, folder: 'Customers/Ada', mailboxId: ada.id });
    await move(id, 'inbox');
    await sides.server.data(`POST /api/mailboxes:destroy?filterByTk=${ada.id}`, { as: 'ann' });
    await sides.sync.read();
    await sides.sync.run();
    expect(sides.fake.picture()).toMatchObject({ INBOX: ['letter'], Customers: [] });
    expect([...sides.fake.mailboxes.keys()]).not.toContain('Customers/Ada');
    const paths = (await mailboxesOf(account)).map(({ path }) => path).sort();
    expect(paths).toEqual([...sides.fake.mailboxes.keys()].sort());
    const inbox = (await mailboxesOf(account)).find(({ role }) => role === 'inbox');
    const refused = await sides.server.call(`PATCH /api/mailboxes/${inbox.id}`, {
      as: 'ann',
      body: { path: 'Eingang' },
    });
    expect(refused.status).toBe(403);
    expect((await mailboxesOf(account)).find(({ role }) => role === 'inbox')).toEqual(inbox);
  });

  test('a mailbox that is renamed on the server keeps its e-mails, and one that is deleted there loses them', async () => {
    const account = await connect();
    sides.fake.append('Work', mail('kept'), []);
    await sides.sync.run();
    const { id, mailboxId } = await find(account, 'kept');
    sides.fake.renameMailbox('Work', 'Office');
    await sides.sync.run();
    expect(await find(account, 'kept')).toMatchObject({ id, mailboxId, folder: 'Office' });
    sides.fake.deleteMailbox('Office');
    await sides.sync.run();
    expect(await list(account)).toEqual([]);
    expect((await mailboxesOf(account)).map(({ path }) => path)).toEqual(['INBOX', 'Trash']);
  });

  test('an account that gets another server links its existing e-mails, and does not send earlier changes', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('carried over'), ['\\Seen']);
    await sides.sync.run();
    const { id } = await find(account, 'carried over');
    await update(id, { starred: true });
    const other = { ...imapSettings, host: 'imap.example.net' };
    await sides.server.data(`PATCH /api/accounts/${account}`, { as: 'ann', body: { imap: other } });
    expect(await operations(account)).toEqual([]);
    const address = `box${sides.accounts}@example.com`;
    sides.fake = new FakeMailServer();
    sides.fake.append('INBOX', mail('carried over'), []);
    sides.sync = new FakeSync(sides.server.running.applications.main.mail, { id: account, address }, sides.fake);
    await sides.sync.run();
    // For a message that this server shows for the first time, the flags of the server count.
    expect(await list(account)).toMatchObject([{ id, folder: 'inbox', read: false, starred: false }]);
  });

  test('a reply marks the original as answered when it is queued, and cancelling the sending removes the mark', async () => {
    const account = await connect();
    sides.fake.append('INBOX', mail('question'), []);
    await sides.sync.run();
    const { id } = await find(account, 'question');
    const act = (action: string, body: object): Promise<Json> =>
      sides.server.data(`POST /api/emails:${action}`, { as: 'ann', body });
    const flags = async (): Promise<unknown[]> => {
      const { answered, forwarded } = await find(account, 'question');
      return [answered, forwarded, sides.fake.picture()['INBOX']];
    };
    const draft = await act('reply', { id, text: 'A draft', draft: true });
    expect(await flags()).toEqual([false, false, ['question']]);
    const first = await act('send', { id: draft.id });
    await sides.sync.send();
    expect(await flags()).toEqual([true, false, ['question \\Answered']]);
    const second = await act('reply', { id, text: 'Another answer' });
    await act('cancelSend', { id: first.id });
    await sides.sync.send();
    expect(await flags()).toEqual([true, false, ['question \\Answered']]);
    await act('cancelSend', { id: second.id });
    const third = await act('forward', { id, to: 'cora@example.net' });
    await sides.sync.send();
    expect(await flags()).toEqual([false, true, ['question $Forwarded']]);
    await act('cancelSend', { id: third.id });
    expect((await find(account, 'question')).forwarded).toBe(false);
    // Another program answered the e-mail, so cancelling does not remove the mark.
    sides.fake.setFlag('INBOX', 1, '\\Answered');
    await sides.sync.run();
    const fourth = await act('reply', { id, text: 'Once more' });
    await act('cancelSend', { id: fourth.id });
    await sides.sync.run();
    expect(await flags()).toEqual([true, false, ['question \\Answered']]);
  });

  test('a first synchronisation appends no events about its messages', async () => {
    const account = await connect();
    for (let number = 0; number < 5; number += 1) sides.fake.append('INBOX', mail(`quiet ${number}`), []);
    const { database } = sides.server.running.applications.main;
    const count = async (): Promise<number> => {
      const rows = await createReader(database)(
        sql`SELECT count(*) FROM _events WHERE name IN ('emails.created','conversations.created','conversations.updated')`,
      );
      return Number(rows[0]![0]);
    };
    const before = await count();
    await sides.sync.run(true);
    expect(await count()).toBe(before);
    expect(await list(account)).toHaveLength(5);
    sides.fake.append('INBOX', mail('loud'), []);
    await sides.sync.run();
    expect(await count()).toBe(before + 2);
  });

  test('an account without a server queues nothing', async () => {
    await upload(sides.server, 'ann', 1, makeRawMail({ subject: 'Local' }));
    const { id } = await find(1, 'Local');
    await update(id, { read: true, labels: ['x'] });
    await sides.server.data('POST /api/mailboxes:create', { as: 'ann', body: { accountId: 1, path: 'Elsewhere' } });
    await move(id, 'Elsewhere');
    await sides.server.data(`POST /api/emails:destroy?filterByTk=${id}`, { as: 'ann' });
    await sides.server.data(`POST /api/emails:destroy?filterByTk=${id}`, { as: 'ann' });
    expect(await operations(1)).toEqual([]);
  });
});
