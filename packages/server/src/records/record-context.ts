import type { AccessTable } from '../access/access-table.ts';
import type { Clock } from '../base/clock.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database, Transaction, TransactionOptions, WriteSnapshot } from '../database/database.ts';
import type { EventManager } from '../extensions/event-manager.ts';
import type { Caller } from '../identity/caller.ts';
import type { Grant, GrantLookup } from '../query/grant.ts';
import type { IndexNeed } from '../query/index-need.ts';
import type { PlanContext } from '../query/read-plan.ts';
import type { Registry } from '../schema/registry.ts';
import type { HashedSecrets } from './hashed-secrets.ts';
import { estimatePlanBytes, type PlanCache } from './plan-cache.ts';
import type { RequestShape, RequestShapes } from './request-shapes.ts';
import type { SendWrite } from './sent-write.ts';
import type { GrantsKey } from './with-grants.ts';

/** What a record operation works with: the caller, the snapshot of definitions and access, and the application. */
export interface RecordContext {
  readonly database: Database;
  readonly registry: Registry;
  /** Version of definitions and access. On engines with several nodes, statements check that it is still current. */
  readonly snapshotVersion: { version: number };
  readonly findGrant: GrantLookup;
  readonly access: AccessTable;
  readonly caller: Caller;
  /** Values of permission variables for this caller, computed on first use. */
  readonly variables: () => Readonly<Record<string, unknown>>;
  readonly cache: PlanCache;
  /** Records the shapes of reads. */
  readonly shapes: RequestShapes;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly requestId: string | null;
  /** Identifies {@link findGrant} in the keys of cached plans. */
  readonly grants: GrantsKey;
  /** The transaction that several operations share; null: each operation has its own. */
  readonly tx: Transaction | null;
  /** The hashes of the passwords in the body, computed before the transaction; null without passwords. */
  readonly secrets: HashedSecrets | null;
  /** The caller's time zone, for filters on days. */
  readonly zone: string;
  /** Throws StaleVersion when the definitions have changed, see {@link WriteSnapshot}. */
  readonly requireCurrent: () => void;
  /** The hooks of extensions; null if there are none. */
  readonly hooks: EventManager | null;
  /** Has another thread execute a planned write; null: this thread executes its writes itself. */
  readonly sendWrite: SendWrite | null;
  /** For the rules of webhooks: whether a URL may be called, and the encryption of a secret. */
  readonly webhooks: { findUrlProblem(url: unknown): string | null; encryptSecret(secret: string): string };
  /**
   * For the rules of mail accounts: whether a host may be used, the encryption of secrets, and the deletion of
   * accounts.
   */
  readonly mail: {
    hostProblem(host: string): string | null;
    plainProblem(host: string): string | null;
    encryptSecret(text: string, record: number, field: string): string;
    /** Accounts were destroyed: the background task deletes what is in them. */
    wakeAccountDeletion(): void;
    /** Messages in the outbox may be due: the delivery worker sends them. */
    wakeDelivery(): void;
    /** Changes of an account wait for its mail server. */
    wakeOperations(account: number): void;
    /** Conversations were snoozed: the end of one of these snoozes may be the next event that is due. */
    wakePush(): void;
    wakeSnoozes(): void;
    /** Accounts were created, or their servers or secrets changed: they are synchronised with them. */
    wakeSync(): void;
  };
  /** The keyed hash of a token. */
  hashToken(token: string): string;
  /** Loads a change of roles, permissions, users or definitions that this operation has committed. */
  refresh(): Promise<void>;
}

/** The context of an open transaction: every read and write runs in it. */
export interface TransactionContext extends RecordContext {
  readonly tx: Transaction;
}

/** Whether the operations of a context share an open transaction. */
export function isInTransaction(context: RecordContext): context is TransactionContext {
  return context.tx !== null;
}

/**
 * Runs several operations in one transaction: either all of them take effect or none does. A context that already has a
 * transaction keeps it.
 *
 *     await inTransaction(context, async (tx) => {
 *       const created = await createRecords(tx, orders, request, body, rules);
 *       await changeLinks(tx, items, { action: 'add', links });
 *     });
 *
 * @param work may run again when the transaction collides with another one, so it must have no effects outside of it.
 */
export async function inTransaction<T>(
  context: RecordContext,
  work: (tx: TransactionContext) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  if (isInTransaction(context)) return work(context);
  let needsRefresh = false;
  const result = await context.database.write(
    (transaction) => {
      needsRefresh = false;
      const refresh = async (): Promise<void> => {
        needsRefresh = true; // Only a committed change can be loaded.
      };
      return work({
        ...context,
        snapshotVersion: { ...context.snapshotVersion },
        tx: transaction,
        secrets: context.secrets?.forRetry() ?? null,
        refresh,
      });
    },
    { ...options, snapshot: getWriteSnapshot(context) },
  );
  if (needsRefresh) await context.refresh();
  return result;
}

/** The snapshot that a write of this context is planned with. */
export function getWriteSnapshot({ snapshotVersion, requireCurrent }: RecordContext): WriteSnapshot {
  return { version: snapshotVersion.version, requireCurrent };
}

/** When and by whom a record is written. */
export interface Stamp {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly userId: number | null;
}

/** The stamp of a write that begins now. */
export function readStamp({ clock, caller }: RecordContext): Stamp {
  return { now: clock.now(), userId: (caller.user?.['id'] as number | undefined) ?? null };
}

/** The part of a context that the planners of query/ need. */
export function toPlanContext(context: RecordContext): PlanContext {
  const { registry, findGrant, database } = context;
  return { registry, findGrant, dialect: database.dialect, fullText: database.fullText };
}

/** A plan of a read, and where its runs are recorded; null: they are not. */
export type RecordedPlan<T> = T & { readonly shape: RequestShape | null };

/** Returns the cached plan of a read, or compiles it, as {@link getCachedPlan} does. */
export function getRecordedPlan<T extends { readonly need: IndexNeed | null }>(
  context: RecordContext,
  grant: Grant,
  key: string,
  make: () => T,
): RecordedPlan<T> {
  return getCachedPlan(context, grant, key, () => {
    const plan = make();
    return { ...plan, shape: context.shapes.open(plan.need) };
  });
}

/**
 * Returns the cached plan of a key, or compiles it. The cache belongs to one snapshot.
 *
 * @param grant that the plan is compiled with. It is part of the key, as are the grants of the context.
 * @param key what else the plan depends on: collection, operation and shape of the request.
 */
export function getCachedPlan<T>(
  context: RecordContext,
  grant: Pick<Grant, 'identity'>,
  key: string,
  make: () => T,
): T {
  const full = `${context.grants} ${grant.identity} ${key}`;
  const cached = context.cache.plans.get(full);
  if (cached !== undefined) return cached.plan as T;
  const plan = make();
  context.cache.plans.set(full, { plan, bytes: estimatePlanBytes(plan) });
  return plan;
}
