import { expect, test } from 'vitest';
import { resolveReceivedAt } from './new-email.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

test.each([
  [
    'the time that the mail server states',
    '2026-01-02T03:04:05Z',
    '2020-01-01T00:00:00Z',
    null,
    '2026-01-02T03:04:05Z',
  ],
  ['otherwise the Date of the message', null, '2002-08-22T19:30:07Z', '2002-08-23T00:00:00Z', '2002-08-22T19:30:07Z'],
  [
    'an mbox separator without a time is ignored',
    '1970-01-01T00:00:00Z',
    '2002-08-22T19:30:07Z',
    null,
    '2002-08-22T19:30:07Z',
  ],
  ['without a Date, the newest Received header', null, null, '2002-08-23T00:00:00Z', '2002-08-23T00:00:00Z'],
  ['a Date in the future is not used', null, '2999-01-01T00:00:00Z', '2002-08-23T00:00:00Z', '2002-08-23T00:00:00Z'],
  ['a Date before e-mail existed is not used', null, '1904-01-01T00:00:00Z', null, '2026-11-21T12:00:00Z'],
  ['without any time, the current time', null, null, null, '2026-11-21T12:00:00Z'],
])('the received time is read from: %s', (_, given, sentAt, tracedAt, wanted) => {
  expect(resolveReceivedAt(given, { sentAt, tracedAt }, now)).toBe(Date.parse(wanted));
});
