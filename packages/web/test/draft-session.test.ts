/** Drafts, sent messages and uploads if requests fail on their way; no browser is needed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../../client/src/client.ts';
import { startMailAccountServer, upload as uploadMail } from '../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../server/test/support/scenario.ts';
import { importMail } from '../src/inbox/accounts/mail-upload.ts';
import { DraftSession } from '../src/inbox/compose/draft-session.ts';
import type { DraftOptions, DraftOrigin } from '../src/inbox/compose/draft-state.ts';
import { readAccounts } from '../src/inbox/read-accounts.ts';
import { describeWebEngines } from './support/web-page.ts';

describe('composing and importing', () => {
  describeWebEngines('over an unreliable connection', (engine) => {
    let server: TestServer;
    let account: number;
    const mails = (query: string) => server.data(`GET /api/emails?${query}`, { as: 'bob' });
    beforeAll(async () => {
      server = await startMailAccountServer(engine);
      const createdAccount = await server.data('POST /api/accounts:create', {
        as: 'bob',
        body: { address: 'bob@shop.example' },
      });
      account = createdAccount.id;
      const mail = {
        subject: 'Gatefold sleeves',
        from: 'Eve <eve@example.net>',
        to: 'bob@shop.example',
        id: 'g@x',
        text: 'Two',
      };
      await uploadMail(server, 'bob', account, makeRawMail(mail));
    });
    afterAll(() => server?.stop());

    /** A client of bob, whose requests fail or are delayed as `harm` decides. */
    const harmed = (harm: (path: string, go: () => Promise<Response>) => Promise<Response>, retries = 3) =>
      new Client({
        url: server.running.url,
        token: server.tokens.get('bob')!,
        retries,
        fetch: (input, init) => harm(String(input), () => fetch(input, init)),
      });
    const createSession = (client: Client, beginning: DraftOrigin, options: DraftOptions = {}) =>
      new DraftSession(client, beginning, options);

    test('a message waits for a file that failed to upload, and a file that was only delayed by another save arrives', async () => {
      let large = true;
      const client = harmed((path, go) =>
        large && path.includes('emails:attach') ? Promise.resolve(new Response('large', { status: 413 })) : go(),
      );
      const session = createSession(client, { kind: 'new', accountId: account });
      await session.begin();
      session.write({ to: ['eve@example.net'], subject: 'With a file', text: 'See below.' });
      const file = new File(['12.50'], 'invoice.txt');
      const attached = session.attach(file);
      expect(await session.send()).toBeNull();
      expect(await attached).toMatchObject({ done: false, error: { status: 413 } });
      const [draft] = await mails('folder=drafts');
      await server.data(`POST /api/emails:update?filterByTk=${draft.id}`, { as: 'bob', body: { starred: true } });
      large = false;
      expect(await session.attach(file)).toEqual({ done: true });
      expect(session.snapshot().attachments.map(({ filename }) => filename)).toEqual(['invoice.txt']);
      const sent = await session.send();
      expect(await server.data(`GET /api/emails/${sent}`, { as: 'bob' })).toMatchObject({
        folder: 'outbox',
        attachments: [{ filename: 'invoice.txt' }],
      });
    });

    test('a send request that is answered by a proxy is sent once, and text typed in the meantime is included', async () => {
      const session: DraftSession = createSession(
        harmed(async (path, go) => {
          const reply = await go();
          if (path.includes('saveDraft') && !session.snapshot().content!.text.includes('more'))
            session.write({ text: 'One, and more.' });
          return sendings === 0 && path.includes('emails:send') ? new Response('<p>', { status: 502 }) : reply;
        }, 0),
        { kind: 'new', accountId: account },
      );
      let sendings = 0;
      await session.begin();
      session.write({ to: ['eve@example.net'], subject: 'Between', text: 'One.' });
      expect(await session.send()).toBeNull();
      sendings += 1;
      expect(await session.send()).toBeGreaterThan(0);
      expect(await session.send()).toBeNull();
      const found = await mails('folder=outbox&search=subject:Between');
      expect(found.map(({ snippet }: { snippet: string }) => snippet)).toEqual(['One, and more.']);
    });

    test('a reply that is closed before it was created leaves no draft, and an account that is chosen during a save is kept', async () => {
      const [{ id, conversationId }] = await mails('search=subject:Gatefold&folder=inbox');
      let begun = false;
      const left = createSession(
        harmed(async (_, go) => go().finally(() => (begun = true))),
        { kind: 'reply', email: id, conversation: conversationId },
      );
      void left.begin();
      expect(await left.close()).toBe(true);
      await expect.poll(() => begun).toBe(true);
      await expect.poll(() => mails('folder=drafts')).toEqual([]);
      const body = { address: 'second@shop.example' };
      const second = await server.data('POST /api/accounts:create', { as: 'bob', body });
      const saving = Promise.withResolvers<void>();
      const session = createSession(
        harmed(async (path, go) => {
          const reply = await go();
          if (path.includes('saveDraft')) await saving.promise;
          return reply;
        }),
        { kind: 'new', accountId: account },
      );
      await session.begin();
      session.write({ text: 'From whom?' });
      const steps = [session.save(), session.changeSender({ accountId: second.id, address: 'second@shop.example' })];
      saving.resolve();
      await Promise.all(steps);
      expect(session.snapshot().accountId).toBe(second.id);
      expect(await mails('folder=drafts')).toMatchObject([{ accountId: second.id }]);
      await session.discard();
      await server.data(`POST /api/accounts:destroy?filterByTk=${second.id}`, { as: 'bob' });
    });

    test('a reply is stored from its first change on, and a file of a forwarded message can be removed', async () => {
      const [{ id, conversationId }] = await mails('search=subject:Gatefold&folder=inbox');
      const client = harmed((_, go) => go());
      const latest = async () => (await mails('sort=-id&pageSize=1'))[0].id;
      const before = await latest();
      const reply = createSession(client, { kind: 'reply', email: id, conversation: conversationId });
      await reply.begin();
      expect(reply.snapshot()).toMatchObject({ accountId: account, content: { subject: 'Re: Gatefold sleeves' } });
      expect(reply.snapshot().content!.text).toContain('> Two');
      expect([reply.hasWork, await latest(), await mails('folder=drafts')]).toEqual([false, before, []]);
      expect([await reply.close(), await latest()]).toEqual([true, before]);
      const draft = { account, to: ['eve@example.net'], subject: 'With files', text: 'See.' };
      const attachments = ['a.txt', 'b.txt', 'c.txt'].map((filename) => ({ filename, content: btoa(filename) }));
      const sent = await server.data('POST /api/emails:saveDraft', { as: 'bob', body: { ...draft, attachments } });
      const forward = createSession(client, { kind: 'forward', email: sent.id, conversation: sent.conversationId });
      await forward.begin();
      const names = () => forward.snapshot().attachments.map(({ filename }) => filename);
      expect([names(), forward.hasWork]).toEqual([['a.txt', 'b.txt', 'c.txt'], false]);
      expect(await mails('folder=drafts')).toMatchObject([{ id: sent.id }]);
      const [first, second] = forward.snapshot().attachments;
      await Promise.all([forward.detach(first!), forward.detach(second!)]);
      expect([names(), forward.hasWork]).toEqual([['c.txt'], true]);
      const [createdAccount] = await mails('folder=drafts&search=subject:Fwd');
      const stored = await server.data(`GET /api/emails/${createdAccount.id}`, { as: 'bob' });
      expect(stored).toMatchObject({ subject: 'Fwd: With files', attachments: [{ filename: 'c.txt' }] });
      await forward.discard();
      await server.data('POST /api/emails:destroy?force=true', { as: 'bob', body: { ids: [sent.id] } });
      expect(await mails('folder=drafts')).toEqual([]);
    });

    test('saving HTML without getting a reply causes no conflict, and a cancelled upload leaves no file', async () => {
      let isLost = true;
      const client = harmed(async (path, go) => {
        const reply = await go();
        if (!isLost || !path.includes('saveDraft')) return reply;
        isLost = false;
        throw new TypeError('cut');
      }, 0);
      const senders = [
        {
          accountId: account,
          address: 'bob@shop.example',
          label: 'Bob',
          signature: { text: 'Bob', html: '<div>Bob &amp; "co"</div>' },
        },
      ];
      const session = createSession(client, { kind: 'new', accountId: account }, { senders, format: 'html' });
      await session.begin();
      const signature = '<div class="gmail_signature"><div>Bob &amp; "co"</div></div>';
      expect(session.snapshot().content!.html).toBe(`<div><br></div><div><br></div>${signature}`);
      const html = `<div>One\u00a0<strong>&lt;two&gt;</strong> <a href="https://shop.example/?a=1&amp;b=2">link</a></div>${signature}`;
      session.write({ subject: 'Cut off', html });
      expect(await session.save()).toBe(false);
      expect(await session.save()).toBe(true);
      isLost = true;
      session.write({ html: html.replace('One', 'Two') });
      expect(await session.save()).toBe(false);
      expect(await session.save()).toBe(true);
      expect(session.snapshot()).toMatchObject({ conflict: null, saving: 'saved' });
      const upload = session.uploads.add(new File(['x'.repeat(1000)], 'large.bin'));
      session.uploads.snapshot()[0]!.cancel();
      expect(await upload).toMatchObject({ done: false, isCancelled: true });
      expect(session.uploads.snapshot()).toEqual([]);
      const [draft] = await mails('folder=drafts&search=subject:cut');
      const stored = await server.data(`GET /api/emails/${draft.id}`, { as: 'bob' });
      expect([stored.attachments, stored.html]).toEqual([
        [],
        expect.stringContaining('Two\u00a0<strong>&lt;two&gt;</strong>'),
      ]);
      await session.discard();
    });

    test('a message is forwarded as a file, without a quotation', async () => {
      const [{ id, conversationId }] = await mails('search=subject:Gatefold&folder=inbox');
      const origin = { kind: 'forward', email: id, conversation: conversationId, asAttachment: true } as const;
      const session = createSession(
        harmed((_, go) => go()),
        origin,
        { format: 'html' },
      );
      await session.begin();
      expect(session.snapshot().content).toMatchObject({ html: '<div><br></div>', quote: null });
      session.write({ to: ['eve@example.net'], html: '<div>See the file.</div>' });
      expect(await session.save()).toBe(true);
      expect(session.snapshot().attachments).toMatchObject([{ filename: 'Gatefold sleeves.eml' }]);
      await session.discard();
    });

    test('a draft that cannot be created shows the refusal, and no draft is read', async () => {
      const paths: string[] = [];
      const client = harmed((path, go) => {
        paths.push(new URL(path).pathname);
        return path.includes('saveDraft')
          ? Promise.resolve(Response.json({ error: 'No permissions', code: 'PERMISSION_DENIED' }, { status: 403 }))
          : go();
      });
      const session = createSession(client, { kind: 'new', accountId: account });
      await session.begin();
      session.write({ text: 'Not for me.' });
      expect(await session.save()).toBe(false);
      expect(session.snapshot()).toMatchObject({ conflict: null, error: { status: 403 }, saving: 'soon' });
      expect(paths).toEqual(['/api/emails:saveDraft']);
      await session.discard();
    });

    test('a part of a file whose reply was lost is sent again, and accounts are read beyond the first page', async () => {
      let isCut = false;
      const client = harmed((path, go) => {
        if (isCut || !path.includes('emails:import')) return go();
        isCut = true;
        return go().then(() => Promise.reject(new TypeError('cut')));
      });
      const progress: number[] = [];
      const file = new Blob([
        makeRawMail({ subject: 'Lost on the way', id: 'lost@x', to: 'bob@shop.example', text: 'x' }),
      ]);
      const upload = { account, mailbox: 'INBOX', file, onProgress: (bytes: number) => progress.push(bytes) };
      const report = await importMail(client, { ...upload, signal: new AbortController().signal });
      expect([report.stored, report.duplicates, progress]).toEqual([0, 1, [file.size]]);
      const accountBodies = Array.from({ length: 210 }, (_, n) => ({ address: `ann${n}@shop.example` }));
      for (const body of accountBodies) await server.data('POST /api/accounts:create', { as: 'ann', body });
      const last = await server.data('POST /api/accounts:create', { body: { address: 'root@shop.example' } });
      const root = new Client({ url: server.running.url, token: server.tokens.get('admin')! });
      const { ownAccounts, otherAccounts } = await readAccounts(root, { id: last.ownerId, currentRole: 'admin' });
      expect([ownAccounts.map(({ id }) => id), otherAccounts.length]).toEqual([[last.id], 212]);
    });
  });
});
