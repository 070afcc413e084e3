import type { Participant } from '@tablinum/client';
import { expect, test } from 'vitest';
import { formatPeople, getName, getShortName } from '../src/inbox/people.ts';
import { inbox } from '../src/ui/i18n/en/inbox.ts';

test.each([
  ["'ILUG list'", 'ILUG list', 'ILUG'],
  ['"Cora Lind"', 'Cora Lind', 'Cora'],
  ['\u201c\u2018Cora\u2019\u201d', 'Cora', 'Cora'],
  ["D'Arcy O'Neill", "D'Arcy O'Neill", "D'Arcy"],
  ["the girls'", "the girls'", 'the'],
  ['Udhay Shankar N', 'Udhay Shankar N', 'Udhay'],
  ['Lovelace, Ada', 'Lovelace, Ada', 'Ada'],
  ["'Reid, Philip J.'", 'Reid, Philip J.', 'Philip'],
  ['Mr. FoRK', 'Mr. FoRK', 'Mr. FoRK'],
  ['Example, Inc.', 'Example, Inc.', 'Example, Inc.'],
  ['Post, Sales, and Returns', 'Post, Sales, and Returns', 'Post, Sales, and Returns'],
  ["''", "''", "''"],
  ['', 'ada@example.net', 'ada'],
])('%j is shown as %j, and as %j in a list with others', (name, whole, short) => {
  const person = { name, address: 'ada@example.net' };
  expect([getName(person), getShortName(person)]).toEqual([whole, short]);
});

const own = new Set(['shop@example.com', 'support@example.com']);
const person = (name: string, wrote?: boolean): Participant => ({
  name,
  address: `${name.split(' ')[0]!.toLowerCase()}@${name === 'Shop' || name === 'Support' ? 'example.com' : 'example.net'}`,
  ...(wrote !== undefined && { wrote }),
});

test.each([
  ['a single sender by full name', [person('Tim Bray', true), person('Zzzzteana', false)], 'Tim Bray'],
  ['several senders', [person('Tim Bray', true), person('Ada Bell', true), person('Shop', false)], 'Tim, Ada'],
  [
    'the account as one of the senders',
    [person('Tim Bray', true), person('Shop', true), person('Support', true)],
    'Tim, Me',
  ],
  ['the recipient, if only the account wrote', [person('Shop', true), person('Tim Bray', false)], 'To: Tim Bray'],
  [
    'several recipients, if only the account wrote',
    [person('Support', true), person('Tim Bray', false), person('Ada Bell', false)],
    'To: Tim, Ada',
  ],
  ['a message to the own account', [person('Shop', true)], 'Me'],
  ['all correspondents, if the senders are not loaded yet', [person('Tim Bray'), person('Ada Bell')], 'Tim, Ada'],
  ['nobody', null, ''],
])('a row names %s', (_, participants, line) => {
  expect(formatPeople({ participants }, own, inbox)).toBe(line);
});
