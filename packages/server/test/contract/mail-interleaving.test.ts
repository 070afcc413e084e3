import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReader } from '../../src/database/run-statement.ts';
import { sql } from '../../src/database/sql.ts';
import { describeEngines } from '../support/engines.ts';
import { ImapInMemory } from '../support/imap-in-memory.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { droppedConnection, StepwiseSync } from '../support/stepwise-sync.ts';

/**
 * Random changes on both sides between the commands of a synchronisation. The seed is fixed; for a longer run:
 * `FC_SEED=7 FC_RUNS=600`.
 */
const seed = Number(process.env['FC_SEED'] ?? 20_261_123);
const numRuns = Number(process.env['FC_RUNS'] ?? 30);
const maxMessages = 3;
const maxCopies = 4;
const folders = ['INBOX', 'Left', 'Right'] as const;
const fields = { read: '\\Seen', starred: '\\Flagged' } as const;

const message = fc.integer({ min: 0, max: maxMessages - 1 });
const folder = fc.constantFrom(...folders);
/** The index of a copy on the mail server. */
const copy = fc.integer({ min: 0, max: 2 });
const field = fc.constantFrom('read' as const, 'starred' as const);
const change = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('setHere' as const), message, field, isSet: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('setThere' as const), message, copy, field, isSet: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('moveHere' as const), message, folder }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('moveThere' as const), message, copy, folder }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('copyThere' as const), message, copy, folder }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const) }) },
);
/** A change, and the number of commands to the mail server before it. */
const step = fc.tuple(fc.integer({ min: 0, max: 4 }), change);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
const program = fc.record({
  count: fc.constantFrom(1, maxMessages),
  uidplus: fc.boolean(),
  move: fc.boolean(),
  steps: fc.array(step, { minLength: 3, maxLength: 30 }),
});

const readSubject = (line: string): string => line.split(' ')[2]!;

/**
 * Removes the flags of messages with several copies: an e-mail has one set of flags, but its copies on the server may
 * differ.
 */
function withoutCopyFlags(lines: readonly string[]): string[] {
  const bySubject = Map.groupBy(lines, readSubject);
  return lines.map((each) =>
    bySubject.get(readSubject(each))!.length > 1 ? each.split(' ').slice(0, 3).join(' ') : each,
  );
}

describeEngines('changes between the commands of a synchronisation', (engine) => {
  let server: TestServer;
  let accounts = 0;

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
  });
  afterAll(() => server.stop());

  class Run {
    readonly #account: { id: number; address: string };
    readonly #imap = new ImapInMemory(folders);
    readonly #sync: StepwiseSync;
    #steps: (readonly [number, Change])[] = [];
    readonly log: string[] = [];

    readonly #count: number;

    constructor(account: { id: number; address: string }, count: number, capabilities: readonly string[]) {
      this.#account = account;
      this.#count = count;
      this.#sync = new StepwiseSync(server, account, this.#imap, capabilities);
      this.#sync.before = (command) => this.#before(command);
    }

    static async begin({ count, uidplus, move }: { count: number; uidplus: boolean; move: boolean }): Promise<Run> {
      accounts += 1;
      const address = `run${accounts}@example.com`;
      const imap = { host: 'imap.example.com', port: 993 };
      const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body: { address, imap } });
      const run = new Run({ id, address }, count, ['IDLE', ...(uidplus ? ['UIDPLUS'] : []), ...(move ? ['MOVE'] : [])]);
      for (let number = 0; number < count; number += 1)
        run.#imap.append(
          folders[number % 2]!,
          makeRawMail({ subject: `message-${number}`, id: `message-${number}@example.net` }),
        );
      await run.#sync.run();
      const { server: store } = server.running.applications.main.mail;
      const reconciledAt = new Date().toISOString();
      for (const each of await store.readMailboxes(id)) await store.setCursor({ id, address }, each, { reconciledAt });
      return run;
    }

    /** Makes the changes, and synchronises until nothing changes on either side. */
    async play(steps: readonly (readonly [number, Change])[]): Promise<void> {
      this.#steps = [...steps];
      while (this.#steps.length > 0) await this.#sync.run();
      for (let round = 0; round < 3; round += 1) await this.#sync.run();
    }

    async #before(command: string): Promise<void> {
      this.log.push(command);
      for (;;) {
        const [next] = this.#steps;
        if (!next) return;
        const [wait, change] = next;
        if (wait > 0) {
          this.#steps[0] = [wait - 1, change];
          return;
        }
        this.#steps.shift();
        this.log.push(`  ${JSON.stringify(change)}`);
        await this.#change(change);
      }
    }

    async #change(change: Change): Promise<void> {
      if (change.kind === 'drop') throw droppedConnection();
      const subject = `message-${change.message % this.#count}`;
      if ('copy' in change) {
        const copies = this.#imap.find(subject);
        const there = copies[change.copy % copies.length];
        if (!there) throw new Error(`${subject} was lost`);
        if (change.kind === 'copyThere') this.#copyThere(there, change.folder, copies.length);
        else if (change.kind === 'setThere')
          this.#imap.setFlag(there.path, there.uid, fields[change.field], change.isSet);
        else if (change.folder !== there.path) this.#imap.move(there.path, there.uid, change.folder);
        return;
      }
      const email = (await this.#list()).find((each) => each.subject === subject);
      if (!email) throw new Error(`${subject} was deleted here`);
      if (change.kind === 'setHere')
        await server.data(`PATCH /api/emails/${email.id}`, { as: 'ann', body: { [change.field]: change.isSet } });
      else await server.data('POST /api/emails:move', { as: 'ann', body: { ids: [email.id], mailbox: change.folder } });
    }

    #copyThere({ path, uid }: { path: string; uid: number }, to: string, count: number): void {
      const stored = this.#imap.get(path).messages.get(uid);
      if (stored && count < maxCopies) this.#imap.append(to, stored.raw, stored.flags);
    }

    /** Subjects and ids of the e-mails. */
    async readIds(): Promise<Json> {
      return Object.fromEntries((await this.#list()).map(({ subject, id }) => [subject, id]));
    }

    #list(): Promise<Json[]> {
      return server.data(`GET /api/emails:list?filter=${JSON.stringify({ accountId: this.#account.id })}`, {
        as: 'ann',
      });
    }

    async read(): Promise<{ here: string[]; there: string[]; waiting: unknown[] }> {
      const run = createReader(server.running.applications.main.database);
      const rows = await run(
        sql`SELECT m.path,p.uid,e.subject,e.starred,e.read FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" JOIN emails e ON e.id=p."emailId" WHERE e."accountId"=${this.#account.id}`,
      );
      const here = rows
        .map(([path, uid, subject, starred, read]) =>
          [path, uid, subject, ...(starred ? ['\\Flagged'] : []), ...(read ? ['\\Seen'] : [])].join(' '),
        )
        .sort();
      const waiting = [
        ...(await run(sql`SELECT * FROM "mailOperations" WHERE "accountId"=${this.#account.id}`)),
        ...(await run(sql`SELECT * FROM "mailLostPlacements" WHERE "accountId"=${this.#account.id}`)),
      ];
      return { here, there: this.#imap.list(), waiting };
    }
  }

  test('both sides end with the same state, and nothing is lost or duplicated', async () => {
    await fc.assert(
      fc.asyncProperty(program, async ({ steps, ...options }) => {
        const run = await Run.begin(options);
        const ids = await run.readIds();
        try {
          await run.play(steps);
          const { here, there, waiting } = await run.read();
          expect(withoutCopyFlags(here)).toEqual(withoutCopyFlags(there));
          expect(waiting).toEqual([]);
          // Each e-mail is still the same one.
          expect(await run.readIds()).toEqual(ids);
          const subjects = here.map(readSubject).sort();
          // Without MOVE, a message that another program moves between COPY and EXPUNGE exists twice.
          const hasCopies = !options.move || steps.some(([, { kind }]) => kind === 'copyThere');
          expect(hasCopies ? [...new Set(subjects)] : subjects).toEqual(
            Array.from({ length: options.count }, (_, index) => `message-${index}`),
          );
        } catch (error) {
          (error as Error).message += `\n${run.log.join('\n')}`;
          throw error;
        }
      }),
      { seed, numRuns, endOnFailure: process.env['SHRINK'] === undefined },
    );
  }, 600_000);
});
