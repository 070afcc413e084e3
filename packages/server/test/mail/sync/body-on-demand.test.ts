import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { describeEngines } from '../../support/engines.ts';
import { type FaultyImap, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { SyncWorld, waitFor } from '../../support/sync-world.ts';

const raw = [
  'From: Zoe <zoe@example.test>',
  'To: alice@example.test',
  'Subject: plan',
  'Message-ID: <plan@test>',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'The whole needle.',
  '--b',
  'Content-Type: text/plain; name=plan.txt',
  'Content-Disposition: attachment; filename=plan.txt',
  '',
  'A plan',
  '--b--',
  '',
].join('\r\n');

if (hasDovecot())
  describeEngines('an e-mail of which only the headers are stored', (engine) => {
    let world: SyncWorld;
    let proxy: FaultyImap;
    let id = 0;
    let conversation = 0;

    const run = (text: string): Promise<unknown> =>
      world.server.running.applications.main.database.write((transaction) => transaction.run({ text, values: [] }));
    const readState = async (): Promise<unknown> => {
      const rows = await world.server.running.applications.main.database.read([
        { text: `SELECT identity,"bodyState",size,snippet,_v FROM emails WHERE id=${id}`, values: [] },
        { text: `SELECT filename,state,sha256 FROM attachments WHERE "emailId"=${id}`, values: [] },
      ]);
      return JSON.parse(JSON.stringify(rows));
    };
    const countFetches = (): number => proxy.commands.filter((each) => /UID FETCH/i.test(each)).length;

    beforeAll(async () => {
      world = await SyncWorld.open(engine);
      proxy = await startFaultyImap({ upstreamPort: world.dovecot.imapPort, security: 'none' });
      const client = await world.openClient();
      await client.append('INBOX', raw);
      await world.createAccount();
      await world.untilLive();
      await waitFor(async () => (await world.findEmail('plan')) !== undefined, 'the message');
      const email = (await world.findEmail('plan')) as Json;
      id = email.id;
      conversation = email.conversationId;
      const bob = { email: 'bob@example.test', password: 'a-long-password-of-bob', roles: ['editor'] };
      await world.server.data('POST /api/users:create', { body: bob });
      world.server.tokens.set('bob', await world.server.signIn(bob.email, bob.password));
      // From now on only readers connect to the mail server.
      await world.server.running.applications.main.mail.sync.end();
      // Checks that earlier tests started would change the e-mail while a test compares it.
      await world.server.running.applications.main.mail.authenticity.end();
      await run(`UPDATE accounts SET imap='${imapOf(proxy.port)}' WHERE id=${world.account}`);
    });
    afterAll(async () => {
      await world?.close();
      await proxy?.stop();
    });

    const imapOf = (port: number): string =>
      JSON.stringify({ host: '127.0.0.1', port, security: 'none', user: world.dovecot.users['alice']!.address });

    beforeEach(async () => {
      await run(`UPDATE emails SET "bodyState"='partial',identity='headers:${id}',snippet='' WHERE id=${id}`);
      await run(
        `UPDATE "mailContents" SET text='',html=NULL,"rawSha256"=NULL WHERE id=(SELECT "contentId" FROM emails WHERE id=${id})`,
      );
      await run(`UPDATE attachments SET state='remote',sha256=NULL,"sniffedType"=NULL WHERE "emailId"=${id}`);
    });

    test('concurrent readers get the whole message with one fetch', async () => {
      const before = countFetches();
      const replies = await Promise.all([1, 2, 3, 4].map(() => world.server.data(`GET /api/emails/${id}`)));
      for (const { bodyState, text, attachments } of replies) {
        expect([bodyState, text.trim()]).toEqual(['complete', 'The whole needle.']);
        expect(attachments).toMatchObject([{ filename: 'plan.txt', state: 'stored' }]);
      }
      expect(countFetches() - before).toBe(1);
      expect(await world.listEmails('&search=needle')).toHaveLength(1);
    });

    test('a conversation is shown with the body', async () => {
      const { emails } = await world.server.data(`GET /api/conversations/${conversation}`);
      expect(emails[0]).toMatchObject({ bodyState: 'complete', text: expect.stringContaining('needle') });
    });

    test('the raw message is read from the mail server', async () => {
      const reply = await fetch(`${world.server.running.url}/api/emails/${id}?raw=1`, {
        headers: { authorization: `Bearer ${world.server.tokens.get('admin')}` },
      });
      expect([reply.status, await reply.text()]).toEqual([200, raw]);
    });

    test('a reader who may not read the e-mail causes no fetch', async () => {
      // His role reads mail, but he is no member of the account.
      expect(await world.server.data('GET /api/emails', { as: 'bob' })).toEqual([]);
      const before = [countFetches(), await readState()];
      for (const path of [`emails/${id}`, `emails/${id}?raw=1`, `conversations/${conversation}`]) {
        const reply = await world.server.call(`GET /api/${path}`, { as: 'bob' });
        expect([reply.status, reply.body.code], path).toEqual([403, 'NO_PERMISSION']);
      }
      expect([countFetches(), await readState()]).toEqual(before);
    });

    test('a mail server that cannot be reached is reported with a cure, and nothing changes', async () => {
      await run(`UPDATE accounts SET imap='${imapOf(1)}' WHERE id=${world.account}`);
      const before = await readState();
      const reply = await world.server.call(`GET /api/emails/${id}`);
      expect([reply.status, reply.body.code]).toEqual([503, 'MAIL_BODY_REMOTE']);
      expect(reply.text).toContain('Check the host name and the port');
      // A conversation is shown without the body.
      const { emails } = await world.server.data(`GET /api/conversations/${conversation}`);
      expect(emails[0]).toMatchObject({ subject: 'plan', bodyState: 'partial' });
      expect(await readState()).toEqual(before);
      await run(`UPDATE accounts SET imap='${imapOf(proxy.port)}' WHERE id=${world.account}`);
    });

    test('a message whose body the mail server does not return can be read later, and nothing changes', async () => {
      proxy.script = ({ name }) => (name === 'UID FETCH' ? ['{tag} OK Fetch completed'] : undefined);
      const before = await readState();
      const reply = await world.server.call(`GET /api/emails/${id}`);
      expect([reply.status, reply.body.code]).toEqual([503, 'MAIL_BODY_REMOTE']);
      expect(reply.headers.get('retry-after')).toBe('5');
      expect(await readState()).toEqual(before);
      proxy.script = () => undefined;
    });

    test('a message in a mailbox with new UIDs can be read later, and nothing changes', async () => {
      await run(`UPDATE "mailPlacements" SET uidvalidity='1' WHERE "emailId"=${id}`);
      const before = await readState();
      const reply = await world.server.call(`GET /api/emails/${id}`);
      expect([reply.status, reply.body.code]).toEqual([503, 'MAIL_BODY_REMOTE']);
      expect(reply.text).toContain('renumbered its messages');
      expect(await readState()).toEqual(before);
      await run(
        `UPDATE "mailPlacements" SET uidvalidity=(SELECT m.uidvalidity FROM mailboxes m WHERE m.id="mailboxId") WHERE "emailId"=${id}`,
      );
    });

    /** Expects that every request for the message replies that it was deleted, and changes nothing. */
    const expectDeleted = async (): Promise<void> => {
      const [file] = (await world.server.data(`GET /api/attachments?filter={"emailId":${id}}`)) as unknown as Json[];
      const before = await readState();
      for (const path of [`emails/${id}`, `emails/${id}?raw=1`, `attachments/${file!.id}`]) {
        const reply = await world.server.call(`GET /api/${path}`);
        expect([reply.status, reply.body.code, reply.body.error], path).toEqual([
          404,
          'MAIL_BODY_DELETED',
          'Not Found',
        ]);
        expect(reply.text).toContain('deleted or moved');
        expect(reply.headers.get('retry-after')).toBeNull();
      }
      expect(await readState()).toEqual(before);
    };

    test('reading a message whose mailbox was deleted on the mail server is refused without a retry, and nothing changes', async () => {
      await run(`UPDATE mailboxes SET "rawPath"='Former' WHERE path='INBOX'`);
      await expectDeleted();
      await run(`UPDATE mailboxes SET "rawPath"='INBOX' WHERE path='INBOX'`);
    });

    test('reading a message that was deleted on the mail server is refused without a retry, and nothing changes', async () => {
      const client = await world.openClient();
      await client.mailboxOpen('INBOX');
      await client.messageDelete('1:*');
      await expectDeleted();
      // A conversation is shown without the body, and an export without the e-mail.
      const { emails } = await world.server.data(`GET /api/conversations/${conversation}`);
      expect(emails[0]).toMatchObject({ subject: 'plan', bodyState: 'partial' });
      const exported = await fetch(`${world.server.running.url}/api/emails:export?account=${world.account}`, {
        headers: { authorization: `Bearer ${world.server.tokens.get('admin')}` },
      });
      expect([exported.status, await exported.text()]).toEqual([200, '']);
    });
  });
