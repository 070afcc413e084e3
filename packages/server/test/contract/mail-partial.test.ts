/**
 * E-mails whose headers were stored without the body: how they are recognised, and what changes when the body arrives.
 */
import { expect, test } from 'vitest';
import { createReader } from '../../src/database/run-statement.ts';
import { sql } from '../../src/database/sql.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { makeLargeMail } from '../support/large-mail.ts';
import { upload } from '../support/mail-account-server.ts';
import { useTwoSides } from '../support/two-sides.ts';

const file = { partId: '2', filename: 'plan.pdf', contentType: 'application/pdf', contentId: null };

describeEngines('e-mails whose bodies are on the mail server', (engine) => {
  const sides = useTwoSides(engine);
  const { connect, list, mailboxesOf, find, operations } = sides;

  const open = async () => {
    const account = await connect();
    await sides.sync.run();
    const { server } = sides.server.running.applications.main.mail;
    const box = { id: account, address: 'x' };
    const boxes = await server.readMailboxes(account);
    const select = (path: string) => boxes.find((each) => each.path === path)!;
    const envelope = (uid: number) => ({
      uid,
      modseq: null,
      flags: [],
      labels: null,
      providerId: null,
      providerThreadId: null,
      internalDate: '2026-11-20T10:00:00.000Z',
    });
    return {
      account,
      server,
      storePartial: async (path: string, uid: number, raw: string): Promise<number> => {
        const headers = Buffer.from(raw.slice(0, raw.indexOf('\r\n\r\n') + 4));
        const attachments = [{ ...file, size: 30_000, disposition: 'attachment' as const }];
        const message = { ...envelope(uid), headers, size: raw.length, attachments };
        const [result] = await server.storePartial(box, select(path), [message], { cursor: {}, quiet: true });
        return result!.emailId!;
      },
      storeWhole: async (path: string, uid: number, raw: string): Promise<Json> => {
        const message = { ...envelope(uid), raw: Buffer.from(raw) };
        return (await server.storeMessages(box, select(path), [message], { cursor: {} }))[0]!;
      },
      complete: (id: number, raw: string, isQuiet = false) =>
        server.bodies.complete(box, id, { raw: Buffer.from(raw), isQuiet }),
      countMessages: async () => (await mailboxesOf(account)).map(({ messages }) => messages),
      readWaiting: async (): Promise<number[]> => {
        const { database } = sides.server.running.applications.main;
        const rows = await createReader(database)(
          sql`SELECT "emailId" FROM "mailMissingBodies" WHERE "accountId"=${account}`,
        );
        return rows.map(([id]) => Number(id));
      },
    };
  };
  const readEvents = async (): Promise<unknown[]> => {
    const { database } = sides.server.running.applications.main;
    return (await createReader(database)(sql`SELECT name FROM _events ORDER BY id`)).map(([name]) => name);
  };

  test('the same message in another mailbox is the same e-mail, and one with another body is not', async () => {
    const { account, storePartial, complete, countMessages } = await open();
    const raw = makeLargeMail('copies');
    const id = await storePartial('INBOX', 7, raw);
    expect(await storePartial('Work', 3, raw)).toBe(id);
    const changed = raw.replace('The needle', 'Another word');
    const other = await storePartial('Work', 4, changed);
    expect(other).not.toBe(id);
    expect(await list(account)).toHaveLength(2);
    expect([await complete(id, raw), await complete(other, changed)]).toEqual([id, other]);
    expect(await list(account)).toHaveLength(2);
    expect(await countMessages()).toEqual([1, 0, 2]);
  });

  test('a complete message adds the body to the e-mail that was stored with its headers, whether it is synchronised or imported', async () => {
    const { account, storePartial, storeWhole, readWaiting, countMessages } = await open();
    const [moved, imported] = [makeLargeMail('moved'), makeLargeMail('imported')];
    const first = await storePartial('Work', 1, moved);
    const second = await storePartial('Work', 2, imported);
    expect((await readWaiting()).sort()).toEqual([first, second].sort());
    expect(await storeWhole('INBOX', 1, moved)).toMatchObject({ outcome: 'duplicate', emailId: first });
    const report = await upload(sides.server, 'ann', account, imported.replaceAll('\r\n', '\n'));
    expect(report).toMatchObject({ stored: 0, duplicates: 1 });
    const emails = await list(account);
    expect(emails.map(({ id, bodyState }) => [id, bodyState]).sort()).toEqual(
      [first, second].sort().map((id) => [id, 'complete']),
    );
    expect(await readWaiting()).toEqual([]);
    expect(await list(account, '&search=needle')).toHaveLength(2);
    expect(await countMessages()).toEqual([2, 0, 2]);
  });

  test('of two e-mails that turn out to be the same message, the first one remains, with the mailboxes of both', async () => {
    const { account, storePartial, complete, countMessages } = await open();
    // Empty lines at the end change the size but not the identity of the message.
    const twice = (raw: string) => `${raw}\r\n\r\n`;
    const raw = makeLargeMail('partial first');
    const id = await storePartial('INBOX', 1, raw);
    await sides.update(id, { labels: ['Mine'] });
    await upload(sides.server, 'ann', account, twice(raw), 'message/rfc822', '&mailbox=Work');
    expect(await list(account)).toHaveLength(2);
    expect(await complete(id, raw)).toBe(id);
    expect(await list(account)).toMatchObject([{ id, bodyState: 'complete', labels: ['Mine'], hasAttachments: true }]);
    expect(await countMessages()).toEqual([1, 0, 1]);

    const other = makeLargeMail('whole first');
    const [known] = (await upload(sides.server, 'ann', account, twice(other), 'message/rfc822', '&mailbox=Work')).ids;
    const late = await storePartial('INBOX', 2, other);
    expect(late).not.toBe(known);
    expect(await complete(late, other)).toBe(known);
    expect((await list(account)).map(({ id: each }) => each).sort()).toEqual([id, known].sort());
    expect(await countMessages()).toEqual([2, 0, 2]);
    expect(
      await sides.server.data(`GET /api/conversations?filter={"accountId":${account}}`, { as: 'ann' }),
    ).toHaveLength(2);
  });

  test('an e-mail that is permanently deleted before its body was downloaded is not stored again', async () => {
    const { account, storePartial, storeWhole, readWaiting } = await open();
    const raw = makeLargeMail('deleted');
    const id = await storePartial('INBOX', 5, raw);
    await sides.server.data(`DELETE /api/emails/${id}?force=true`, { as: 'ann' });
    expect(await readWaiting()).toEqual([]);
    expect(await storeWhole('Work', 6, raw)).toMatchObject({ outcome: 'duplicate', emailId: null });
    expect(await list(account)).toEqual([]);
    expect(await operations(account)).toEqual([
      ['delete', 5, null],
      ['delete', 6, null],
    ]);
  });

  test('a body changes the conversation, the search and the events; a body that nobody has requested causes no event', async () => {
    const { account, storePartial, complete } = await open();
    const [asked, quiet] = [makeLargeMail('asked'), makeLargeMail('quiet')];
    const ids = [await storePartial('INBOX', 1, asked), await storePartial('INBOX', 2, quiet)];
    const { conversationId } = await find(account, 'asked');
    const readConversation = () =>
      sides.server.data(`GET /api/conversations:list?filter={"id":${conversationId}}`, { as: 'ann' });
    expect(await readConversation()).toMatchObject([{ messages: 1, attachments: 1, snippet: '' }]);
    expect(await list(account, '&search=plan.pdf')).toHaveLength(2);
    expect(await list(account, '&search=needle')).toEqual([]);
    const before = (await readEvents()).length;
    await complete(ids[1]!, quiet, true);
    expect((await readEvents()).slice(before)).toEqual([]);
    await complete(ids[0]!, asked);
    expect((await readEvents()).slice(before).sort()).toEqual(['conversations.updated', 'emails.updated']);
    expect(await readConversation()).toMatchObject([{ snippet: expect.stringContaining('needle'), attachments: 1 }]);
    expect(await list(account, '&search=needle')).toHaveLength(2);
    expect(await complete(ids[0]!, asked)).toBeNull();
  });

  test('a body without the attachment that the structure announced changes the counts of the conversation', async () => {
    const { account, storePartial, complete } = await open();
    const raw = makeLargeMail('no file', { attachments: [] });
    const id = await storePartial('INBOX', 1, raw);
    const { conversationId } = await find(account, 'no file');
    await complete(id, raw);
    expect(await find(account, 'no file')).toMatchObject({ hasAttachments: false });
    const path = `GET /api/conversations:list?filter={"id":${conversationId}}`;
    expect(await sides.server.data(path, { as: 'ann' })).toMatchObject([{ attachments: 0 }]);
    expect(await sides.server.data(`GET /api/attachments:list?filter={"emailId":${id}}`, { as: 'ann' })).toEqual([]);
  });
});
