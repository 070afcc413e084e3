/** Vacation replies of an account: the setting, and when it applies. */
import { isObject } from '../../protocol/json-text.ts';
import { canonicalDatetime } from '../../schema/types/datetime.ts';
import { InputProblems } from './input-problems.ts';
import { parseTemplate, type ReplyTemplate } from './rule-actions.ts';

/** The field `vacation` of an account. */
export interface VacationSetting extends ReplyTemplate {
  readonly enabled: boolean;
  /** ISO 8601; null: from now on. */
  readonly from: string | null;
  /** ISO 8601, exclusive; null: until it is disabled. */
  readonly until: string | null;
  /** Only senders to whom the account has written before get the reply. */
  readonly knownSendersOnly: boolean;
}

const members = ['enabled', 'from', 'until', 'subject', 'text', 'html', 'knownSendersOnly'];

/**
 * Reads the setting from a request.
 *
 * @returns null where the request removes the setting.
 * @throws ApiError 422 naming each wrong member as `vacation.<member>`.
 */
export function parseVacation(input: unknown): VacationSetting | null {
  if (input === null) return null;
  const problems = new InputProblems();
  if (!isObject(input)) {
    problems.add('vacation', 'Give {"enabled", "from", "until", "subject", "text"}, or null.');
    problems.throwIfAny();
    return null;
  }
  const { enabled = false, knownSendersOnly = false } = input;
  problems.addUnknown('vacation', input, members);
  for (const [name, value] of Object.entries({ enabled, knownSendersOnly }))
    if (typeof value !== 'boolean') problems.add(`vacation.${name}`, 'Give true or false.');
  const from = parseTime(input['from'], 'vacation.from', problems);
  const until = parseTime(input['until'], 'vacation.until', problems);
  if (from !== null && until !== null && until <= from)
    problems.add('vacation.until', 'Give a time that is later than "from", or null.');
  const template = parseTemplate(input, 'vacation', problems);
  problems.throwIfAny();
  return { enabled: enabled === true, from, until, ...template, knownSendersOnly: knownSendersOnly === true };
}

function parseTime(input: unknown, path: string, problems: InputProblems): string | null {
  if (input === undefined || input === null) return null;
  const time = canonicalDatetime(input);
  if (time === null)
    problems.add(path, 'Give a date and time in ISO 8601, such as 2026-12-24T00:00:00+01:00, or null.');
  return time;
}

/**
 * Whether the reply is sent to a message that was received at a time.
 *
 * @param receivedAt milliseconds since the Unix epoch, as is `now`.
 */
export function isVacationActive({ enabled, from, until }: VacationSetting, receivedAt: number, now: number): boolean {
  const begin = from === null ? Number.NEGATIVE_INFINITY : Date.parse(from);
  const end = until === null ? Number.POSITIVE_INFINITY : Date.parse(until);
  return enabled && receivedAt >= begin && receivedAt < end && now >= begin && now < end;
}
