/**
 * Reads calendar files of messages (iCalendar, RFC 5545, with the methods of iTIP, RFC 5546) and writes answers. The files come from
 * strangers: nothing is expanded, and only harmless time zones are evaluated.
 */
import type ICAL from 'ical.js';
import type { InvitationAnswer } from './invitation-answers.ts';
import { zonedTime } from './zoned-time.ts';

type Library = typeof ICAL;
type Component = InstanceType<Library['Component']>;
type Property = InstanceType<Library['Property']>;

/** Maximum length of a calendar that is read, in characters. */
export const maxCalendarLength = 300_000;
const maxText = 2000;
const maxAttendees = 200;
const maxObservances = 60;

export interface CalendarPerson {
  readonly name: string;
  readonly address: string;
  /** What the person has answered, in capital letters; null if the calendar does not say. */
  readonly answer: string | null;
}

/** A time of an event. */
export interface EventTime {
  /** A day (`2026-03-01`), or a date and time: ISO 8601 with `Z`; without `Z`, the time is local to the reader. */
  readonly iso: string;
  readonly isDay: boolean;
}

export interface Invitation {
  /** `REQUEST`, `CANCEL`, `REPLY`, `PUBLISH` and others; null if the calendar is no message. */
  readonly method: string | null;
  readonly summary: string;
  readonly location: string;
  readonly description: string;
  readonly start: EventTime | null;
  /** For days, the last one. */
  readonly end: EventTime | null;
  readonly organizer: CalendarPerson | null;
  readonly attendees: readonly CalendarPerson[];
  /** The number of attendees that are not listed. */
  readonly moreAttendees: number;
  readonly isCancelled: boolean;
  /** A new version of an invitation that was sent before. */
  readonly isUpdate: boolean;
  /** The event is one of a series. */
  readonly isOccurrence: boolean;
  /** How the event repeats: unit, interval and end; null if it does not. */
  readonly repeats: {
    readonly unit: string;
    readonly interval: number;
    readonly until: string | null;
    readonly count: number | null;
  } | null;
  /** The number of other events in the file. */
  readonly moreEvents: number;
}

/** @returns null for a file without an event. @throws Error for one that is no calendar. */
export function readInvitation(text: string, library: Library): Invitation | null {
  const { calendar, event, events } = openCalendar(text, library);
  if (!event) return null;
  const readText = (name: string): string => toText(event.getFirstPropertyValue(name));
  const attendees = event.getAllProperties('attendee');
  const method = toText(calendar.getFirstPropertyValue('method')).toUpperCase() || null;
  const start = readTime(event, 'dtstart');
  return {
    method,
    summary: readText('summary').slice(0, 300),
    location: readText('location').slice(0, 300),
    description: readText('description').slice(0, maxText),
    start,
    end: readEnd(event, start),
    organizer: toPerson(event.getFirstProperty('organizer')),
    attendees: attendees.slice(0, maxAttendees).flatMap((each) => toPerson(each) ?? []),
    moreAttendees: Math.max(0, attendees.length - maxAttendees),
    isCancelled: method === 'CANCEL' || readText('status').toUpperCase() === 'CANCELLED',
    isUpdate: Number(event.getFirstPropertyValue('sequence') ?? 0) > 0,
    isOccurrence: event.hasProperty('recurrence-id'),
    repeats: readRepetition(event),
    moreEvents: events - 1,
  };
}

interface OpenCalendar {
  readonly calendar: Component;
  /** The series, or the first event. */
  readonly event: Component | undefined;
  readonly events: number;
}

function openCalendar(text: string, { Component, parse }: Library): OpenCalendar {
  if (text.length > maxCalendarLength) throw new Error('The calendar is too large.');
  const parsed = parse(text) as unknown[];
  // Several calendars in one file are a list of them.
  const calendar = new Component((Array.isArray(parsed[0]) ? parsed[0] : parsed) as never);
  for (const zone of calendar.getAllSubcomponents('vtimezone'))
    if (!isHarmless(zone)) calendar.removeSubcomponent(zone);
  const events = calendar.getAllSubcomponents('vevent');
  return {
    calendar,
    event: events.find((each) => !each.hasProperty('recurrence-id')) ?? events[0],
    events: events.length,
  };
}

/** Rules of a real time zone repeat yearly. Others could take for ever to evaluate. */
function isHarmless(zone: Component): boolean {
  const observances = zone.getAllSubcomponents();
  return (
    observances.length <= maxObservances &&
    observances.every((each) => {
      const rules = each.getAllProperties('rrule');
      const isYearly = rules.every((rule) =>
        /^FREQ=YEARLY(?:;(?:BYMONTH|BYDAY|BYMONTHDAY|UNTIL|INTERVAL=1)[^;]*)*$/i.test(toText(rule.getFirstValue())),
      );
      return rules.length <= 1 && isYearly && each.getAllProperties('rdate').length <= maxObservances;
    })
  );
}

function toText(value: unknown): string {
  return value === null || value === undefined ? '' : String(value).trim();
}

function toPerson(property: Property | null): CalendarPerson | null {
  const address = toText(property?.getFirstValue()).replace(/^mailto:/i, '');
  if (!property || !/^[^\s@<>]{1,64}@[^\s@<>]{1,255}$/.test(address)) return null;
  const name = toText(property.getFirstParameter('cn')).replace(/^"|"$/g, '').slice(0, 200);
  return { name, address, answer: toText(property.getFirstParameter('partstat')).toUpperCase() || null };
}

function readTime(event: Component, name: string): EventTime | null {
  const property = event.getFirstProperty(name);
  const time = property?.getFirstValue() as InstanceType<Library['Time']> | null | undefined;
  if (!property || !time || typeof time !== 'object' || !('isDate' in time)) return null;
  if (time.isDate) return { iso: time.toString().slice(0, 10), isDay: true };
  const local = time.toString().replace(/Z$/, '');
  const zone = toText(property.getFirstParameter('tzid'));
  if (time.zone?.tzid === 'UTC' || (zone !== '' && time.zone?.tzid !== 'floating'))
    return { iso: new Date(time.toUnixTime() * 1000).toISOString(), isDay: false };
  return { iso: zonedTime(local, zone) ?? local, isDay: false };
}

function readEnd(event: Component, start: EventTime | null): EventTime | null {
  const end = readTime(event, 'dtend');
  // The end of days is the day after the last one.
  if (end?.isDay) {
    const last = new Date(Date.parse(end.iso) - 86_400_000).toISOString().slice(0, 10);
    return start && last > start.iso ? { iso: last, isDay: true } : null;
  }
  if (end || !start) return end;
  const duration = event.getFirstPropertyValue('duration') as { toSeconds?(): number } | null;
  const seconds = duration?.toSeconds?.();
  if (start.isDay || !seconds || !start.iso.endsWith('Z')) return null;
  const time = Date.parse(start.iso) + seconds * 1000;
  return Math.abs(time) < 8e15 ? { iso: new Date(time).toISOString(), isDay: false } : null;
}

function readRepetition(event: Component): Invitation['repeats'] {
  const rule = toText(event.getFirstPropertyValue('rrule'));
  const unit = /(?:^|;)FREQ=([A-Z]+)/.exec(rule)?.[1];
  if (unit === undefined) return null;
  const readNumber = (name: string): number | null =>
    Number(new RegExp(`(?:^|;)${name}=(\\d{1,6})`).exec(rule)?.[1]) || null;
  const [, year, month, day] = /(?:^|;)UNTIL=(\d{4})-?(\d\d)-?(\d\d)/.exec(rule) ?? [];
  return {
    unit,
    interval: readNumber('INTERVAL') ?? 1,
    until: year === undefined ? null : `${year}-${month}-${day}`,
    count: readNumber('COUNT'),
  };
}

/** Who answers, and how. */
export interface AnswerOptions {
  readonly address: string;
  readonly answer: InvitationAnswer;
  readonly time: Date;
}

/**
 * The calendar of an answer (iTIP `REPLY`), for the event that {@link readInvitation} shows.
 *
 * @throws Error for a calendar without an event, an organizer, or this attendee.
 */
export function writeAnswer(text: string, { address, answer, time }: AnswerOptions, library: Library): string {
  const { Component, Property, Time } = library;
  const { calendar, event } = openCalendar(text, library);
  const attendee = event
    ?.getAllProperties('attendee')
    .find((each) => toPerson(each)?.address.toLowerCase() === address.toLowerCase());
  if (!event || !attendee || !toPerson(event.getFirstProperty('organizer')))
    throw new Error('This cannot be answered.');
  const reply = new Component('vcalendar');
  reply.addPropertyWithValue('prodid', '-//Tablinum//Mail//EN');
  reply.addPropertyWithValue('version', '2.0');
  reply.addPropertyWithValue('method', 'REPLY');
  for (const zone of calendar.getAllSubcomponents('vtimezone'))
    reply.addSubcomponent(new Component(zone.toJSON() as never));
  const answered = new Component('vevent');
  const copied = [
    'uid',
    'sequence',
    'organizer',
    'recurrence-id',
    'dtstart',
    'dtend',
    'duration',
    'summary',
    'location',
  ];
  for (const name of copied) {
    const property = event.getFirstProperty(name);
    if (property) answered.addProperty(new Property(property.toJSON() as never));
  }
  answered.addPropertyWithValue('dtstamp', Time.fromJSDate(time, true));
  const person = new Property('attendee');
  person.setValue(attendee.getFirstValue() as string);
  const name = attendee.getFirstParameter('cn');
  if (name) person.setParameter('cn', name);
  person.setParameter('partstat', answer);
  answered.addProperty(person);
  reply.addSubcomponent(answered);
  return `${reply.toString()}\r\n`;
}
