import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import { type Database, type Row, StaleVersion } from '../../database/database.ts';
import type { SentWrite } from '../sent-write.ts';
import { resultColumns as COLUMN } from './write-plan.ts';

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
  { resource, table, verb, statement, stamps, event }: SentWrite,
  { database, changes, clock, version, currentVersion }: WriteExecution,
): Promise<Row[]> {
  const at = isoTime(clock.now());
  const values = [...statement.values];
  for (const index of stamps) values[index] = database.dialect.toEngine(stampParam, at);
  const requireCurrent = (): void => {
    if (currentVersion() !== version) throw new StaleVersion();
  };
  return database.write(
    async (transaction) => {
      transaction.touch(table);
      const rows = await transaction.run({ text: statement.text, values });
      const [row] = rows;
      if (row === undefined) return rows;
      if (verb !== 'destroyed') requirePlannable(row);
      const keys = [String(row[COLUMN.key])];
      await changes.append(transaction, { name: `${resource}.${verb}`, resource, keys, ...event, by: null }, at);
      return rows;
    },
    { sharesCommit: true, snapshot: { version, requireCurrent } },
  );
}

/** @throws NotForPlanning for a row that violates the row filter of the caller's role, and for a long reply. */
function requirePlannable(row: Row): void {
  if (!row[COLUMN.passes]) throw new NotForPlanning('the record violates the row filter');
  if (String(row[COLUMN.object]).length > maxReply) throw new NotForPlanning('the reply is too long');
}
