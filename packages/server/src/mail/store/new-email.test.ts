import { expect, test } from 'vitest';
import { resolveReceivedAt } from './new-email.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['what the server says', '2026-01-02T03:04:05Z', '2020-01-01T00:00:00Z', null, '2026-01-02T03:04:05Z'],
  ['else the Date of the message', null, '2002-08-22T19:30:07Z', '2002-08-23T00:00:00Z', '2002-08-22T19:30:07Z'],
  ['an mbox line without a time is none', '1970-01-01T00:00:00Z', '2002-08-22T19:30:07Z', null, '2002-08-22T19:30:07Z'],
  ['without a Date the newest Received header', null, null, '2002-08-23T00:00:00Z', '2002-08-23T00:00:00Z'],
  ['a Date to come is forged', null, '2999-01-01T00:00:00Z', '2002-08-23T00:00:00Z', '2002-08-23T00:00:00Z'],
  ['a Date before there was mail is none', null, '1904-01-01T00:00:00Z', null, '2026-11-21T12:00:00Z'],
  ['nothing known is now', null, null, null, '2026-11-21T12:00:00Z'],
])('received: %s', (_, given, sentAt, tracedAt, wanted) => {
  expect(resolveReceivedAt(given, { sentAt, tracedAt }, now)).toBe(Date.parse(wanted));
});
