import { mailLimits } from '../../protocol/mail-limits.ts';
import { rawValues, readHeaders } from '../parse/header-block.ts';
import { ByteLines } from './byte-lines.ts';
import type { FileMessage, MailFlag } from './mail-file.ts';

/**
 * How lines of a body that begin with `From ` were kept apart from those that part the messages: `mboxrd` puts `>` before every line of
 * `>`s and `From `, `mboxo` before `From ` alone, so that it cannot be taken back wholly.
 */
export type MboxVariant = 'mboxrd' | 'mboxo';

const time = /\d{1,2}:\d\d(?::\d\d)?\b/;
const year = /\b(?:19|20)\d\d/;
const empty = new Uint8Array();

/**
 * The messages of an mbox file, one in memory at a time. A line parts messages where it stands first or behind an empty line, begins with
 * `From ` and holds a date; Content-Length is not asked, since every program that changes a file forgets it.
 */
export async function* readMbox(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  variant: MboxVariant = 'mboxrd',
): AsyncGenerator<FileMessage> {
  let message: GrowingMessage | null = null;
  let afterEmpty = true;
  const lines = new ByteLines(mailLimits.rawBytes);
  for await (const line of lines.of(source)) {
    const dated = afterEmpty ? separatorDate(line) : null;
    if (dated !== null) {
      if (message) yield message.ended();
      message = new GrowingMessage(dated);
    } else {
      // What lies before the first separator is a message of a file that lacks it, if it is anything.
      message ??= isEmpty(line) ? null : new GrowingMessage('');
      message?.add(unescaped(line, variant));
    }
    afterEmpty = isEmpty(line);
  }
  if (message) yield message.ended();
}

/** What stands behind `From ` in a separating line, which holds a time and a year after it; null for other lines. */
function separatorDate(line: Uint8Array): string | null {
  if (!startsWith(line, fromMark) || line.length > 1000) return null;
  const text = Buffer.from(line.subarray(fromMark.length)).toString('latin1').trimEnd();
  // Two looks, each from left to right: one pattern for both takes the square of a line's length.
  const clock = time.exec(text);
  return clock && year.test(text.slice(clock.index + clock[0].length)) ? text : null;
}

const fromMark = Buffer.from('From ');

function startsWith(line: Uint8Array, mark: Uint8Array, offset = 0): boolean {
  return line.length >= offset + mark.length && mark.every((byte, at) => line[offset + at] === byte);
}

function isEmpty(line: Uint8Array): boolean {
  return line.length === 1 ? line[0] === 0x0a : line.length === 2 && line[0] === 0x0d && line[1] === 0x0a;
}

function unescaped(line: Uint8Array, variant: MboxVariant): Uint8Array {
  if (line[0] !== 0x3e) return line;
  let marks = 1;
  while (variant === 'mboxrd' && line[marks] === 0x3e) marks += 1;
  return startsWith(line, fromMark, marks) ? line.subarray(1) : line;
}

/** A message while its lines come in; beyond the limit it is counted, not kept. */
class GrowingMessage {
  readonly #date: string;
  #lines: Uint8Array[] = [];
  #size = 0;

  constructor(date: string) {
    this.#date = date;
  }

  add(line: Uint8Array): void {
    this.#size += line.length;
    if (this.#size <= mailLimits.rawBytes) this.#lines.push(line);
  }

  ended(): FileMessage {
    // The empty line before the next separator belongs to the file, not to the message.
    const last = this.#lines.at(-1) ?? empty;
    const whole = Buffer.concat(isEmpty(last) && this.#lines.length > 1 ? this.#lines.slice(0, -1) : this.#lines);
    const raw = new Uint8Array(whole.buffer, whole.byteOffset, whole.length);
    const receivedAt = asctime(this.#date);
    const flags = flagsOf(raw);
    return {
      raw: this.#size > mailLimits.rawBytes ? raw.slice(0, mailLimits.headerBytes) : raw,
      ...(flags ? { flags } : {}),
      ...(receivedAt ? { receivedAt } : {}),
      ...(this.#size > mailLimits.rawBytes ? { tooLong: this.#size } : {}),
    };
  }
}

/** `Thu Aug 22 12:36:23 2002`, UTC, with or without a zone's offset behind or before the year. */
function asctime(text: string): string | null {
  const match =
    /(\w{3})\s+(\d{1,2})\s+(\d{1,2}:\d\d(?::\d\d)?)(?:\s+([+-]\d{4}|[A-Z]{1,5}))?\s+(\d{4})(?:\s+([+-]\d{4}))?/.exec(
      text,
    );
  if (!match) return null;
  const [, month, day, time, zone, year, after] = match;
  const offset = [zone, after].find((each) => each?.match(/^[+-]/)) ?? '+0000';
  const at = Date.parse(`${day} ${month} ${year} ${time} ${offset}`);
  return Number.isFinite(at) ? new Date(at).toISOString() : null;
}

const letters: Readonly<Record<string, MailFlag>> = {
  R: 'seen',
  A: 'answered',
  F: 'flagged',
  D: 'deleted',
  T: 'draft',
};

/** Flags of the headers Status and X-Status; none where the message has neither. */
function flagsOf(raw: Uint8Array): MailFlag[] | null {
  const { headers } = readHeaders(raw);
  const said = [...rawValues(headers, 'status'), ...rawValues(headers, 'x-status')];
  if (said.length === 0) return null;
  const found = [...said.join('')].map((letter) => letters[letter]).filter((flag) => flag !== undefined);
  return [...new Set(found)];
}
