/** Counts of the data that an account has not sent yet: changes for its mail server, and messages of the outbox. */
import type { Database } from '../database.ts';
import { readRows, requireRow } from '../run-statement.ts';
import { sql, value } from '../sql.ts';

/** Counts of what waits, by account. Times are ISO 8601; null: nothing waits. */
export interface WaitingCounts {
  readonly changes: {
    readonly count: number;
    /** Changes that the mail server has refused before, or that a lost connection interrupted; they are tried again. */
    readonly failing: number;
    /** When the oldest change was made. */
    readonly oldestAt: string | null;
  };
  readonly messages: {
    /** Messages that wait for their time, or for the next attempt. */
    readonly queued: number;
    readonly sending: number;
    /** Messages whose connection was lost after the transmission; they are searched for in Sent. */
    readonly unknown: number;
    /** When the next attempt is due. */
    readonly nextAt: string | null;
  };
}

/** Counts what an account has not sent yet. */
export async function readWaitingCounts(database: Database, account: number): Promise<WaitingCounts> {
  const isOfAccount = sql`"accountId"=${value('integer', account)}`;
  const operations = sql`SELECT count(*) "count",count(*) FILTER (WHERE attempts>0) failing,min("createdAt") "oldestAt" FROM "mailOperations" WHERE ${isOfAccount}`;
  const messages = sql`SELECT count(*) FILTER (WHERE status='queued') queued,count(*) FILTER (WHERE status='sending') sending,count(*) FILTER (WHERE status='unknown') unknown,min("nextAt") FILTER (WHERE status IN ('queued','unknown')) "nextAt" FROM "mailOutbox" WHERE ${isOfAccount}`;
  const { dialect } = database;
  const rows = await readRows(
    database,
    sql`SELECT o."count",o.failing,${dialect.scalar('datetime', sql`o."oldestAt"`)},m.queued,m.sending,m.unknown,${dialect.scalar('datetime', sql`m."nextAt"`)} FROM (${operations}) o CROSS JOIN (${messages}) m`,
  );
  const [count, failing, oldestAt, queued, sending, unknown, nextAt] = requireRow(rows);
  return {
    changes: { count: Number(count), failing: Number(failing), oldestAt: oldestAt as string | null },
    messages: {
      queued: Number(queued),
      sending: Number(sending),
      unknown: Number(unknown),
      nextAt: nextAt as string | null,
    },
  };
}
