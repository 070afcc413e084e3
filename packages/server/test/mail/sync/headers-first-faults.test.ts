import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import { type FaultyImap, type ImapScript, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { makeLargeMail, parseUids } from '../../support/large-mail.ts';
import { SyncWorld, waitFor } from '../../support/sync-world.ts';

const poisonUid = 2;
const users = ['alice', 'bob', 'carol', 'dora'];

/**
 * A message whose body the server cannot return. Here, attempts follow each other quickly; in production, all of them
 * together take two hours.
 */
describe.skipIf(!hasDovecot())('a large message whose body the mail server cannot return', () => {
  let world: SyncWorld;
  let proxy: FaultyImap;
  beforeAll(async () => {
    world = await SyncWorld.open(sqlite, {
      dovecot: { userNames: users },
      times: { retryMilliseconds: 1, pollMilliseconds: 200 },
    });
    proxy = await startFaultyImap({ upstreamPort: world.dovecot.imapPort, security: 'none' });
  });
  afterAll(async () => {
    await world?.close();
    await proxy?.stop();
  });

  const isPoisonFetch = ({ name, args }: Parameters<ImapScript>[0]): boolean =>
    name === 'UID FETCH' && args.includes('BODY.PEEK[]') && parseUids(args.split(' ')[0] ?? '').includes(poisonUid);
  const fails: Readonly<Record<string, ImapScript>> = {
    'refuses its body': (command) => (isPoisonFetch(command) ? ['{tag} NO Corrupted message'] : undefined),
    'answers without its body': (command) => (isPoisonFetch(command) ? ['{tag} OK Fetch completed'] : undefined),
    'drops the connection': (command) => {
      if (!isPoisonFetch(command)) return undefined;
      command.connection.drop();
      return [];
    },
  };

  test.each(Object.keys(fails))(
    'a server that %s does not stop the download of other messages, and the problem log names the message',
    async (name) => {
      world.user = users[Object.keys(fails).indexOf(name)]!;
      const client = await world.openClient();
      for (const subject of ['before', 'poison', 'after']) await client.append('INBOX', makeLargeMail(subject));
      proxy.script = fails[name]!;
      await world.createAccount(proxy.port);
      const bodyStateOf = async (subject: string): Promise<unknown> => (await world.findEmail(subject))?.bodyState;
      for (const subject of ['before', 'after'])
        await waitFor(async () => (await bodyStateOf(subject)) === 'complete', `the body of ${subject}`);
      await world.deliver('news');
      await waitFor(async () => (await world.findEmail('news')) !== undefined, 'the new message');
      const listProblems = (): Promise<Json[]> =>
        world.server.data(`GET /api/mailProblems:list?sort=-id&filter={"accountId":${world.account}}`) as never;
      const isNamed = ({ code, message, cure }: Json): boolean =>
        code === 'messageUnreadable' && message.includes(`message ${poisonUid} of "INBOX"`) && cure !== '';
      const isGivenUp = (each: Json): boolean => isNamed(each) && each.message.includes('not tried again');
      await waitFor(async () => (await listProblems()).some(isGivenUp), 'the end of the attempts', 60_000);
      expect((await listProblems()).filter((each) => isNamed(each) && !isGivenUp(each))).toHaveLength(1);
      await waitFor(async () => (await world.readAccount()).bodiesWaiting === 0, 'the number of bodies');
      const poison = (await world.findEmail('poison'))!;
      expect(poison.bodyState).toBe('partial');
      // Opening the message starts another attempt.
      expect((await world.server.call(`GET /api/emails/${poison.id}`)).status).toBe(503);
      proxy.script = () => undefined;
      expect(await world.server.data(`GET /api/emails/${poison.id}`)).toMatchObject({ bodyState: 'complete' });
      await world.untilSame();
    },
  );

  test('a message that is expunged after an interrupted step stored its headers is gone', async () => {
    world.user = 'dora';
    const client = await world.openClient();
    await client.append('INBOX', makeLargeMail('expunged'));
    await client.append('INBOX', 'Subject: small\r\nMessage-ID: <small@test>\r\n\r\nText\r\n');
    // The headers of the large message are stored, but the step never ends.
    let isBroken = true;
    proxy.script = ({ name, args, connection }) => {
      if (!isBroken || name !== 'UID FETCH' || !args.includes('BODY.PEEK[]')) return undefined;
      connection.drop();
      return [];
    };
    await world.createAccount(proxy.port);
    await waitFor(async () => (await world.findEmail('expunged')) !== undefined, 'the headers');
    await client.mailboxOpen('INBOX');
    await client.messageDelete('1');
    isBroken = false;
    await waitFor(async () => (await world.findEmail('small')) !== undefined, 'the small message');
    await world.untilSame();
    expect((await world.listEmails()).map(({ subject }) => subject)).toEqual(['small']);
  });
});
