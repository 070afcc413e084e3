/**
 * Accounts that were destroyed are out of sight at once; what is in them goes afterwards, in pieces between which others write. What is
 * still to go stands in the store, so whoever is killed at it leaves it to the next start, or to another server.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../../base/background-worker.ts';
import type { BlobStore } from '../../base/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { createBindEnvironment } from '../../database/database.ts';
import {
  deleteAccountRow,
  deleteRecordHistory,
  hasEmails,
  readAccountRecordKeys,
  readDeletingAccounts,
} from '../../database/mail/deferred-delete-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { limits } from '../../protocol/limits.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { getWriteSnapshot, type RecordContext } from '../../records/record-context.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import { withServerGrant } from '../../records/with-grants.ts';
import { prepareCascade } from '../../records/write/cascade.ts';
import { destroyRecords } from '../../records/write/write-records.ts';
import type { Collection } from '../../schema/registry.ts';

export interface AccountDeletionParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs work as the server itself, under the current definitions. */
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

/** Records of one transaction: some tens of milliseconds. */
const batchSizes = { emails: 50, conversations: 100, mailboxes: 100 } as const;
/** Between two pieces others write. */
const batchPauseMilliseconds = 10;
/** How often it is looked whether something was left by a server that is gone. */
const scanIntervalMilliseconds = 60_000;
const blobsPerBatch = 200;

const serverGrant: Grant = { identity: 'account removal', rows: null, may: () => true };
/** What falls with an account is everyday work, whoever destroyed it. */
const serverRules: RecordRules = { changesAccess: false, isUnaudited: true };

/** Deletes the content of destroyed accounts. */
export class AccountDeletion {
  readonly #parts: AccountDeletionParts;
  readonly #worker: BackgroundWorker;

  constructor(parts: AccountDeletionParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => this.#work(),
      onError: (error) => this.#warn(error),
      intervalMilliseconds: scanIntervalMilliseconds,
    });
  }

  /** Whether something may be left to do. */
  get isRunning(): boolean {
    return this.#worker.isRunning;
  }

  /** Continues what an earlier run left, and looks for more at a fixed interval. */
  begin(): void {
    this.#worker.start();
    void this.wake();
  }

  /** Resolves when nothing is left, or when the rest is postponed. */
  wake(): Promise<void> {
    return this.#worker.runNow();
  }

  /** Resolves when no batch is under way. */
  end(): Promise<void> {
    return this.#worker.stop();
  }

  async #work(): Promise<void> {
    if ((await readDeletingAccounts(this.#parts.database)).length === 0) return;
    await this.#parts.database.tryWithLock('account removal', () => this.#removeAll());
  }

  async #removeAll(): Promise<void> {
    for (const account of await readDeletingAccounts(this.#parts.database)) {
      await this.#remove(account);
      if (this.#worker.isStopped) return;
    }
  }

  /** One that cannot be taken away keeps no other. */
  async #remove(account: number): Promise<void> {
    try {
      while (!this.#worker.isStopped && !(await this.#deleteBatch(account))) await pause(batchPauseMilliseconds);
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    if (!this.#worker.isStopped)
      this.#parts.logger.warn({ err: error }, 'a destroyed mail account could not be taken away yet');
  }

  /** Takes away a piece of an account, the account itself at last. @returns whether it is gone. */
  async #deleteBatch(account: number): Promise<boolean> {
    const { database, blobs, clock, asServer } = this.#parts;
    for (const name of ['emails', 'conversations', 'mailboxes'] as const) {
      const keys = await readAccountRecordKeys(database, name, account, batchSizes[name]);
      if (keys.length === 0) continue;
      await asServer((context) => destroyBatch(withFullAccess(context), name, keys));
      return false;
    }
    const cutoff = clock.now() + scanIntervalMilliseconds;
    const blobNames = await blobs.findStoredBefore(account, cutoff);
    for (let from = 0; from < blobNames.length && !this.#worker.isStopped; from += blobsPerBatch)
      await blobs.remove(account, blobNames.slice(from, from + blobsPerBatch), cutoff);
    return !this.#worker.isStopped && asServer((context) => destroyAccount(withFullAccess(context), account));
  }
}

/** Nobody sees an account that goes; the server takes all of it. */
function withFullAccess(context: RecordContext): RecordContext {
  // Extensions were asked about the account; of what falls with it they hear.
  return withServerGrant({ ...context, hooks: null }, serverGrant);
}

async function destroyBatch(
  context: RecordContext,
  name: 'emails' | 'conversations' | 'mailboxes',
  keys: readonly number[],
): Promise<void> {
  const collection = context.registry.get(name);
  const rules = name === 'emails' ? { ...serverRules, guard: createForgetGuard(collection) } : serverRules;
  // Only who sees a record may read its history, and nobody does.
  const unlogged = { ...collection, options: { ...collection.options, logging: false } };
  await destroyRecords(context, unlogged, requestByKeys('destroy', keys), { rules });
}

/** What lies beside e-mails goes with them. */
function createForgetGuard(emails: Collection): NonNullable<RecordRules['guard']> {
  return async (transaction, _action, keys, _body, { database }) => {
    await deleteRecordHistory(database, transaction, emails.id, keys);
    return new EmailRows(database, transaction).deleteDependents(keys);
  };
}

/** @returns false where e-mails have come in meanwhile. */
async function destroyAccount(context: RecordContext, account: number): Promise<boolean> {
  const { database, registry } = context;
  const request = { ...requestByKeys('destroy', [account]), trash: 'with' as const };
  const operation = { context, collection: registry.get('accounts'), request, grant: serverGrant };
  const work = async (transaction: Transaction): Promise<boolean> => {
    if (await hasEmails(database, transaction, account)) return false;
    const environment = createBindEnvironment({ key: [account], version: context.snapshotVersion.version });
    const emitCascadeEvents = await prepareCascade({
      ...operation,
      transaction,
      environment,
      maxCascade: limits.maxCascade,
    });
    await deleteAccountRow(database, transaction, account);
    await emitCascadeEvents();
    return true;
  };
  const lockKey = `mail ${account}`;
  return database.write(work, { heavy: true, lockKey, snapshot: getWriteSnapshot(context) });
}
