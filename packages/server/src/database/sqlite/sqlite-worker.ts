import { parentPort, workerData } from 'node:worker_threads';
import { type BoundStatement, DatabaseFault, type Row } from '../database.ts';
import { readVisitedRows } from '../visited-rows.ts';
import { DeadlineExceeded, SqliteConnection } from './sqlite-connection.ts';

/** A task that the event loop sends to a worker. A worker gets one task at a time. */
export type WorkerTask =
  | { readonly kind: 'read'; readonly statements: readonly BoundStatement[]; readonly milliseconds: number }
  | { readonly kind: 'run'; readonly statement: BoundStatement; readonly milliseconds?: number }
  | { readonly kind: 'script'; readonly text: string };

export type WorkerReply =
  | {
      readonly rows: Row[][];
      /** How many rows each statement has visited. */
      readonly visited: readonly number[];
    }
  | {
      readonly fault: {
        kind: DatabaseFault['kind'];
        message: string;
        table: string | null;
        columns: readonly string[];
      };
    };

const { path, readOnly, foreignKeys } = workerData as { path: string; readOnly: boolean; foreignKeys: boolean };
const connection = new SqliteConnection(path, { readOnly, foreignKeys });

parentPort!.on('message', (task: WorkerTask) => parentPort!.postMessage(runTask(task)));

function runTask(task: WorkerTask): WorkerReply {
  try {
    if (task.kind === 'script') connection.script(task.text);
    if (task.kind === 'run')
      return toReply([
        connection.run(task.statement, performance.now() + (task.milliseconds ?? Number.POSITIVE_INFINITY)),
      ]);
    return toReply(task.kind === 'read' ? readAll(task.statements, task.milliseconds) : []);
  } catch (error) {
    const fault =
      error instanceof DatabaseFault
        ? error
        : new DatabaseFault(error instanceof DeadlineExceeded ? 'timeout' : 'other', error);
    return { fault: { kind: fault.kind, message: fault.message, table: fault.table, columns: fault.columns } };
  }
}

function toReply(rows: Row[][]): WorkerReply {
  return { rows, visited: rows.map(readVisitedRows) };
}

/** Runs all statements in one read transaction, so that they see the same snapshot. */
function readAll(statements: readonly BoundStatement[], milliseconds: number): Row[][] {
  const deadline = performance.now() + milliseconds;
  connection.script('BEGIN');
  try {
    return statements.map((statement) => connection.run(statement, deadline));
  } finally {
    if (connection.inTransaction) connection.script('COMMIT');
  }
}
