import type { ChangeLog } from '../../changes/change-log.ts';
import { type Database, type Row, StaleVersion } from '../../database/database.ts';
import type { SentWrite } from '../sent-write.ts';
import { resultColumns as COLUMN } from './write-plan.ts';

/** What the execution of a write needs of its application. */
export interface WriteExecution {
  readonly database: Database;
  readonly changes: ChangeLog;
  /** The version of definitions and permissions that the write was planned with. */
  readonly version: number;
  /** The version now. */
  readonly currentVersion: () => number;
}

/** The write would violate the row filter of the caller's role. */
class RowFilterViolated extends Error {}

/** Executes a write that another thread has planned. Results and errors are those of {@link SendWrite}. */
export function executeSentWrite(
  { resource, table, verb, statement, event }: SentWrite,
  { database, changes, version, currentVersion }: WriteExecution,
): Promise<Row[]> {
  const requireCurrent = (): void => {
    if (currentVersion() !== version) throw new StaleVersion();
  };
  return database.write(
    async (transaction) => {
      transaction.touch(table);
      const rows = await transaction.run(statement);
      const [row] = rows;
      if (row === undefined) return rows;
      if (verb !== 'destroyed' && !row[COLUMN.passes])
        throw new RowFilterViolated(`a write to ${resource} violates a row filter`);
      const { at, ...described } = event;
      const keys = [String(row[COLUMN.key])];
      await changes.append(transaction, { name: `${resource}.${verb}`, resource, keys, ...described, by: null }, at);
      return rows;
    },
    { sharesCommit: true, snapshot: { version, requireCurrent } },
  );
}
