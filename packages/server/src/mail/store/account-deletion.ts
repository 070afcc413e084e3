/**
 * Deletes accounts in the background. A deleted account is hidden at once; its contents are deleted afterwards, in batches between
 * which other writes run. The state is in the store: if the process dies, the next start or another server continues.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../../base/background-worker.ts';
import type { BlobStore } from '../../base/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { createBindEnvironment } from '../../database/database.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
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

/** What the deletion of accounts works with. */
export interface AccountDeletionParts {
  readonly presence: AccountPresence;
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs work as the server itself, under the current definitions. */
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

/** Records of one transaction, which takes some tens of milliseconds. In the order in which they are deleted. */
const batchSizes = {
  emails: 50,
  conversations: 100,
  mailCampaignMessages: 500,
  mailCampaigns: 100,
  mailSuppressions: 500,
  mailTemplates: 100,
  contactGroups: 100,
  contacts: 500,
  mailboxes: 100,
} as const;
type DeletedCollection = keyof typeof batchSizes;
/** Other writes run between two batches. */
const batchPauseMilliseconds = 10;
/** How often the store is checked for deletions that a stopped server left. */
const scanIntervalMilliseconds = 60_000;
const blobsPerBatch = 200;

const serverGrant: Grant = { identity: 'account removal', rows: null, may: () => true };
/** The audit journal does not record what is deleted with an account. */
const serverRules: RecordRules = { changesAccess: false, isUnaudited: true };

/** The background deletion of one application's accounts. */
export class AccountDeletion {
  readonly #parts: AccountDeletionParts;
  readonly #worker: BackgroundWorker;

  constructor(parts: AccountDeletionParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => parts.presence.runIfAny(() => this.#work()),
      onError: (error) => this.#warn(error),
      intervalMilliseconds: scanIntervalMilliseconds,
    });
  }

  /** Whether a deletion is running. */
  get isRunning(): boolean {
    return this.#worker.isRunning;
  }

  /** Continues what an earlier run left, and checks for more at intervals. */
  begin(): void {
    this.#worker.start();
    void this.wake();
  }

  /** Resolves when nothing is left to delete, or when a batch has failed and is retried later. */
  wake(): Promise<void> {
    this.#parts.presence.recheck();
    return this.#worker.runNow();
  }

  /** Stops after the running batch. */
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

  /** An account that cannot be deleted does not stop the others. */
  async #remove(account: number): Promise<void> {
    try {
      while (!this.#worker.isStopped && !(await this.#deleteBatch(account))) await pause(batchPauseMilliseconds);
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    if (!this.#worker.isStopped)
      this.#parts.logger.warn(
        { err: error },
        'a deleted mail account could not be removed yet; the server tries again',
      );
  }

  /** Deletes one batch of an account, and the account itself last. @returns whether the account is deleted. */
  async #deleteBatch(account: number): Promise<boolean> {
    const { database, blobs, clock, asServer } = this.#parts;
    for (const name of Object.keys(batchSizes) as DeletedCollection[]) {
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

/** The server deletes all of an account, whatever grants exist. */
function withFullAccess(context: RecordContext): RecordContext {
  // Extensions could refuse the deletion of the account. They only get events about what is deleted with it.
  return withServerGrant({ ...context, hooks: null }, serverGrant);
}

async function destroyBatch(context: RecordContext, name: DeletedCollection, keys: readonly number[]): Promise<void> {
  const collection = context.registry.get(name);
  const rules = name === 'emails' ? { ...serverRules, guard: createForgetGuard(collection) } : serverRules;
  // History is only readable with its record, so the records of a deleted account need none.
  const unlogged = { ...collection, options: { ...collection.options, logging: false } };
  await destroyRecords(context, unlogged, requestByKeys('destroy', keys), { rules });
}

/** Deletes what is stored next to e-mails: history, content, full-text entries. */
function createForgetGuard(emails: Collection): NonNullable<RecordRules['guard']> {
  return async ({ transaction, keys, context: { database } }) => {
    await deleteRecordHistory(database, transaction, emails.id, keys);
    return new EmailRows(database, transaction).deleteDependents(keys);
  };
}

/** Deletes the account's own row. @returns false where e-mails have arrived meanwhile. */
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
