/** Calendar files of messages: how they are shown, and the replies to them. */
import ICAL from 'ical.js';
import { describe, expect, test } from 'vitest';
import { maxCalendarLength, readInvitation, writeAnswer } from '../src/inbox/calendar/invitation.ts';
import { zonedTime } from '../src/inbox/calendar/zoned-time.ts';

const calendar = (lines: readonly string[], head: readonly string[] = ['METHOD:REQUEST']): string =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Test//EN',
    ...head,
    'BEGIN:VEVENT',
    'UID:1@example.net',
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
const zone = (rule: string): readonly string[] => [
  'METHOD:REQUEST',
  'BEGIN:VTIMEZONE',
  'TZID:Own Zone',
  'BEGIN:STANDARD',
  'DTSTART:19700101T000000',
  'TZOFFSETFROM:+0200',
  'TZOFFSETTO:+0200',
  rule,
  'END:STANDARD',
  'END:VTIMEZONE',
];
const people = [
  'ORGANIZER;CN="Zoe; Zimmer":mailto:zoe@example.net',
  'ATTENDEE;CN=Shop;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:MAILTO:Shop@example.com',
  'ATTENDEE;PARTSTAT=ACCEPTED:mailto:cora@example.net',
];
const read = (lines: readonly string[], head?: readonly string[]) => readInvitation(calendar(lines, head), ICAL);

test('an invitation shows its times, people, place and repetition', () => {
  expect(
    read([
      ...people,
      'SUMMARY:Plan\\, again',
      'LOCATION:Room <b>1</b>',
      'DTSTART;TZID=Europe/Berlin:20260701T090000',
      'DURATION:PT90M',
      'RRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=20261231T000000Z',
      'SEQUENCE:3',
    ]),
  ).toMatchObject({
    method: 'REQUEST',
    summary: 'Plan, again',
    location: 'Room <b>1</b>',
    start: { iso: '2026-07-01T07:00:00.000Z', isDay: false },
    end: { iso: '2026-07-01T08:30:00.000Z' },
    organizer: { name: 'Zoe; Zimmer', address: 'zoe@example.net' },
    attendees: [{ address: 'Shop@example.com', answer: 'NEEDS-ACTION' }, { answer: 'ACCEPTED' }],
    isCancelled: false,
    isUpdate: true,
    repeats: { unit: 'WEEKLY', interval: 2, until: '2026-12-31', count: null },
  });
});

test.each([
  ['DTSTART:20260701T090000Z', 'DTEND:20260701T100000Z', '2026-07-01T09:00:00.000Z', '2026-07-01T10:00:00.000Z'],
  ['DTSTART;VALUE=DATE:20260701', 'DTEND;VALUE=DATE:20260704', '2026-07-01', '2026-07-03'],
  ['DTSTART;VALUE=DATE:20260701', 'DTEND;VALUE=DATE:20260702', '2026-07-01', undefined],
  ['DTSTART:20260701T090000', 'X-NONE:1', '2026-07-01T09:00:00', undefined],
  ['DTSTART;TZID=Nowhere/Else:20260701T090000', 'X-NONE:1', '2026-07-01T09:00:00', undefined],
])('%s, %s', (start, end, from, to) => {
  const found = read([start, end]);
  expect([found?.start?.iso, found?.end?.iso]).toEqual([from, to]);
});

test('a time zone of the file is used if its rules are harmless, and does not run for ever if they are not', () => {
  const start = 'DTSTART;TZID=Own Zone:20260701T090000';
  expect(read([start], zone('RRULE:FREQ=YEARLY;BYMONTH=1;BYDAY=1SU'))?.start?.iso).toBe('2026-07-01T07:00:00.000Z');
  const began = Date.now();
  for (const rule of ['FREQ=SECONDLY', 'FREQ=YEARLY;BYHOUR=1,2,3;BYSECOND=1,2,3', 'FREQ=DAILY;COUNT=999999999'])
    expect(read([start], zone(`RRULE:${rule}`))?.start?.iso).toBe('2026-07-01T09:00:00');
  expect(Date.now() - began).toBeLessThan(1000);
});

test('cancellations, and files without an event, without a method or with invalid content, are read', () => {
  expect(read(people, ['METHOD:CANCEL'])).toMatchObject({ isCancelled: true });
  expect(read(['STATUS:CANCELLED'])).toMatchObject({ isCancelled: true });
  expect(read(['RECURRENCE-ID:20260701T090000Z'], [])).toMatchObject({ method: null, isOccurrence: true });
  expect(readInvitation('BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n', ICAL)).toBeNull();
  expect(read(['ORGANIZER:javascript:alert(1)', 'ATTENDEE:mailto:a b@c'])).toMatchObject({
    organizer: null,
    attendees: [],
  });
  expect(() => readInvitation('hello', ICAL)).toThrow();
  expect(() => readInvitation(`${calendar([])}${' '.repeat(maxCalendarLength)}`, ICAL)).toThrow('too large');
  const many = Array.from({ length: 2000 }, (_, index) => `ATTENDEE:mailto:a${index}@example.net`);
  expect(read(many)).toMatchObject({ attendees: { length: 200 }, moreAttendees: 1800 });
});

describe('a reply to an invitation', () => {
  const time = new Date('2026-06-01T10:00:00Z');
  const answer = (text: string, address = 'shop@example.com'): string =>
    writeAnswer(text, { address, answer: 'TENTATIVE', time }, ICAL);

  test('answers the same event for the attendee', () => {
    const reply = answer(
      calendar(
        [
          ...people,
          'DTSTART;TZID=Own Zone:20260701T090000',
          'SEQUENCE:3',
          'RRULE:FREQ=DAILY',
          'DESCRIPTION:x',
          'SUMMARY:a\\nMETHOD:CANCEL',
        ],
        zone('RRULE:FREQ=YEARLY'),
      ),
    );
    expect(reply).toContain('METHOD:REPLY\r\n');
    expect(reply.match(/^METHOD:/gm)).toHaveLength(1);
    expect(reply).toContain(
      'ATTENDEE;CN=Shop;PARTSTAT=TENTATIVE:mailto:Shop@example.com\r\n'.replace('mailto', 'MAILTO'),
    );
    for (const line of [
      'UID:1@example.net',
      'SEQUENCE:3',
      'DTSTAMP:20260601T100000Z',
      'TZID:Own Zone',
      'SUMMARY:a\\nMETHOD:CANCEL',
    ])
      expect(reply).toContain(`${line}\r\n`);
    for (const absent of ['cora@', 'RRULE:FREQ=DAILY', 'DESCRIPTION']) expect(reply).not.toContain(absent);
    expect(readInvitation(reply, ICAL)).toMatchObject({ method: 'REPLY', attendees: [{ answer: 'TENTATIVE' }] });
  });

  test('by a person who is not invited, or to an event without an organizer, is refused', () => {
    expect(() => answer(calendar(people), 'eve@example.com')).toThrow();
    expect(() => answer(calendar(people.slice(1)))).toThrow();
  });
});

test('local times are converted correctly around changes to and from daylight saving time', () => {
  expect(zonedTime('2026-03-29T03:30:00', 'Europe/Berlin')).toBe('2026-03-29T01:30:00.000Z');
  expect(zonedTime('2026-12-01T09:00:00', 'America/New_York')).toBe('2026-12-01T14:00:00.000Z');
  expect(zonedTime('2026-12-01T09:00:00', 'Not/AZone')).toBeNull();
});
