/**
 * Accounts that were destroyed are out of sight at once; what is in them goes afterwards, in pieces between which others write. What is
 * still to go stands in the store, so whoever is killed at it leaves it to the next start, or to another server.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { BlobStore } from '../../base/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { environmentOf } from '../../database/database.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import {
  forgetAccount,
  forgetHistory,
  hasEmails,
  leavingAccounts,
  someOfAccount,
} from '../../database/mail/leaving-rows.ts';
import { limits } from '../../protocol/limits.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { takeDependants } from '../../records/dependants.ts';
import { type RecordContext, snapshotOf } from '../../records/record-context.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import { withServerGrant } from '../../records/with-grants.ts';
import { destroyRecords } from '../../records/write-records.ts';
import type { Collection } from '../../schema/registry.ts';

export interface AccountRemovalParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs work as the server itself, under the current definitions. */
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

/** Records of one transaction: some tens of milliseconds. */
const pieces = { emails: 50, conversations: 100, mailboxes: 100 } as const;
/** Between two pieces others write. */
const pauseMilliseconds = 10;
/** How often it is looked whether something was left by a server that is gone. */
const everyMilliseconds = 60_000;
const blobsAtOnce = 200;

const everything: Grant = { identity: 'account removal', rows: null, may: () => true };
/** What falls with an account is everyday work, whoever destroyed it. */
const plainly: RecordRules = { access: false, everyday: true };

export class AccountRemoval {
  readonly #parts: AccountRemovalParts;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #again = false;
  #ended = false;

  constructor(parts: AccountRemovalParts) {
    this.#parts = parts;
  }

  /** Whether something may be left to do. */
  get running(): boolean {
    return this.#running !== null;
  }

  /** Goes on with what an earlier run left, and looks for more from now on. */
  begin(): void {
    this.#timer = setInterval(() => void this.wake(), everyMilliseconds).unref();
    void this.wake();
  }

  /** Resolves when nothing is left, or when it is put off. */
  wake(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    this.#again = this.#running !== null;
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Resolves when no piece is under way. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#running;
  }

  async #work(): Promise<void> {
    try {
      do {
        this.#again = false;
        if ((await leavingAccounts(this.#parts.database)).length === 0) continue;
        await this.#parts.database.unlessUnderWay('account removal', () => this.#removeAll());
      } while (this.#again && !this.#ended);
    } catch (error) {
      this.#warn(error);
    }
  }

  async #removeAll(): Promise<void> {
    for (const account of await leavingAccounts(this.#parts.database)) {
      await this.#remove(account);
      if (this.#ended) return;
    }
  }

  /** One that cannot be taken away keeps no other. */
  async #remove(account: number): Promise<void> {
    try {
      while (!this.#ended && !(await this.#piece(account))) await pause(pauseMilliseconds);
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    if (!this.#ended) this.#parts.logger.warn({ err: error }, 'a destroyed mail account could not be taken away yet');
  }

  /** Takes away a piece of an account, the account itself at last. @returns whether it is gone. */
  async #piece(account: number): Promise<boolean> {
    const { database, blobs, clock, asServer } = this.#parts;
    for (const name of ['emails', 'conversations', 'mailboxes'] as const) {
      const keys = await someOfAccount(database, name, account, pieces[name]);
      if (keys.length === 0) continue;
      await asServer((context) => destroyPiece(everythingIn(context), name, keys));
      return false;
    }
    const later = clock.now() + everyMilliseconds;
    const kept = await blobs.keptBefore(account, later);
    for (let from = 0; from < kept.length && !this.#ended; from += blobsAtOnce)
      await blobs.remove(account, kept.slice(from, from + blobsAtOnce), later);
    return !this.#ended && asServer((context) => destroyAccount(everythingIn(context), account));
  }
}

/** Nobody sees an account that goes; the server takes all of it. */
function everythingIn(context: RecordContext): RecordContext {
  // Extensions were asked about the account; of what falls with it they hear.
  return withServerGrant({ ...context, hooks: null }, everything);
}

async function destroyPiece(
  context: RecordContext,
  name: 'emails' | 'conversations' | 'mailboxes',
  keys: readonly number[],
): Promise<void> {
  const collection = context.registry.get(name);
  const rules = name === 'emails' ? { ...plainly, guard: forgotten(collection) } : plainly;
  // Only who sees a record may read its history, and nobody does.
  const unlogged = { ...collection, options: { ...collection.options, logging: false } };
  await destroyRecords(context, unlogged, requestByKeys('destroy', keys), null, rules);
}

/** What lies beside e-mails goes with them. */
function forgotten(emails: Collection): NonNullable<RecordRules['guard']> {
  return async (transaction, _action, keys, _body, { database }) => {
    await forgetHistory(database, transaction, emails.id, keys);
    return new EmailRows(database, transaction).forget(keys);
  };
}

/** @returns false where e-mails have come in meanwhile. */
async function destroyAccount(context: RecordContext, account: number): Promise<boolean> {
  const { database, registry } = context;
  const request = { ...requestByKeys('destroy', [account]), trash: 'with' as const };
  const target = { context, collection: registry.get('accounts'), request, grant: everything, rules: plainly };
  const work = async (transaction: Transaction): Promise<boolean> => {
    if (await hasEmails(database, transaction, account)) return false;
    const environment = environmentOf({ key: [account], version: context.at.version });
    const tellOfOthers = await takeDependants(target, transaction, environment, limits.recordsAlong);
    await forgetAccount(database, transaction, account);
    await tellOfOthers();
    return true;
  };
  const turn = `mail ${account}`;
  return database.write(work, { heavy: true, turn, snapshot: snapshotOf(context) });
}
