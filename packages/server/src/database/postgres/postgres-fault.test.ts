import pg from 'pg';
import { expect, test } from 'vitest';
import { DatabaseFault } from '../database.ts';
import { isConnectionLost, toCommitFault, toPostgresFault } from './postgres-fault.ts';

function refusal(code: string, severity: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('told by PostgreSQL', 1, 'error'), { code, severity });
}

const unavailable = {
  ERROR: { disk_full: '53100', out_of_memory: '53200', io_error: '58030', read_only_sql_transaction: '25006' },
  FATAL: {
    too_many_connections: '53300',
    admin_shutdown: '57P01',
    crash_shutdown: '57P02',
    cannot_connect_now: '57P03',
    connection_failure: '08006',
    invalid_password: '28P01',
  },
};

test.each(
  Object.entries(unavailable).flatMap(([severity, codes]) =>
    Object.entries(codes).map(([name, code]) => [name, code, severity] as const),
  ),
)('%s (%s) means that the database is unavailable', (_, code, severity) => {
  const fault = toPostgresFault(refusal(code, severity)) as DatabaseFault;
  expect(fault.kind).toBe('unavailable');
  expect(isConnectionLost(fault)).toBe(severity === 'FATAL');
  // Only an ERROR proves that a commit was not done.
  expect((toCommitFault(fault) as DatabaseFault).kind).toBe(severity === 'FATAL' ? 'unknownOutcome' : 'unavailable');
});

test('network errors mean that the database is unavailable, programming errors do not', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  for (const error of [refused, new Error('Query read timeout'), new Error('Connection terminated unexpectedly')])
    expect(toPostgresFault(error)).toMatchObject({ kind: 'unavailable' });
  expect(toPostgresFault(new TypeError('not a value'))).toMatchObject({ kind: 'other' });
  expect(toCommitFault(new DatabaseFault('unique', refused))).toMatchObject({ kind: 'unique' });
});
