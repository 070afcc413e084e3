import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import { type Database, type Row, StaleVersion } from '../../database/database.ts';
import type { SentWrite } from '../sent-write.ts';
import { resultColumns as COLUMN } from './write-plan.ts';
import { writeWithEvent } from './write-with-event.ts';

/** What the execution of a write needs of its application. */
export interface WriteExecution {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  /** The version of definitions and permissions that the write was planned with. */
  readonly version: number;
  /** The version now. */
  readonly currentVersion: () => number;
}

/** The maximum length of a reply in characters. Longer ones would use too much of the heap of a reader. */
const maxReply = 64 * 1024;
const stampParam = { storage: 'datetime', read: () => null } as const;

/** The planning thread must leave the write to this one. */
class NotForPlanning extends Error {}

/**
 * Executes a write that another thread has planned. Results and errors are those of `SendWrite`.
 *
 * The time of the write is determined here, when it enters the queue of writes. Otherwise writes of several threads could be executed in
 * another order than that of their times.
 */
export function executeSentWrite(
  { stamps, ...write }: SentWrite,
  { database, changes, clock, version, currentVersion }: WriteExecution,
): Promise<Row[]> {
  const now = clock.now();
  const values = [...write.statement.values];
  for (const index of stamps) values[index] = database.dialect.toEngine(stampParam, isoTime(now));
  const requireCurrent = (): void => {
    if (currentVersion() !== version) throw new StaleVersion();
  };
  return writeWithEvent(
    { ...write, statement: { text: write.statement.text, values } },
    {
      database,
      changes,
      clock: { now: () => now },
      snapshot: { version, requireCurrent },
      checkRow: write.verb === 'destroyed' ? null : requirePlannable,
    },
  );
}

/** @throws NotForPlanning for a row that violates the row filter of the caller's role, and for a long reply. */
function requirePlannable(row: Row): void {
  if (!row[COLUMN.passes]) throw new NotForPlanning('the record violates the row filter');
  if (String(row[COLUMN.object]).length > maxReply) throw new NotForPlanning('the reply is too long');
}
