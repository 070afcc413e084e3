/** Statements about presence: which users have a record open now. The rows are short-lived and in no event. */
import { splitIntoChunks } from '../base/split-into-chunks.ts';
import type { Database } from './database.ts';
import { insertRows } from './row-insert.ts';
import { createReader, createTxRunner } from './run-statement.ts';
import { listValue, sql, value } from './sql.ts';

/** One open view of a record. */
export interface PresenceRow {
  /** Identifies the view. */
  readonly session: string;
  readonly resource: string;
  readonly key: string;
  readonly userId: number;
  readonly activity: string;
}

/** A view with the name of its user. */
export interface NamedPresenceRow extends PresenceRow {
  readonly name: string;
}

/** What a server has to report about its own views. */
export interface PresenceChanges {
  readonly opened: readonly PresenceRow[];
  readonly closed: readonly string[];
  /** Views that are still open; null: none is confirmed now. */
  readonly confirmed: readonly string[] | null;
}

const viewsPerStatement = 500;

/** Stores the views of a server. @param times ISO 8601: `now`, and `expired`, before which views are deleted. */
export function writeOpenViews(
  database: Database,
  { opened, closed, confirmed }: PresenceChanges,
  { now, expired }: { readonly now: string; readonly expired: string },
): Promise<void> {
  const isOneOf = (sessions: readonly string[]) => database.dialect.isIn(sql`session`, listValue('text', sessions));
  return database.write(async (transaction) => {
    transaction.touch('realtimePresence');
    const run = createTxRunner(database, transaction);
    for (const some of splitIntoChunks([...closed, ...opened.map(({ session }) => session)], viewsPerStatement))
      await run(sql`DELETE FROM "realtimePresence" WHERE ${isOneOf(some)}`);
    if (opened.length > 0)
      await insertRows(
        run,
        database.dialect,
        'realtimePresence',
        [
          ['session', 'text'],
          ['resource', 'text'],
          ['tk', 'text'],
          ['userId', 'integer'],
          ['activity', 'text'],
          ['seenAt', 'datetime'],
        ],
        opened.map((each) => [each.session, each.resource, each.key, each.userId, each.activity, now]),
      );
    if (confirmed === null) return;
    for (const some of splitIntoChunks(confirmed, viewsPerStatement))
      await run(sql`UPDATE "realtimePresence" SET "seenAt"=${value('datetime', now)} WHERE ${isOneOf(some)}`);
    await run(sql`DELETE FROM "realtimePresence" WHERE "seenAt"<${value('datetime', expired)}`);
  });
}

/** The views of all servers on the store that were confirmed after a time, ISO 8601. */
export async function readOpenViews(database: Database, after: string): Promise<NamedPresenceRow[]> {
  const rows = await createReader(database)(
    sql`SELECT p.session,p.resource,p.tk,p."userId",p.activity,coalesce(u.nickname,u.username,u.email) FROM "realtimePresence" p JOIN users u ON u.id=p."userId" WHERE p."seenAt">=${value('datetime', after)} ORDER BY p.id`,
  );
  return rows.map(([session, resource, key, userId, activity, name]) => ({
    session: session as string,
    resource: resource as string,
    key: key as string,
    userId: Number(userId),
    activity: activity as string,
    name: (name ?? `#${userId}`) as string,
  }));
}
