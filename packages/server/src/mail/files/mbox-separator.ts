/**
 * The form of the text after `From `: with a date as in RFC 4155; `bare` for nothing or a dash (Thunderbird); one word (an
 * address or an id without a date); or anything else.
 */
export type SeparatorForm = 'dated' | 'bare' | 'word' | 'other';

export interface FromLine {
  readonly form: SeparatorForm;
  /** The text after `From `. */
  readonly text: string;
  /** Bytes of the line with its end. */
  readonly length: number;
  /** True if the next line has the form of a header. */
  readonly headerFollows: boolean;
}

/** Maximum length of a separator, in bytes. */
export const separatorLookahead = 1400;

const maxLineLength = 1000;
const fromMark = Buffer.from('From ');
const time = /\d{1,2}:\d\d(?::\d\d)?\b/;
const year = /\b(?:19|20)\d\d/;
const isoTime = /\b(?:19|20)\d\d-\d\d-\d\d[T ]\d\d:\d\d/;
const headerLine = /^(?:>?From |[!-9;-~]{1,200}[ \t]*:)/;

/** Reads the line at the beginning of the bytes; null if it is not one that begins with `From `. */
export function readFromLine(bytes: Buffer): FromLine | null {
  if (bytes.compare(fromMark, 0, fromMark.length, 0, Math.min(fromMark.length, bytes.length)) !== 0) return null;
  const end = bytes.subarray(0, maxLineLength).indexOf(0x0a);
  if (end === -1 && bytes.length > maxLineLength) return null;
  const length = end === -1 ? bytes.length : end + 1;
  const text = bytes.toString('latin1', fromMark.length, length).trim();
  const headerFollows = headerLine.test(bytes.toString('latin1', length, length + 300));
  return { form: classifySeparator(text), text, length, headerFollows };
}

function classifySeparator(text: string): SeparatorForm {
  if (text === '' || text === '-') return 'bare';
  // Two searches in linear time. One pattern for both would take quadratic time.
  const clock = time.exec(text);
  if (clock && (year.test(text.slice(clock.index + clock[0].length)) || isoTime.test(text))) return 'dated';
  return /\s/.test(text) ? 'other' : 'word';
}

/**
 * Parses the time of a separator: `Thu Aug 22 12:36:23 2002`, in UTC unless an offset is before or after the year, or ISO 8601.
 * Null if there is none.
 */
export function parseSeparatorTime(text: string): string | null {
  const iso = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?/.exec(text)?.[0];
  if (iso) return asTime(/(?:Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso.replace(' ', 'T') : `${iso.replace(' ', 'T')}Z`);
  const match =
    /(\w{3})\s+(\d{1,2})\s+(\d{1,2}:\d\d(?::\d\d)?)(?:\s+([+-]\d{4}|[A-Z]{1,5}))?\s+(\d{4})(?:\s+([+-]\d{4}))?/.exec(
      text,
    );
  if (!match) return null;
  const [, month, day, clock, zone, fullYear, after] = match;
  const offset = [zone, after].find((each) => each?.match(/^[+-]/)) ?? '+0000';
  return asTime(`${day} ${month} ${fullYear} ${clock} ${offset}`);
}

function asTime(text: string): string | null {
  const moment = Date.parse(text);
  return Number.isFinite(moment) ? new Date(moment).toISOString() : null;
}
