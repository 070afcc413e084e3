import { rawValues, readHeaders } from '../parse/header-block.ts';
import { parseAddresses } from '../parse/mail-addresses.ts';
import { ByteLines } from './byte-lines.ts';
import type { FileMessage, MailFlag } from './mail-file.ts';

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const letters: Readonly<Record<MailFlag, string>> = {
  seen: 'R',
  answered: 'A',
  flagged: 'F',
  deleted: 'D',
  draft: 'T',
};
const lineEnd = Buffer.from('\n');
const mark = Buffer.from('>');
const lineFeed = 0x0a;

/**
 * Writes an mbox file message by message (mboxrd: each line that begins with `>…From ` gets another `>`). Line ends become LF,
 * as the format requires. Flags are written as the headers Status and X-Status, which replace those of the message.
 */
export async function* writeMbox(
  messages: AsyncIterable<FileMessage> | Iterable<FileMessage>,
): AsyncGenerator<Uint8Array> {
  for await (const message of messages) {
    yield Buffer.from(`From ${readSender(message.raw)} ${asctime(message.receivedAt)}\n`);
    if (message.flags) yield Buffer.from(flagHeaders(message.flags));
    yield* escapeLines(message.raw, message.flags !== undefined);
    yield lineEnd;
  }
}

/**
 * Whether {@link writeExactMbox} and the reader preserve every byte of a message: its last line must have a line end.
 */
export const isExactInMbox = (raw: Uint8Array): boolean => raw.at(-1) === lineFeed;

/** Writes an mbox file (mboxrd) whose messages keep their line ends and headers, without flags. */
export function* writeExactMbox(messages: Iterable<FileMessage>): Generator<Uint8Array> {
  for (const { raw, receivedAt } of messages) {
    yield Buffer.from(`From MAILER-DAEMON ${asctime(receivedAt)}\n`);
    yield* escapeFromLines(Buffer.from(raw.buffer, raw.byteOffset, raw.length));
    yield lineEnd;
  }
}

/** Puts `>` before every line of `>`s and `From `. */
function* escapeFromLines(raw: Buffer): Generator<Uint8Array> {
  let copied = 0;
  for (let found = raw.indexOf('From '); found !== -1; found = raw.indexOf('From ', found + 1)) {
    let line = found;
    while (line > 0 && raw[line - 1] === 0x3e) line -= 1;
    if (line > 0 && raw[line - 1] !== lineFeed) continue;
    yield raw.subarray(copied, line);
    yield mark;
    copied = line;
  }
  yield raw.subarray(copied);
}

async function* escapeLines(raw: Uint8Array, ownFlags: boolean): AsyncGenerator<Uint8Array> {
  let inHeaders = true;
  let isSkipped = false;
  for await (const written of new ByteLines(raw.length).split([raw])) {
    const line = withLineFeed(written);
    if (line.length === 1) inHeaders = false;
    const text = inHeaders ? Buffer.from(line.subarray(0, 20)).toString('latin1') : '';
    if (inHeaders && !/^[ \t]/.test(text)) isSkipped = ownFlags && /^(?:x-)?status[ \t]*:/i.test(text);
    if (inHeaders && isSkipped) continue;
    yield isFromLine(line) ? Buffer.concat([mark, line]) : line;
  }
}

function withLineFeed(line: Uint8Array): Uint8Array {
  if (line.at(-1) !== 0x0a) return Buffer.concat([line, lineEnd]);
  return line.at(-2) === 0x0d ? Buffer.concat([line.subarray(0, -2), lineEnd]) : line;
}

function isFromLine(line: Uint8Array): boolean {
  let index = 0;
  while (line[index] === 0x3e) index += 1;
  return Buffer.from(line.subarray(index, index + 5)).toString('latin1') === 'From ';
}

function readSender(raw: Uint8Array): string {
  const [sender] = parseAddresses(rawValues(readHeaders(raw).headers, 'from'));
  return sender?.address && /^[\x21-\x7e]+$/.test(sender.address) ? sender.address : 'MAILER-DAEMON';
}

function asctime(receivedAt: string | undefined): string {
  const date = new Date(receivedAt ?? 0);
  const two = (value: number): string => String(value).padStart(2, '0');
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':');
  const day = String(date.getUTCDate()).padStart(2, ' ');
  return `${days[date.getUTCDay()]} ${months[date.getUTCMonth()]} ${day} ${time} ${date.getUTCFullYear()}`;
}

function flagHeaders(flags: readonly MailFlag[]): string {
  const rest = flags.filter((flag) => flag !== 'seen').map((flag) => letters[flag]);
  return `Status: ${flags.includes('seen') ? 'RO' : 'O'}\nX-Status: ${rest.join('')}\n`;
}
