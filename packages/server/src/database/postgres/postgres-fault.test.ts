import pg from 'pg';
import { expect, test } from 'vitest';
import { DatabaseFault } from '../database.ts';
import { commitFault, faultOf, isLost } from './postgres-fault.ts';

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
  const fault = faultOf(refusal(code, severity)) as DatabaseFault;
  expect(fault.kind).toBe('unavailable');
  expect(isLost(fault)).toBe(severity === 'FATAL');
  // Only an ERROR proves that a commit was not done.
  expect((commitFault(fault) as DatabaseFault).kind).toBe(severity === 'FATAL' ? 'unknownOutcome' : 'unavailable');
});

test('errors of the network mean the same, errors of the program do not', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  for (const error of [refused, new Error('Query read timeout'), new Error('Connection terminated unexpectedly')])
    expect(faultOf(error)).toMatchObject({ kind: 'unavailable' });
  expect(faultOf(new TypeError('not a value'))).toMatchObject({ kind: 'other' });
  expect(commitFault(new DatabaseFault('unique', refused))).toMatchObject({ kind: 'unique' });
});
