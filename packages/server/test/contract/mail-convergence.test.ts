import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReader } from '../../src/database/run-statement.ts';
import { sql } from '../../src/database/sql.ts';
import { describeEngines } from '../support/engines.ts';
import { type FakeCapabilities, FakeMailServer, FakeSync } from '../support/fake-mail-server.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

/** Random changes on both sides. The seed is fixed, so that both engines get the same changes. */
const seed = 20_261_123;
const numRuns = 25;
const maxMessages = 4;
const folders = ['INBOX', 'Work', 'Trash'] as const;
const fields = { read: '\\Seen', starred: '\\Flagged' } as const;

const message = fc.integer({ min: 0, max: maxMessages - 1 });
const folder = fc.constantFrom(...folders);
const field = fc.constantFrom('read' as const, 'starred' as const);
const step = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), message, folder }),
  fc.record({ kind: fc.constant('setHere' as const), message, field, isSet: fc.boolean() }),
  fc.record({ kind: fc.constant('setThere' as const), message, field, isSet: fc.boolean() }),
  fc.record({ kind: fc.constant('moveHere' as const), message, folder }),
  fc.record({ kind: fc.constant('moveThere' as const), message, folder }),
  fc.record({ kind: fc.constant('deleteHere' as const), message }),
  fc.record({ kind: fc.constant('deleteThere' as const), message }),
  fc.record({ kind: fc.constant('renumber' as const), folder }),
  fc.record({ kind: fc.constantFrom('send' as const, 'read' as const, 'run' as const, 'run' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const program = fc.record({
  uidplus: fc.boolean(),
  objectIds: fc.boolean(),
  steps: fc.array(step, { minLength: 4, maxLength: 24 }),
});

/**
 * The expected final state of a message: the flags that were set last, where local changes win, and whether one side
 * deleted the message.
 */
interface Expected {
  isDeleted: boolean;
  readonly server: Record<keyof typeof fields, boolean>;
  readonly confirmed: Record<keyof typeof fields, boolean>;
  readonly queued: Partial<Record<keyof typeof fields, boolean>>;
}

const pictures = new Map<string, unknown>();

describeEngines('random changes on both sides', (engine) => {
  let server: TestServer;
  let accounts = 0;

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
  });
  afterAll(() => server.stop());

  class Run {
    readonly #account: number;
    readonly #fake: FakeMailServer;
    readonly #sync: FakeSync;
    readonly #expected = new Map<number, Expected>();

    constructor(account: { id: number; address: string }, fake: FakeMailServer) {
      this.#account = account.id;
      this.#fake = fake;
      this.#sync = new FakeSync(server.running.applications.main.mail, account, fake);
    }

    static async begin(capabilities: FakeCapabilities): Promise<Run> {
      accounts += 1;
      const address = `run${accounts}@example.com`;
      const imap = { host: 'imap.example.com', port: 993 };
      const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body: { address, imap } });
      return new Run({ id, address }, new FakeMailServer(capabilities));
    }

    /** All e-mails, including those in the trash. */
    #list(): Promise<Json[]> {
      return server.data(`GET /api/emails:list?filter=${JSON.stringify({ accountId: this.#account })}`, { as: 'ann' });
    }

    async #find(number: number): Promise<Json> {
      return (await this.#list()).find(({ subject }) => subject === `message ${number}`);
    }

    #findThere(number: number): { readonly folder: string; readonly uid: number } | null {
      for (const [name, { messages }] of this.#fake.mailboxes)
        for (const { uid, raw } of messages.values())
          if (raw.includes(`Subject: message ${number}\r`)) return { folder: name, uid };
      return null;
    }

    async take(step: Step): Promise<void> {
      if ('message' in step) return this.#change(step);
      if (step.kind === 'renumber') return this.#fake.renumber(step.folder);
      await this.synchronise(step.kind);
    }

    async synchronise(kind: 'send' | 'read' | 'run'): Promise<void> {
      await this.#sync[kind]();
      for (const each of this.#expected.values()) {
        if (kind !== 'read') {
          Object.assign(each.server, each.queued);
          Object.assign(each.confirmed, each.queued);
          for (const name of Object.keys(each.queued)) delete each.queued[name as keyof typeof fields];
        }
        if (kind !== 'send') Object.assign(each.confirmed, each.server);
      }
    }

    async #change(step: Extract<Step, { message: number }>): Promise<void> {
      if (step.kind === 'append') return this.#append(step.message, step.folder);
      const expected = this.#expected.get(step.message);
      const there = this.#findThere(step.message);
      if (step.kind.endsWith('There')) {
        if (there && expected) this.#changeThere(step, there, expected);
        return;
      }
      const email = await this.#find(step.message);
      if (!email || !expected) return;
      if (step.kind === 'moveHere')
        await server.data('POST /api/emails:move', { as: 'ann', body: { ids: [email.id], mailbox: step.folder } });
      if (step.kind === 'deleteHere') {
        await server.data(`POST /api/emails:destroy?filterByTk=${email.id}&force=true`, { as: 'ann' });
        expected.isDeleted = true;
      }
      if (step.kind !== 'setHere') return;
      await server.data(`PATCH /api/emails/${email.id}`, { as: 'ann', body: { [step.field]: step.isSet } });
      if (email[step.field] === step.isSet) return;
      if (expected.confirmed[step.field] === step.isSet) delete expected.queued[step.field];
      else expected.queued[step.field] = step.isSet;
    }

    #append(number: number, name: string): void {
      if (this.#expected.has(number)) return;
      // Only large messages are first stored with only their headers.
      const text = this.#fake.capabilities.headersFirst ? '.\r\n'.repeat(24_000) : 'Hello.';
      const raw = makeRawMail({ subject: `message ${number}`, id: `message-${number}@example.net`, text });
      this.#fake.append(name, raw);
      const none = { read: false, starred: false };
      this.#expected.set(number, { isDeleted: false, server: { ...none }, confirmed: { ...none }, queued: {} });
    }

    #changeThere(
      step: Extract<Step, { message: number }>,
      { folder: name, uid }: { readonly folder: string; readonly uid: number },
      expected: Expected,
    ): void {
      if (step.kind === 'moveThere' && step.folder !== name) this.#fake.move(name, uid, step.folder);
      if (step.kind === 'deleteThere') {
        this.#fake.expunge(name, uid);
        expected.isDeleted = true;
      }
      if (step.kind !== 'setThere') return;
      this.#fake.setFlag(name, uid, fields[step.field], step.isSet);
      expected.server[step.field] = step.isSet;
    }

    /** Both sides after all changes were sent and read. */
    async finish(): Promise<unknown> {
      for (let round = 0; round < 3; round += 1) await this.synchronise('run');
      await this.#sync.downloadBodies();
      const mailboxes: Json[] = await server.data(
        `GET /api/mailboxes?filter=${JSON.stringify({ accountId: this.#account })}`,
        { as: 'ann' },
      );
      const emails = await this.#list();
      const here = mailboxes.map(({ id, path, messages, unread }) => {
        const list = emails.filter(({ mailboxId }) => mailboxId === id);
        expect([messages, unread], path).toEqual([list.length, list.filter(({ read }) => !read).length]);
        const flags = (email: Json): string[] => [
          ...(email.starred ? ['\\Flagged'] : []),
          ...(email.read ? ['\\Seen'] : []),
        ];
        return [path, list.map((each) => [each.subject, ...flags(each)].join(' ')).sort()];
      });
      const picture = this.#fake.picture();
      expect(Object.fromEntries(here)).toEqual(picture);
      const left = Object.values(picture).flat().sort();
      const wanted = [...this.#expected].filter(([, { isDeleted }]) => !isDeleted);
      expect(left).toEqual(
        wanted
          .map(([number, { server: set }]) =>
            [`message ${number}`, ...(set.starred ? ['\\Flagged'] : []), ...(set.read ? ['\\Seen'] : [])].join(' '),
          )
          .sort(),
      );
      const { database } = server.running.applications.main;
      expect(emails.map(({ bodyState }) => bodyState)).toEqual(emails.map(() => 'complete'));
      for (const table of ['mailOperations', 'mailLostPlacements', 'mailMissingBodies'] as const)
        expect(
          await createReader(database)(sql`SELECT id FROM ${`"${table}"`} WHERE "accountId"=${this.#account}`),
          table,
        ).toEqual([]);
      return picture;
    }
  }

  test('both sides end with the same messages, flags and mailboxes, and no message is lost or duplicated', async () => {
    await runPrograms(false);
  }, 180_000);

  test('both sides end with the same state if bodies are downloaded after the headers', async () => {
    await runPrograms(true);
  }, 180_000);

  async function runPrograms(headersFirst: boolean): Promise<void> {
    const property = fc.asyncProperty(program, async ({ steps, ...known }) => {
      const capabilities = { ...known, headersFirst };
      const run = await Run.begin(capabilities);
      for (const each of steps) await run.take(each);
      const picture = await run.finish();
      const name = JSON.stringify({ steps, ...capabilities });
      if (pictures.has(name)) expect(picture).toEqual(pictures.get(name));
      pictures.set(name, picture);
    });
    await fc.assert(property, { seed, numRuns, endOnFailure: process.env['SHRINK'] === undefined });
  }
});
