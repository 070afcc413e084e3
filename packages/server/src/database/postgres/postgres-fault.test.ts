import pg from 'pg';
import { expect, test } from 'vitest';
import { DatabaseFault } from '../database.ts';
import { isConnectionLost, toCommitFault, toPostgresFault } from './postgres-fault.ts';

function refusal(code: string, severity: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('told by PostgreSQL', 1, 'error'), { code, severity });
}

test.each([
  ['too_many_connections', '53300', 'FATAL'],
  ['admin_shutdown', '57P01', 'FATAL'],
  ['crash_shutdown', '57P02', 'FATAL'],
  ['cannot_connect_now', '57P03', 'FATAL'],
  ['disk_full', '53100', 'ERROR'],
  ['out_of_memory', '53200', 'ERROR'],
  ['io_error', '58030', 'ERROR'],
  ['connection_failure', '08006', 'FATAL'],
  ['read_only_sql_transaction', '25006', 'ERROR'],
  ['invalid_password', '28P01', 'FATAL'],
])('%s (%s) means that the database cannot be used now', (_, code, severity) => {
  const fault = toPostgresFault(refusal(code, severity)) as DatabaseFault;
  expect(fault.kind).toBe('unavailable');
  expect(isConnectionLost(fault)).toBe(severity === 'FATAL');
  // Only an ERROR proves that a commit was not done.
  expect((toCommitFault(fault) as DatabaseFault).kind).toBe(severity === 'FATAL' ? 'unknownOutcome' : 'unavailable');
});

test('errors of the network mean the same, errors of the program do not', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  for (const error of [refused, new Error('Query read timeout'), new Error('Connection terminated unexpectedly')])
    expect(toPostgresFault(error)).toMatchObject({ kind: 'unavailable' });
  expect(toPostgresFault(new TypeError('not a value'))).toMatchObject({ kind: 'other' });
  expect(toCommitFault(new DatabaseFault('unique', refused))).toMatchObject({ kind: 'unique' });
});
