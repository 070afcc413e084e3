/**
 * Events become readable in the order of their transactions, so an open transaction, anywhere in the cluster, delays all later events,
 * for sockets and webhooks too. This watches for a transaction that stays open for long, and reports it.
 */
import type { HealthReporter } from '../../base/server-health.ts';
import type { Database, Row } from '../database.ts';

export interface EventHorizonParts {
  readonly database: Database;
  readonly report: HealthReporter;
  readonly everyMilliseconds?: number;
  /** A transaction that is the oldest one for longer than this is reported. */
  readonly lateMilliseconds?: number;
}

const horizonQuery = 'SELECT pg_snapshot_xmin(s)::text,pg_snapshot_xmax(s)::text FROM pg_current_snapshot() s';
const holdersQuery = `SELECT 'process '||pid,datname,usename,state,
to_char(xact_start AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS"Z"'),'SELECT pg_terminate_backend('||pid||')'
FROM pg_stat_activity WHERE backend_xid=$1::xid8::xid
UNION ALL SELECT 'prepared transaction '||quote_literal(gid),database,owner,'prepared',
to_char(prepared AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS"Z"'),'ROLLBACK PREPARED '||quote_literal(gid)
FROM pg_prepared_xacts WHERE transaction=$1::xid8::xid`;

/** Checks regularly, until it is closed. */
export class EventHorizonWatch {
  readonly #parts: EventHorizonParts;
  readonly #late: number;
  readonly #timer: NodeJS.Timeout;
  /** The oldest open transaction at the last check, and since when it is the oldest. */
  #oldest: { readonly xid: string; readonly since: number } | null = null;
  #isChecking = false;

  constructor(parts: EventHorizonParts) {
    this.#parts = parts;
    this.#late = parts.lateMilliseconds ?? 10_000;
    this.#timer = setInterval(() => void this.#check(), parts.everyMilliseconds ?? 5000).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A database that does not respond is reported elsewhere. */
  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      await this.#compare();
    } catch {
    } finally {
      this.#isChecking = false;
    }
  }

  async #compare(): Promise<void> {
    const { database, report } = this.#parts;
    const [rows] = await database.read([{ text: horizonQuery, values: [] }]);
    const [row] = rows ?? [];
    if (!row) return;
    const [oldest, next] = row as readonly [string, string];
    if (oldest === next) this.#oldest = null;
    else if (this.#oldest?.xid !== oldest) this.#oldest = { xid: oldest, since: performance.now() };
    if (this.#oldest === null || performance.now() - this.#oldest.since < this.#late) return report(null);
    const [found] = await database.read([{ text: holdersQuery, values: [oldest] }]);
    report({ severity: 'warning', message: describeHolder(found?.[0]) });
  }
}

function describeHolder(holder: Row | undefined): string {
  const late = 'Events, feeds and webhooks are delayed by an open transaction of the PostgreSQL cluster';
  if (!holder) return `${late}, but the database user may not see its process. Grant the user pg_read_all_stats.`;
  const [who, database, user, state, since, end] = holder;
  return `${late}: ${who} (database ${database}, user ${user}, ${state ?? 'state hidden'}, since ${since ?? 'unknown'}). End it there, or by ${end}.`;
}
