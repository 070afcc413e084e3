/** The synchronisation of an account with an IMAP server in memory. A test changes both sides between its commands. */
import type { ImapFlow } from 'imapflow';
import { BackgroundPace } from '../../src/base/background-pace.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { MailAccount } from '../../src/mail/store/incoming-mail.ts';
import { AccountSync } from '../../src/mail/sync/account-sync.ts';
import { BodyDownload } from '../../src/mail/sync/body-download.ts';
import { ByteBudget } from '../../src/mail/sync/byte-budget.ts';
import { MessageDownload } from '../../src/mail/sync/message-download.ts';
import { OperationExecutor } from '../../src/mail/sync/operation-executor.ts';
import { RunningBodies } from '../../src/mail/sync/running-bodies.ts';
import { StoredMessages } from '../../src/mail/sync/stored-messages.ts';
import { defaultSyncTimes } from '../../src/mail/sync/sync-services.ts';
import { SyncSession } from '../../src/mail/sync/sync-session.ts';
import { ConnectionInMemory, type ImapInMemory } from './imap-in-memory.ts';
import type { TestServer } from './scenario.ts';

const times = { ...defaultSyncTimes, minConnectionMilliseconds: 0, massLossMilliseconds: 0, retryMilliseconds: 0 };

/** An error that ends the connection if it is thrown between two commands. */
export const droppedConnection = (): Error =>
  Object.assign(new Error('The connection was dropped.'), { code: 'NoConnection' });

export class StepwiseSync {
  /** Called with the name of a command before each command, and before the reply to a command that stores a message. */
  before: (command: string) => Promise<void> = async () => {};
  readonly #server: TestServer;
  readonly #account: MailAccount;
  readonly #imap: ImapInMemory;
  readonly #capabilities: readonly string[];

  constructor(server: TestServer, account: MailAccount, imap: ImapInMemory, capabilities: readonly string[]) {
    this.#server = server;
    this.#account = account;
    this.#imap = imap;
    this.#capabilities = capabilities;
  }

  /** Synchronises on one connection until nothing is left to do, or until a test drops the connection. */
  async run(): Promise<void> {
    const sync = this.#createSync();
    try {
      await sync.run();
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'NoConnection') throw error;
    } finally {
      await sync.end();
    }
  }

  #createSync(): AccountSync {
    const { database, mail, changes } = this.#server.running.applications.main as never as Parts;
    const capabilities = this.#capabilities;
    const client = new ConnectionInMemory(this.#imap, { capabilities, before: (command) => this.before(command) });
    const base = {
      pace: new BackgroundPace(),
      account: this.#account,
      session: new SyncSession(client as unknown as ImapFlow, times),
      serverMail: mail.server,
      operations: mail.operations,
      times,
      clock: systemClock,
      logger: console as never,
      since: null,
      signal: new AbortController().signal,
      report: async () => {},
      requireLease: () => {},
    };
    const downloadParts = { ...base, bytes: new ByteBudget(1_000_000) };
    return new AccountSync({
      ...base,
      download: new MessageDownload(downloadParts),
      bodies: new BodyDownload({ ...downloadParts, running: new RunningBodies() }),
      reports: { database, changes, clock: systemClock, logger: base.logger } as never,
      slot: { isWanted: true, release: () => {} } as never,
      createExecutor: () =>
        new OperationExecutor({
          ...base,
          rawSource: new StoredMessages(database, mail.blobs),
          now: () => systemClock.now(),
        }),
      setStatus: async () => {},
      onSynchronised: () => {},
    });
  }
}

type Application = TestServer['running']['applications']['main'];
type Parts = Pick<Application, 'database' | 'mail'> & { readonly changes: unknown };
