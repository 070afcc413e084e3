/** Values in the replies of a mail server that a database cannot store, or that are far too long. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../../support/engines.ts';
import { type FaultyImap, type ImapReply, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { TestServer } from '../../support/scenario.ts';
import { fastTimes, makeMessage, waitFor } from '../../support/sync-world.ts';

const nul = 'a\0b';
const literal = (text: string): string => `{${text.length}}\r\n${text}`;
const long = 'x'.repeat(100_000);
const base = ['IMAP4rev1', 'IDLE', 'SASL-IR', 'AUTH=PLAIN', 'ENABLE', 'LIST-STATUS'];
const gmail = [...base, 'X-GM-EXT-1'];

/** The values that a server returns for its only message. */
interface Hostility {
  readonly name: string;
  readonly capabilities?: readonly string[];
  readonly flags?: string;
  readonly items?: string;
  readonly list?: readonly string[];
  readonly greeting?: string;
  /** The message as the API shows it. */
  readonly shown?: object;
  /** Paths of the mailboxes as the API shows them. */
  readonly paths?: readonly string[];
}

const hostilities: readonly Hostility[] = [
  { name: 'a NUL in a flag as a literal', flags: `\\Seen ${literal(nul)}`, shown: { read: true, labels: [] } },
  { name: 'a NUL in a flag as a quoted string', flags: `"${nul}" work`, shown: { labels: ['work'] } },
  { name: 'a flag with 100,000 characters', flags: `work ${long}`, shown: { labels: ['work'] } },
  { name: '5,000 flags', flags: Array.from({ length: 5000 }, (_, index) => `work${index}`).join(' ') },
  {
    name: 'a NUL in the id of a message',
    capabilities: [...base, 'OBJECTID'],
    items: `EMAILID (${literal(nul)}) THREADID (${literal(nul)})`,
    shown: { providerId: null, providerThreadId: null },
  },
  {
    name: 'an id of a message with 100,000 characters',
    capabilities: [...base, 'OBJECTID'],
    items: `EMAILID (${long}) THREADID (${long})`,
    shown: { providerId: null, providerThreadId: null },
  },
  {
    name: 'a NUL in an id of Gmail',
    capabilities: gmail,
    items: `X-GM-MSGID ${literal(nul)} X-GM-THRID ${literal(nul)}`,
    shown: { providerId: null, providerThreadId: null },
  },
  {
    name: 'a NUL, half a character and 100,000 characters in labels of Gmail',
    capabilities: gmail,
    items: `X-GM-LABELS (work "&AAA-" "&2AA-" ${literal(nul)} ${long})`,
    shown: { labels: ['work'] },
  },
  { name: 'a date of receipt in the year 99999', items: 'INTERNALDATE "01-Jan-99999 00:00:00 +0000"' },
  { name: 'a date of receipt before the year 0', items: 'INTERNALDATE "-100000-01-01T00:00:00Z"' },
  { name: 'a NUL in a capability', capabilities: [...base, nul] },
  { name: 'a capability with 100,000 characters', capabilities: [...base, long] },
  { name: '5,000 capabilities', capabilities: [...base, ...Array.from({ length: 5000 }, (_, index) => `X-${index}`)] },
  { name: 'a NUL in the name of a mailbox', list: [`* LIST () "/" "${nul}"`, '* LIST () "/" "&AAA-"'] },
  { name: 'half a character in the name of a mailbox', list: ['* LIST () "/" "&2AA-"'] },
  { name: 'a name of a mailbox with 100,000 characters', list: [`* LIST () "/" ${long}`] },
  { name: 'a NUL as the delimiter', list: ['* LIST () "\0" Work'], paths: ['INBOX', 'Work'] },
  { name: 'a delimiter with 100,000 characters', list: [`* LIST () "${long}" Work`], paths: ['INBOX', 'Work'] },
  {
    name: 'counters that are too large',
    list: [
      '* LIST () "/" Work',
      '* STATUS Work (MESSAGES 9999999999 UIDNEXT 9999999999 UIDVALIDITY 9999999999999999999 UNSEEN 9999999999)',
    ],
    paths: ['INBOX', 'Work'],
  },
  { name: 'a NUL in the greeting', greeting: `* OK [ALERT] ${nul}` },
];

describeEngines('hostile values of a mail server', (engine) => {
  let server: TestServer;
  let imap: FaultyImap | null = null;
  let account = 0;

  beforeAll(async () => {
    const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1' };
    server = await TestServer.start(engine, { env, mailSyncTimes: { ...fastTimes, pollMilliseconds: 100 } });
  });
  afterAll(() => server?.stop());
  afterEach(async () => {
    if (account > 0) await server.data(`DELETE /api/accounts/${account}`);
    account = 0;
    await imap?.stop();
    imap = null;
  });

  const start = async ({
    capabilities = base,
    flags = '',
    items = '',
    list = [],
    greeting,
  }: Hostility): Promise<void> => {
    const raw = makeMessage('hello', 'Hello', '<hello@test>');
    const select: ImapReply = [
      '* 1 EXISTS',
      '* OK [UIDVALIDITY 1] Valid',
      '* OK [UIDNEXT 2] Next',
      '{tag} OK Selected',
    ];
    imap = await startFaultyImap({ security: 'none', capabilities, ...(greeting && { greeting }) });
    let isInbox = false;
    imap.script = ({ name, args, connection }) => {
      if (name === 'LIST' && args.includes('*'))
        return [
          '* LIST () "/" INBOX',
          '* STATUS INBOX (MESSAGES 1 UIDNEXT 2 UIDVALIDITY 1 UNSEEN 1)',
          ...list,
          '{tag} OK List completed',
        ];
      if (name === 'LIST') return ['{tag} OK List completed'];
      if (name === 'SELECT') {
        isInbox = args.includes('INBOX');
        if (isInbox) return select;
        return args.includes('Work') ? undefined : ['{tag} NO [NONEXISTENT] Unknown mailbox'];
      }
      if (name === 'UID SEARCH') return [`* SEARCH${isInbox ? ' 1' : ''}`, '{tag} OK Search completed'];
      if (name !== 'UID FETCH') return undefined;
      const content = args.includes('BODY.PEEK[]') ? `BODY[] ${literal(raw)}` : `RFC822.SIZE ${raw.length}`;
      connection.send(`* 1 FETCH (UID 1 FLAGS (${flags}) ${items} ${content})`);
      return ['{tag} OK Fetch completed'];
    };
    const imapServer = { host: '127.0.0.1', port: imap.port, security: 'none', user: 'ann' };
    const body = { name: 'Ann', address: 'ann@example.test', imap: imapServer, password: 'secret-pass' };
    account = (await server.data('POST /api/accounts:create', { body })).id;
  };

  /** The versions of all stored e-mails and mailboxes of the account. */
  const readVersions = async (): Promise<unknown> => {
    const { database } = server.running.applications.main;
    const rows = await database.read([
      { text: `SELECT id,_v FROM emails WHERE "accountId"=${account} ORDER BY id`, values: [] },
      { text: `SELECT id,_v FROM mailboxes WHERE "accountId"=${account} ORDER BY id`, values: [] },
    ]);
    return JSON.parse(JSON.stringify(rows));
  };

  // Lengths are limited before values reach a statement. Which text and which range of numbers can be stored depends on
  // the engine.
  const cases = hostilities.filter(({ name }) => engine.name === 'sqlite' || /NUL|half|large/.test(name));
  test.for(cases)('$name does not stop the synchronisation', async (hostility) => {
    await start(hostility);
    let seen = '';
    await waitFor(
      async () => {
        const { status, problem } = await server.data(`GET /api/accounts:get?filterByTk=${account}`);
        seen = `${status} ${JSON.stringify(problem)}`;
        return status === 'live';
      },
      () => `the account to be live: ${seen.slice(0, 500)}`,
      60_000,
    );
    const [email] = (await server.data(`GET /api/emails:list?accountId=${account}`)) as unknown as Json[];
    expect(email).toMatchObject({ subject: 'hello', ...hostility.shown });
    const filter = JSON.stringify({ accountId: account });
    const mailboxes = await server.data(`GET /api/mailboxes:list?filter=${filter}&sort=path`);
    expect(mailboxes.map(({ path }: Json) => path)).toEqual(hostility.paths ?? ['INBOX']);
    // Later synchronisations find that nothing has changed.
    const before = await readVersions();
    const countLooks = (): number => imap!.commands.filter((each) => each.startsWith('LIST "" "*"')).length;
    const looks = countLooks();
    await waitFor(() => countLooks() > looks + 3, 'three more looks');
    expect(await readVersions()).toEqual(before);
    expect(await server.data(`GET /api/mailProblems:list?filter=${filter}`)).toEqual([]);
  });

  /** A reply that contains everything that must not be shown, and is far longer than the text that a problem shows. */
  const refusal = `NO a\0b \x1b[31m ${'x'.repeat(170)}${'\u00f0\u009f\u0098\u0080'.repeat(50_000)}`;
  const expectShort = (text: string): void => {
    expect(text).toMatch(/“a b \[31m x+(?:😀)*…”/u);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toMatch(/\p{Cc}/u);
    expect(text.length).toBeLessThan(500);
  };

  test('the text of a refused connection is shown on one line, with 200 characters', async () => {
    await start({ name: '' });
    imap!.script = ({ name }) => (name === 'LIST' ? [`{tag} ${refusal}`] : undefined);
    for (const connection of imap!.connections) connection.drop();
    const readProblem = async (): Promise<Json> =>
      (await server.data(`GET /api/accounts:get?filterByTk=${account}`)).problem;
    await waitFor(async () => (await readProblem())?.code === 'serverError', 'the problem', 60_000);
    expectShort((await readProblem()).message);
  });

  test('the text of a refused change is shown on one line, with 200 characters', async () => {
    await start({ name: '' });
    await waitFor(
      async () => (await server.data(`GET /api/accounts:get?filterByTk=${account}`)).status === 'live',
      'the account to be live',
    );
    const usual = imap!.script;
    imap!.script = (command) => (command.name === 'CREATE' ? [`{tag} ${refusal}`] : usual(command));
    await server.data('POST /api/mailboxes:create', { body: { accountId: account, path: 'Refused' } });
    const { database } = server.running.applications.main;
    const text = `SELECT "lastError" FROM "mailOperations" WHERE "accountId"=${account}`;
    const readError = async (): Promise<unknown> => (await database.read([{ text, values: [] }]))[0]?.[0]?.[0];
    await waitFor(async () => typeof (await readError()) === 'string', 'the refusal');
    expectShort(String(await readError()));
  });
});
