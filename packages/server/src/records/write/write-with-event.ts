import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog, NewEvents } from '../../changes/change-log.ts';
import type { Database, Row, WriteSnapshot } from '../../database/database.ts';
import type { SentWrite } from '../sent-write.ts';
import { resultColumns as COLUMN } from './write-plan.ts';

/** How {@link writeWithEvent} runs a write. */
export interface EventWriting {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly snapshot: WriteSnapshot;
  /** Refuses the row of the statement by throwing an error; null: every row is accepted. */
  readonly checkRow: ((row: Row) => void) | null;
}

/**
 * Runs the statement of a write of one record and logs its event, in one transaction. If the engine runs statements at once, nothing in
 * it waits: each promise would take about a microsecond, and memory.
 *
 * @returns the rows of the statement, when the write is durable. None: the statement has reached no record.
 * @throws what `checkRow` throws; then nothing was written.
 */
export function writeWithEvent(
  { resource, table, verb, statement, event }: Omit<SentWrite, 'stamps'>,
  { database, changes, clock, snapshot, checkRow }: EventWriting,
): Promise<Row[]> {
  const at = (): string => isoTime(clock.now());
  /** Null if the statement has reached no record. */
  const checkAndDescribe = ([row]: readonly Row[]): (NewEvents & { readonly by: null }) | null => {
    if (row === undefined) return null;
    checkRow?.(row);
    return { name: `${resource}.${verb}`, resource, keys: [String(row[COLUMN.key])], ...event, by: null };
  };
  if (!database.writeNow)
    return database.write(
      async (transaction) => {
        transaction.touch(table);
        const rows = await transaction.run(statement);
        const written = checkAndDescribe(rows);
        if (written) await changes.append(transaction, written, at());
        return rows;
      },
      { sharesCommit: true, snapshot },
    );
  return database.writeNow(
    (transaction) => {
      transaction.touch(table);
      const rows = transaction.runNow(statement);
      const written = checkAndDescribe(rows);
      if (written) changes.appendNow(transaction, written, at());
      return rows;
    },
    { snapshot, mayRefuse: checkRow !== null },
  );
}
