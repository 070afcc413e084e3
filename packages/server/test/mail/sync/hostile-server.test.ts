import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SyncServices } from '../../../src/mail/sync/sync-services.ts';
import { sqlite } from '../../support/engines.ts';
import { type FaultyConnection, type FaultyImap, type ImapReply, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { TestServer } from '../../support/scenario.ts';
import { fastTimes, waitFor } from '../../support/sync-world.ts';

const capabilities = ['IMAP4rev1', 'IDLE', 'SASL-IR', 'AUTH=PLAIN', 'ENABLE', 'CONDSTORE', 'QRESYNC', 'LIST-STATUS'];

/** The reply to SELECT. */
function select(exists: number, uidvalidity = 1): ImapReply {
  return [
    `* ${exists} EXISTS`,
    `* OK [UIDVALIDITY ${uidvalidity}] Valid`,
    `* OK [UIDNEXT ${exists + 1}] Next`,
    '* OK [HIGHESTMODSEQ 5] Highest',
    '{tag} OK [READ-WRITE] Select completed',
  ];
}

/** The reply to LIST. */
function list(names: readonly string[], exists: number): ImapReply {
  const status = `(MESSAGES ${exists} UIDNEXT ${exists + 1} UIDVALIDITY 1 UNSEEN 0 HIGHESTMODSEQ 5)`;
  return [
    ...names.flatMap((name) => [`* LIST () "/" "${name}"`, `* STATUS "${name}" ${status}`]),
    '{tag} OK List completed',
  ];
}

describe('a malicious mail server', () => {
  let server: TestServer;
  let imap: FaultyImap;
  let account = 0;

  beforeAll(async () => {
    const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1' };
    server = await TestServer.start(sqlite, { env, mailSyncTimes: { ...fastTimes, retryMilliseconds: 1000 } });
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    imap = await startFaultyImap({ security: 'none', capabilities });
  });
  afterEach(async () => {
    if (account > 0) await server.data(`DELETE /api/accounts/${account}`);
    account = 0;
    await imap.stop();
  });

  const start = async (): Promise<void> => {
    const imapServer = { host: '127.0.0.1', port: imap.port, security: 'none', user: 'ann' };
    const body = { name: 'Ann', address: 'ann@example.test', imap: imapServer, password: 'secret-pass' };
    account = (await server.data('POST /api/accounts:create', { body })).id;
  };
  const untilRefused = (): Promise<void> =>
    waitFor(async () => {
      const { status, problem } = await server.data(`GET /api/accounts:get?filterByTk=${account}`);
      return status === 'backoff' && problem?.code === 'protocol';
    }, 'the pause with its reason');

  test('a UIDVALIDITY that changes at every selection ends in a pause, not in an endless loop', async () => {
    let selections = 0;
    imap.script = ({ name }) => {
      if (name === 'LIST') return list(['INBOX'], 3);
      if (name === 'UID SEARCH') return ['* SEARCH 1 2 3', '{tag} OK Search completed'];
      if (name !== 'SELECT') return undefined;
      selections += 1;
      return select(3, selections);
    };
    await start();
    await untilRefused();
    expect(selections).toBeLessThan(20);
  });

  test('a list with more mailboxes than the limit is refused, and none is stored', async () => {
    const names = Array.from({ length: 5001 }, (_, index) => `box ${index}`);
    imap.script = ({ name, args }) => (name === 'LIST' && args.includes('*') ? list(names, 0) : undefined);
    await start();
    await untilRefused();
    expect(await server.data(`GET /api/mailboxes:list?filter={"accountId":${account},"path":"box 1"}`)).toEqual([]);
  });

  test('a line that names millions of expunged messages does not block the other work of the server', async () => {
    const delay = monitorEventLoopDelay({ resolution: 10 });
    imap.script = ({ name, connection }) => {
      if (name === 'LIST') return list(['INBOX'], 0);
      if (name === 'SELECT') return select(0);
      if (name !== 'IDLE' || imap.connections.size === 0) return undefined;
      delay.enable();
      for (let lines = 0; lines < 4; lines += 1) connection.send('* VANISHED (EARLIER) 1:16777216');
      return undefined;
    };
    await start();
    const countLogins = (): number => imap.commands.filter((each) => each.startsWith('AUTHENTICATE')).length;
    await waitFor(() => countLogins() > 1, 'another connection', 30_000);
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(6000);
  });

  test('messages that are much larger than the server announced are not kept in memory', async () => {
    const bytes = 'x'.repeat(30_000_000);
    const uids = [1, 2, 3];
    imap.script = ({ name, args, connection }) => {
      if (name === 'LIST') return list(['INBOX'], 3);
      if (name === 'SELECT') return select(3);
      if (name === 'UID SEARCH') return ['* SEARCH 1 2 3', '{tag} OK Search completed'];
      if (name !== 'UID FETCH') return undefined;
      const content = args.includes('BODY.PEEK[]') ? `BODY[] {${bytes.length}}\r\n${bytes}` : 'RFC822.SIZE 100';
      for (const uid of uids) connection.send(`* ${uid} FETCH (UID ${uid} FLAGS () MODSEQ (1) ${content})`);
      return ['{tag} OK Fetch completed'];
    };
    await start();
    await untilRefused();
    expect(await server.data(`GET /api/emails:list?accountId=${account}`)).toEqual([]);
  });

  test('a reply with endless rows is aborted', async () => {
    let isSending = false;
    imap.script = ({ name, connection }) => {
      if (name === 'LIST') return list(['INBOX'], 3);
      if (name === 'SELECT') return select(3);
      if (name === 'UID SEARCH') return ['* SEARCH 1 2 3', '{tag} OK Search completed'];
      if (name !== 'UID FETCH') return undefined;
      if (!isSending) sendRows(connection);
      isSending = true;
      return [];
    };
    const sendRows = (connection: FaultyConnection): void => {
      for (let row = 0; row < 100; row += 1)
        connection.send(`* 1 FETCH (UID ${1 + (row % 3)} FLAGS () MODSEQ (1) RFC822.SIZE 100)`);
      if (imap.connections.has(connection)) setTimeout(() => sendRows(connection), 5);
    };
    await start();
    await untilRefused();
  });

  test('a reply that takes too long is aborted', async () => {
    const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1' };
    const times = { ...fastTimes, fetchMilliseconds: 1000 };
    const other = await TestServer.start(sqlite, { env, mailSyncTimes: times });
    let timer: NodeJS.Timeout | undefined;
    try {
      imap.script = ({ name, connection }) => {
        if (name === 'LIST') return list(['INBOX'], 3);
        if (name === 'SELECT') return select(3);
        if (name === 'UID SEARCH') return ['* SEARCH 1 2 3', '{tag} OK Search completed'];
        if (name !== 'UID FETCH') return undefined;
        clearInterval(timer);
        timer = setInterval(() => connection.send('* OK Still here'), 200);
        return [];
      };
      const imapServer = { host: '127.0.0.1', port: imap.port, security: 'none', user: 'ann' };
      const body = { name: 'Ann', address: 'ann@example.test', imap: imapServer, password: 'secret-pass' };
      const { id } = await other.data('POST /api/accounts:create', { body });
      const readAccount = (): Promise<Json> => other.data(`GET /api/accounts:get?filterByTk=${id}`);
      await waitFor(async () => (await readAccount()).problem?.code === 'timedOut', 'the problem', 30_000);
      expect(await readAccount()).toMatchObject({ status: 'backoff', problem: { cure: expect.any(String) } });
    } finally {
      clearInterval(timer);
      await other.stop();
    }
  });

  describe('a connection that falls silent', () => {
    const raw = `Subject: Slow\r\n\r\n${'x'.repeat(60_000)}`;
    let other: TestServer;
    let id = 0;

    beforeEach(async () => {
      const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1' };
      const times = { ...fastTimes, silenceMilliseconds: 1500, retryMilliseconds: 600_000, pollMilliseconds: 600_000 };
      other = await TestServer.start(sqlite, { env, mailSyncTimes: times });
    });
    afterEach(() => other.stop());

    const serve = (reply: (connection: FaultyConnection) => ImapReply, name: string): void => {
      imap.script = ({ name: command, args, connection }) => {
        if (command === name && (name !== 'UID FETCH' || args.includes('BODY.PEEK[]'))) return reply(connection);
        if (command === 'LIST') return list(['INBOX'], 1);
        if (command === 'SELECT') return select(1);
        if (command === 'UID SEARCH') return ['* SEARCH 1', '{tag} OK Search completed'];
        if (command !== 'UID FETCH') return undefined;
        const content = args.includes('BODY.PEEK[]') ? `BODY[] {${raw.length}}\r\n${raw}` : 'RFC822.SIZE 60000';
        return [`* 1 FETCH (UID 1 FLAGS () MODSEQ (1) ${content})`, '{tag} OK Fetch completed'];
      };
    };
    const create = async (): Promise<void> => {
      const imapServer = { host: '127.0.0.1', port: imap.port, security: 'none', user: 'ann' };
      const body = { name: 'Ann', address: 'ann@example.test', imap: imapServer, password: 'secret-pass' };
      id = (await other.data('POST /api/accounts:create', { body })).id;
    };
    const readAccount = (): Promise<Json> => other.data(`GET /api/accounts:get?filterByTk=${id}`);
    const untilTimedOut = async (): Promise<void> => {
      await waitFor(async () => (await readAccount()).problem?.code === 'timedOut', 'the problem', 30_000);
      const { status, retryAt } = await readAccount();
      expect({ status, retryAt }).toEqual({ status: 'backoff', retryAt: expect.any(String) });
      expect(imap.connections.size).toBe(0);
      expect(await other.data(`GET /api/emails:list?accountId=${id}`)).toEqual([]);
    };

    test('before the answer to a FETCH is closed, and opened again after a pause', async () => {
      serve(() => [], 'UID FETCH');
      await create();
      await untilTimedOut();
    });

    test('in the middle of a message is closed, and no part of the message is stored', async () => {
      serve((connection) => {
        connection.send(`* 1 FETCH (UID 1 FLAGS () MODSEQ (1) BODY[] {${raw.length}}\r\n${raw.slice(0, 100)}`);
        connection.becomeDeaf();
        return [];
      }, 'UID FETCH');
      await create();
      await untilTimedOut();
    });

    test('during another command is closed', async () => {
      serve(() => [], 'UID SEARCH');
      await create();
      await untilTimedOut();
    });

    test('is kept if the message arrives slowly', async () => {
      serve((connection) => {
        imap.bytesPerSecond = 15_000;
        connection.send(`* 1 FETCH (UID 1 FLAGS () MODSEQ (1) BODY[] {${raw.length}}\r\n${raw})`);
        return ['{tag} OK Fetch completed'];
      }, 'UID FETCH');
      await create();
      const listStored = (): Promise<Json[]> => other.data(`GET /api/emails:list?accountId=${id}`) as never;
      await waitFor(async () => (await listStored()).length === 1, 'the message', 30_000);
      expect(await other.data('GET /api/mailProblems:list')).toEqual([]);
      expect((await readAccount()).problem).toBeNull();
    });
  });

  test('a message that is larger than the server announced is only kept in memory if the memory budget allows it', async () => {
    const { services } = server.running.applications.main.mail.connections.parts as unknown as {
      readonly services: { readonly sync: SyncServices };
    };
    const raw = `Subject: Larger\r\n\r\n${'x'.repeat(3_000_000)}`;
    const used: number[] = [];
    imap.script = ({ name, args, connection }) => {
      if (name === 'LIST') return list(['INBOX'], 1);
      if (name === 'SELECT') return select(1);
      if (name === 'UID SEARCH') return ['* SEARCH 1', '{tag} OK Search completed'];
      if (name !== 'UID FETCH') return undefined;
      const hasContent = args.includes('BODY.PEEK[]');
      if (hasContent) used.push(services.sync.bytes.used);
      const content = hasContent ? `BODY[] {${raw.length}}\r\n${raw}` : 'RFC822.SIZE 100';
      connection.send(`* 1 FETCH (UID 1 FLAGS () MODSEQ (1) ${content})`);
      return ['{tag} OK Fetch completed'];
    };
    await start();
    const listStored = (): Promise<Json[]> => server.data(`GET /api/emails:list?accountId=${account}`) as never;
    await waitFor(async () => (await listStored()).length === 1, 'the message', 30_000);
    expect(used.at(-1)).toBeGreaterThan(raw.length);
  });

  test('a server that drops every connection in IDLE gets longer and longer pauses', async () => {
    imap.script = ({ name, connection }) => {
      if (name === 'IDLE') connection.drop();
      return name === 'IDLE' ? [] : undefined;
    };
    await start();
    const { database } = server.running.applications.main;
    const countFailures = async (): Promise<number> => {
      const text = `SELECT failures FROM accounts WHERE id=${account}`;
      return Number((await database.read([{ text, values: [] }]))[0]?.[0]?.[0]);
    };
    await waitFor(async () => (await countFailures()) >= 3, 'the third failure in succession', 60_000);
    await waitFor(
      async () => {
        const { status, problem } = await server.data(`GET /api/accounts:get?filterByTk=${account}`);
        return status === 'backoff' && problem?.code === 'unreachable';
      },
      'the pause with its reason',
      60_000,
    );
  });

  test('after a stable connection, earlier failures no longer count', async () => {
    const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1' };
    const times = { ...fastTimes, stableMilliseconds: 0 };
    const other = await TestServer.start(sqlite, { env, mailSyncTimes: times });
    try {
      imap.script = ({ name, connection, count }) => {
        if (name === 'IDLE' && count <= 5) connection.drop();
        return name === 'IDLE' && count <= 5 ? [] : undefined;
      };
      const imapServer = { host: '127.0.0.1', port: imap.port, security: 'none', user: 'ann' };
      const body = { name: 'Ann', address: 'ann@example.test', imap: imapServer, password: 'secret-pass' };
      await other.data('POST /api/accounts:create', { body });
      const countIdle = (): number => imap.commands.filter((each) => each === 'IDLE').length;
      await waitFor(() => countIdle() > 5, 'the connection that lasts', 60_000);
      expect(await other.data('GET /api/mailProblems:list')).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});
