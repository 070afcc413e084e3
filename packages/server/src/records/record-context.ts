import type { AccessTable } from '../access/access-table.ts';
import type { Clock } from '../base/clock.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database, Transaction, TransactionOptions, WriteSnapshot } from '../database/database.ts';
import type { EventManager } from '../extensions/event-manager.ts';
import type { Caller } from '../identity/caller.ts';
import type { Grant, GrantLookup } from '../query/grant.ts';
import type { PlanContext } from '../query/read-plan.ts';
import type { Registry } from '../schema/registry.ts';
import { estimatePlanBytes, type PlanCache } from './plan-cache.ts';
import type { Stamp } from './record-input.ts';
import type { HashedSecrets } from './secrets.ts';
import type { GrantsKey } from './with-grants.ts';

/** What a record operation works with: one caller, one snapshot, one application. */
export interface RecordContext {
  readonly database: Database;
  readonly registry: Registry;
  /** Version of schema and access together: what shared engines guard statements with. */
  readonly snapshotVersion: { version: number };
  readonly findGrant: GrantLookup;
  readonly access: AccessTable;
  readonly caller: Caller;
  /** Values of permission variables for this caller, made when first asked for. */
  readonly variables: () => Readonly<Record<string, unknown>>;
  readonly cache: PlanCache;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly requestId: string | null;
  /** Identifies {@link findGrant} in the keys of cached plans. */
  readonly grants: GrantsKey;
  /** The transaction that several operations share; null: each has its own. */
  readonly tx: Transaction | null;
  /** Passwords of the body, hashed before the transaction began; null where there are none. */
  readonly secrets: HashedSecrets | null;
  /** The time zone in which the caller counts days. */
  readonly zone: string;
  /** Throws StaleVersion when the definitions have changed, see {@link WriteSnapshot}. */
  readonly requireCurrent: () => void;
  /** What extensions have to say to changes; null where none has a hook. */
  readonly hooks: EventManager | null;
  /** What the rules of webhooks ask: whether an address may be called, and how a secret is kept. */
  readonly webhooks: { findUrlProblem(url: unknown): string | null; encryptSecret(secret: string): string };
  /** What the rules of mail accounts ask: whether a host may be named, how a secret of a record is kept, and who takes away what is left. */
  readonly mail: {
    hostProblem(host: string): string | null;
    encryptSecret(text: string, record: number, field: string): string;
    /** Accounts were destroyed: what is in them may be taken away. */
    wakeAccountDeletion(): void;
  };
  /** The keyed hash of a token. */
  hashToken(token: string): string;
  /** Takes up a change of roles, permissions, users or definitions that this operation has committed. */
  refresh(): Promise<void>;
}

/**
 * Runs several operations in one transaction, all or nothing. Work may run again when the transaction collides with
 * another one.
 */
export async function inTransaction<T>(
  context: RecordContext,
  work: (tx: RecordContext) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  if (context.tx) return work(context);
  let needsRefresh = false;
  const result = await context.database.write(
    (transaction) => {
      needsRefresh = false;
      const refresh = async (): Promise<void> => {
        needsRefresh = true; // what is not committed cannot be taken up
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

export function readStamp({ clock, caller }: RecordContext): Stamp {
  return { now: clock.now(), userId: (caller.user?.['id'] as number | undefined) ?? null };
}

export function toPlanContext(context: RecordContext): PlanContext {
  const { registry, findGrant, database } = context;
  return { registry, findGrant, dialect: database.dialect, fullText: database.fullText };
}

/**
 * A plan by its key, compiled once for each snapshot.
 *
 * @param grant that the plan is compiled with; together with the grants of the context it is part of the key.
 * @param key what else the plan depends on: collection, operation, shape of the request.
 */
export function getCachedPlan<T>(context: RecordContext, grant: Grant, key: string, make: () => T): T {
  const full = `${context.grants} ${grant.identity} ${key}`;
  const cached = context.cache.plans.get(full);
  if (cached !== undefined) return cached.plan as T;
  const plan = make();
  context.cache.plans.set(full, { plan, bytes: estimatePlanBytes(plan) });
  return plan;
}
