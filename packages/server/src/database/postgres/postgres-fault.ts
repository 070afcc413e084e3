import pg from 'pg';
import { DatabaseFault, type FaultKind, StaleVersion } from '../database.ts';

const faultKinds: Readonly<Record<string, FaultKind>> = {
  '23505': 'unique',
  '23503': 'foreignKey',
  '23001': 'foreignKey', // restrict_violation
  '23502': 'notNull',
  '22003': 'range',
  '2200H': 'keysExhausted', // sequence_generator_limit_exceeded
  '57014': 'timeout',
  '40001': 'collision',
  '40P01': 'collision',
  '55P03': 'collision', // lock_timeout
  '25006': 'unavailable', // read_only_sql_transaction: a standby took over the address
  '25P03': 'unavailable', // idle_in_transaction_session_timeout
  '3D000': 'unavailable', // the database does not exist or has another name
  '58030': 'unavailable', // io_error
};
/** Classes: connection, authorization, resources (connections, disk, memory), shutdown and start of PostgreSQL. */
const unavailableClasses = ['08', '28', '53', '57P'];
/** Errors of a statement that was compiled for an older schema. */
const staleCodes = new Set(['42703', '42P01', '0A000']);
/** PostgreSQL has no connection left, or the role or database has none. */
export const tooManyConnections = '53300';

/** Converts an error of the driver or of PostgreSQL to a DatabaseFault or StaleVersion. */
export function toPostgresFault(error: unknown): Error {
  if (error instanceof DatabaseFault || error instanceof StaleVersion) return error;
  // A value or a configuration that the driver refuses. All other errors of the driver concern the connection.
  if (error instanceof TypeError || error instanceof RangeError) return new DatabaseFault('other', error);
  if (!(error instanceof pg.DatabaseError)) return new DatabaseFault('unavailable', error);
  const code = error.code ?? '';
  if (staleCodes.has(code)) return new StaleVersion('schema changed', { cause: error });
  const overflow = /"overflow:([^"]*):\d+"/.exec(error.message);
  if (overflow) return new DatabaseFault('overflow', overflow[1]);
  const columns =
    /^Key \(([^)]*)\)=/
      .exec(error.detail ?? '')?.[1]
      ?.split(', ')
      .map((each) => each.replaceAll('"', '')) ?? [];
  const unavailable = unavailableClasses.some((each) => code.startsWith(each));
  return new DatabaseFault(
    faultKinds[code] ?? (unavailable ? 'unavailable' : 'other'),
    error,
    error.table ?? null,
    error.column ? [error.column] : columns,
  );
}

/** Whether the connection is lost with the error, so that not even a rollback is possible. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof DatabaseFault) || error.kind !== 'unavailable') return false;
  const { cause } = error;
  return !(cause instanceof pg.DatabaseError) || cause.severity !== 'ERROR';
}

/** The fault of a commit whose reply was lost: it may have succeeded, so it must not be repeated automatically. */
export function toCommitFault(error: unknown): unknown {
  return isConnectionLost(error) ? new DatabaseFault('unknownOutcome', (error as DatabaseFault).cause) : error;
}

/** Whether a lock did not become free in time, or two transactions waited for each other. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseFault && error.kind === 'collision';
}
