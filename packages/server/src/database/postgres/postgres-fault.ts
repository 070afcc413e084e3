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
  '3D000': 'unavailable', // the database is away or has another name
  '58030': 'unavailable', // io_error
};
/** Classes: connection, authorization, resources (connections, disk, memory), shutdown and start of PostgreSQL. */
const unavailableClasses = ['08', '28', '53', '57P'];
/** What a statement compiled for an older schema runs into. */
const staleCodes = new Set(['42703', '42P01', '0A000']);
/** PostgreSQL has no connection left, or the role or database has none. */
export const tooManyConnections = '53300';

/** What the rooms above need to know of an error of the driver or of PostgreSQL. */
export function toPostgresFault(error: unknown): Error {
  if (error instanceof DatabaseFault || error instanceof StaleVersion) return error;
  // A value or a configuration that the driver cannot take; all else is the connection.
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

/** Whether the connection is gone with the error: nothing more can be asked on it, not even a rollback. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof DatabaseFault) || error.kind !== 'unavailable') return false;
  const { cause } = error;
  return !(cause instanceof pg.DatabaseError) || cause.severity !== 'ERROR';
}

/** A commit whose answer was lost: it may have been done, so nobody may repeat it unasked. */
export function toCommitFault(error: unknown): unknown {
  return isConnectionLost(error) ? new DatabaseFault('unknownOutcome', (error as DatabaseFault).cause) : error;
}
