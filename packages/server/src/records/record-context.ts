import type { AccessTable } from '../access/access-table.ts';
import type { Clock } from '../base/clock.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database, Transaction, WriteOptions, WriteSnapshot } from '../database/database.ts';
import type { EventManager } from '../extensions/event-manager.ts';
import type { Caller } from '../identity/caller.ts';
import type { Grant, GrantOf } from '../query/grant.ts';
import type { PlanContext } from '../query/read-plan.ts';
import type { Registry } from '../schema/registry.ts';
import { type PlanCache, planBytes } from './plan-cache.ts';
import type { Stamp } from './record-input.ts';
import type { HashedSecrets } from './secrets.ts';
import type { GrantsKey } from './with-grants.ts';

/** What a record operation works with: one caller, one snapshot, one application. */
export interface RecordContext {
  readonly database: Database;
  readonly registry: Registry;
  /** Version of schema and access together: what shared engines guard statements with. */
  readonly at: { version: number };
  readonly grantOf: GrantOf;
  readonly access: AccessTable;
  readonly caller: Caller;
  /** Values of permission variables for this caller, made when first asked for. */
  readonly variables: () => Readonly<Record<string, unknown>>;
  readonly cache: PlanCache;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly requestId: string | null;
  /** Identifies {@link grantOf} in the keys of cached plans. */
  readonly grants: GrantsKey;
  /** The transaction that several operations share; null: each has its own. */
  readonly inside: Transaction | null;
  /** Passwords of the body, hashed before the transaction began; null where there are none. */
  readonly secrets: HashedSecrets | null;
  /** The time zone in which the caller counts days. */
  readonly zone: string;
  /** Throws StaleVersion when the definitions have changed, see {@link WriteSnapshot}. */
  readonly requireCurrent: () => void;
  /** What extensions have to say to changes; null where none has a hook. */
  readonly hooks: EventManager | null;
  /** What the rules of webhooks ask: whether an address may be called, and how a secret is kept. */
  readonly webhooks: { problemOf(url: unknown): string | null; seal(secret: string): string };
  /** What the rules of mail accounts ask: whether a host may be named, how a secret of a record is kept, and who takes away what is left. */
  readonly mail: {
    hostProblem(host: string): string | null;
    seal(text: string, record: number, field: string): string;
    /** Accounts were destroyed: what is in them may be taken away. */
    takeAway(): void;
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
export async function together<T>(
  context: RecordContext,
  work: (inside: RecordContext) => Promise<T>,
  options: WriteOptions = {},
): Promise<T> {
  if (context.inside) return work(context);
  let moved = false;
  const result = await context.database.write(
    (transaction) => {
      moved = false;
      const refresh = async (): Promise<void> => {
        moved = true; // what is not committed cannot be taken up
      };
      return work({
        ...context,
        at: { ...context.at },
        inside: transaction,
        secrets: context.secrets?.again() ?? null,
        refresh,
      });
    },
    { ...options, snapshot: snapshotOf(context) },
  );
  if (moved) await context.refresh();
  return result;
}

/** The snapshot that a write of this context is planned with. */
export function snapshotOf({ at, requireCurrent }: RecordContext): WriteSnapshot {
  return { version: at.version, requireCurrent };
}

export function stampOf({ clock, caller }: RecordContext): Stamp {
  return { now: clock.now(), userId: (caller.user?.['id'] as number | undefined) ?? null };
}

export function planContext(context: RecordContext): PlanContext {
  return { registry: context.registry, grantOf: context.grantOf, dialect: context.database.dialect };
}

/**
 * A plan by its key, compiled once for each snapshot.
 *
 * @param grant that the plan is compiled with; together with the grants of the context it is part of the key.
 * @param key what else the plan depends on: collection, operation, shape of the request.
 */
export function keptPlan<T>(context: RecordContext, grant: Grant, key: string, make: () => T): T {
  const full = `${context.grants} ${grant.identity} ${key}`;
  const known = context.cache.plans.get(full);
  if (known !== undefined) return known.plan as T;
  const plan = make();
  context.cache.plans.set(full, { plan, bytes: planBytes(plan) });
  return plan;
}
