/** Messages whose bodies stay on the mail server until they are requested; labels, including those of Gmail. */
import { expect, test } from 'vitest';
import { splitLabels } from '../../src/mail/store/server-flags.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { mail, useTwoSides } from '../support/two-sides.ts';

describeEngines('bodies and labels of mail servers', (engine) => {
  const sides = useTwoSides(engine);
  const { connect, list, mailboxesOf, find, operations, move, update } = sides;

  test('a message can be stored with only its headers, and its body is read when it is requested', async () => {
    const account = await connect();
    await sides.sync.run();
    const { mail: store } = sides.server.running.applications.main;
    const [inbox] = (await store.server.readMailboxes(account)).filter(({ role }) => role === 'inbox');
    const raw = makeRawMail({
      subject: 'Large',
      id: 'large@example.net',
      text: 'The whole needle.',
      attachments: [{ name: 'plan.txt', type: 'text/plain', content: 'A plan' }],
    });
    const headers = Buffer.from(raw.slice(0, raw.indexOf('\r\n\r\n') + 4));
    const box = { id: account, address: 'x' };
    const part = { partId: '2', filename: 'plan.txt', contentType: 'text/plain', contentId: null };
    const envelope = {
      uid: 7,
      modseq: null,
      flags: ['\\Flagged'],
      labels: null,
      providerId: 'L1',
      providerThreadId: null,
      internalDate: '2026-11-20T10:00:00.000Z',
    };
    const partial = {
      ...envelope,
      headers,
      size: raw.length,
      attachments: [{ ...part, size: 6, disposition: 'attachment' as const }],
    };
    const validity = { ...inbox!, uidvalidity: '101' };
    const [result] = await store.server.storePartial(box, validity, [partial], { cursor: {} });
    const id = result!.emailId!;
    const get = (): Promise<Json> => sides.server.data(`GET /api/emails/${id}`, { as: 'ann' });
    store.setBodyFetcher(() => Promise.resolve(false));
    const before = await get();
    expect(before).toMatchObject({ subject: 'Large', starred: true, bodyState: 'partial', text: '', size: raw.length });
    expect(before.attachments).toMatchObject([{ filename: 'plan.txt', partId: '2', state: 'remote', sha256: null }]);
    for (const request of [
      `GET /api/attachments/${before.attachments[0].id}`,
      `GET /api/emails/${id}?raw=1`,
      `POST /api/emails:forward`,
    ]) {
      const body = request.startsWith('POST') ? { body: { id, to: 'cora@example.net' } } : {};
      const refused = await sides.server.call(request, { as: 'ann', ...body });
      expect([refused.status, refused.body.code], request).toEqual([503, 'MAIL_BODY_REMOTE']);
    }
    expect(await list(account, '&search=needle')).toEqual([]);
    store.setBodyFetcher(
      async (key) => (await store.server.bodies.complete(box, key, { raw: Buffer.from(raw) })) !== null,
    );
    const file = await fetch(`${sides.server.running.url}/api/attachments/${before.attachments[0].id}`, {
      headers: { authorization: `Bearer ${sides.server.tokens.get('ann')}` },
    });
    expect(await file.text()).toBe('A plan');
    const after = await get();
    expect(after).toMatchObject({ bodyState: 'complete', starred: true, conversationId: before.conversationId });
    expect(after.text.trim()).toBe('The whole needle.');
    expect(after.attachments).toMatchObject([{ id: before.attachments[0].id, state: 'stored', partId: '2' }]);
    expect(await list(account, '&search=needle')).toHaveLength(1);
    // A copy in another mailbox whose body turns out to be the same becomes the same e-mail.
    const [work] = (await store.server.readMailboxes(account)).filter(({ path }) => path === 'Work');
    const copy = {
      ...partial,
      uid: 3,
      providerId: null,
      headers: Buffer.concat([Buffer.from('X-Copy: 1\r\n'), headers]),
    };
    const [second] = await store.server.storePartial(box, { ...work!, uidvalidity: '103' }, [copy], { cursor: {} });
    expect(await store.server.bodies.complete(box, second!.emailId!, { raw: Buffer.from(raw) })).toBe(id);
    expect(await list(account)).toHaveLength(1);
    expect((await mailboxesOf(account)).map(({ messages }) => messages)).toEqual([1, 0, 1]);
  });

  test('Gmail labels become labels, copies of sent messages are not stored again, and Gmail system labels become keywords', async () => {
    const account = await connect();
    const { mail: store, database } = sides.server.running.applications.main;
    const capabilities = JSON.stringify(['IMAP4REV1', 'X-GM-EXT-1']);
    await database.write((transaction) =>
      transaction.run({ text: `UPDATE accounts SET capabilities='${capabilities}' WHERE id=${account}`, values: [] }),
    );
    sides.fake.createMailbox('Sent', 'sent');
    await sides.sync.run();
    const box = { id: account, address: 'x' };
    const boxes = await store.server.readMailboxes(account);
    const envelope = { uid: 1, modseq: null, flags: [], providerId: 'G1', internalDate: '2026-11-20T10:00:00.000Z' };
    const labels = ['Jahres Bericht', '\\Important'];
    const message = { ...envelope, labels, providerThreadId: 'T1', raw: Buffer.from(mail('gmail')) };
    const inbox = boxes.find(({ role }) => role === 'inbox')!;
    await store.server.storeMessages(box, inbox, [message], { cursor: {} });
    const email = await find(account, 'gmail');
    expect(email).toMatchObject({
      labels: ['Jahres Bericht'],
      keywords: ['\\Important'],
      providerId: 'G1',
      providerThreadId: 'T1',
    });
    await update(email.id, { labels: ['Jahres Bericht', 'Neue Kunden'] });
    const [due] = await store.operations.readDue(box, 10);
    expect(splitLabels(due!.flags!.add)).toEqual({ flags: [], labels: ['Neue Kunden'] });
    await store.operations.begin(box, [due!]);
    await store.operations.complete(box, due!.id, {
      flags: [],
      labels: ['Neue Kunden', 'Jahres Bericht', '\\Important'],
    });
    const report = { uid: 1, flags: [], labels: ['Neue Kunden'], modseq: null };
    await store.server.applyFlags(box, inbox, [report], {});
    expect(await find(account, 'gmail')).toMatchObject({ labels: ['Neue Kunden'], keywords: [] });
    // Gmail stores a sent message itself, with other headers. It is recognised by the Message-ID that this server
    // generated.
    const body = { account, to: 'cora@example.net', subject: 'Sent', text: 'Hello' };
    const { id } = await sides.server.data('POST /api/emails:send', { as: 'ann', body });
    const sent = boxes.find(({ role }) => role === 'sent')!;
    const queued = await sides.server.data(`GET /api/emails/${id}`, { as: 'ann' });
    await database.write((transaction) =>
      transaction.run({ text: `DELETE FROM "mailOutbox" WHERE "emailId"=${queued.id}`, values: [] }),
    );
    await move(queued.id, 'sent');
    expect((await operations(account)).filter(([kind]) => kind === 'append')).toEqual([]);
    const copy = { ...envelope, labels: [], providerId: 'G2', messageId: `<${queued.messageId}>`, size: 99 };
    expect(await store.server.linkKnown(box, sent, [copy])).toEqual([]);
    expect(await list(account, '&folder=sent')).toMatchObject([{ id: queued.id }]);
  });

  test('labels that are not a list of texts are refused, and nothing changes', async () => {
    await upload(sides.server, 'ann', 1, makeRawMail({ subject: 'Labelled' }));
    const before = await find(1, 'Labelled');
    for (const labels of ['x', [1], [''], ['a\nb'], ['\\Inbox'], ['x'.repeat(201)], Array(101).fill('x')]) {
      const reply = await sides.server.call(`PATCH /api/emails/${before.id}`, { as: 'ann', body: { labels } });
      expect([reply.status, reply.body.code], JSON.stringify(labels).slice(0, 40)).toEqual([422, 'VALUE_INVALID']);
      expect(Object.keys(reply.body.details)[0]).toMatch(/^labels/);
    }
    for (const field of ['keywords', 'answered', 'forwarded', 'deleted', 'providerId'])
      expect(
        (await sides.server.call(`PATCH /api/emails/${before.id}`, { as: 'ann', body: { [field]: null } })).status,
      ).toBe(403);
    expect(await find(1, 'Labelled')).toEqual(before);
    const body = { ids: [before.id], labels: [' b ', 'a', 'b'] };
    await sides.server.data('POST /api/emails:batchUpdate', { as: 'ann', body });
    expect(await find(1, 'Labelled')).toMatchObject({ labels: ['a', 'b'] });
    await update(before.id, { labels: null });
    expect(await find(1, 'Labelled')).toMatchObject({ labels: [] });
  });
});
