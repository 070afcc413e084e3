import { mailLimits } from '../../protocol/mail-limits.ts';
import { toSharedBytes } from '../parse/shared-bytes.ts';
import { ByteWindow } from './byte-window.ts';
import type { AmbiguousSeparators, FileMessage } from './mail-file.ts';
import { readHeaderNotes } from './mail-flags.ts';
import {
  type FromLine,
  parseSeparatorTime,
  readFromLine,
  type SeparatorForm,
  separatorLookahead,
} from './mbox-separator.ts';

/**
 * How body lines that begin with `From ` are distinguished from separators. `mboxrd` puts `>` before every line of `>`s and
 * `From `; `mboxo` only before `From `, which cannot be reversed completely. `unknown` is read as mboxrd, but the file may
 * have any dialect. In the other dialects every separator has a date, and Content-Length is ignored.
 */
export type MboxVariant = 'mboxrd' | 'mboxo' | 'unknown';

/**
 * Reads the messages of an mbox file, one at a time. Supported dialects: mboxo, mboxrd, mboxcl and mboxcl2 (Content-Length),
 * Thunderbird (`From ` without further text, `From - `), Gmail Takeout, and files whose separators have an id or an address
 * without a date.
 */
export async function* readMbox(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  variant: MboxVariant = 'unknown',
): AsyncGenerator<FileMessage> {
  const window = new ByteWindow(source);
  try {
    yield* new MboxReader(window, variant).messages();
  } finally {
    await window.close();
  }
}

const lineFrom = Buffer.from('\nFrom ');
const lineMarked = Buffer.from('\n>');
const maxOffsets = 10;
/** Maximum bytes of headers in which Content-Length is searched. */
const lengthPattern = /^content-length[ \t]*:[ \t]*(\d{1,10})[ \t]*\r?$/im;

/** A message whose end has not been found yet. */
interface OpenMessage {
  readonly start: number;
  readonly separator: string;
  /** The beginning of a message that passes the limit; the rest is not retained. */
  head: Uint8Array | null;
  readonly doubts: { count: number; offsets: number[] };
}

/** The end of a message, and whether its lines that begin with `From ` are not escaped (mboxcl2). */
interface KnownEnd {
  /** Offset of the next separator, or of the end of the file. */
  readonly end: number;
  readonly contentEnd: number;
  readonly unescaped: boolean;
}

class MboxReader {
  readonly #window: ByteWindow;
  readonly #variant: MboxVariant;
  /** The form of the first separator: a weaker form counts as a separator only in a file that begins with it. */
  #firstForm: SeparatorForm | null = null;
  /** Number of correct Content-Length headers minus wrong ones. Programs that change a file do not update them. */
  #lengthTrust = 0;

  constructor(window: ByteWindow, variant: MboxVariant) {
    this.#window = window;
    this.#variant = variant;
  }

  async *messages(): AsyncGenerator<FileMessage> {
    let message: OpenMessage | null = await this.#first();
    while (message) {
      const known: KnownEnd | null = await this.#endByLength(message.start);
      const end: number = known?.end ?? (await this.#nextSeparator(message));
      yield await this.#finishMessage(message, end, known);
      this.#window.dropTo(end);
      message = await this.#openNext(end);
    }
  }

  /** The first message: it begins after a separator, or with the first line that is not empty. */
  async #first(): Promise<OpenMessage | null> {
    const window = this.#window;
    let start = 0;
    for (;;) {
      await window.fillTo(start + separatorLookahead);
      const byte = window.view(start)[0];
      if (byte === undefined) return null;
      if (byte !== 0x0a && byte !== 0x0d) break;
      start += 1;
      window.dropTo(start);
    }
    const line = readFromLine(window.view(start));
    if (line === null || (line.form !== 'dated' && !line.headerFollows && line.length < window.to - start))
      return startMessage(start, '');
    this.#firstForm = line.form;
    return startMessage(start + line.length, line.text);
  }

  /** The message after the separator at an offset; null at the end of the file. */
  async #openNext(offset: number): Promise<OpenMessage | null> {
    await this.#window.fillTo(offset + separatorLookahead);
    const line = readFromLine(this.#window.view(offset));
    return line && startMessage(offset + line.length, line.text);
  }

  /**
   * Finds the next separator, and collects ambiguous lines.
   *
   * @returns the offset of its line, or the end of the file.
   */
  async #nextSeparator(message: OpenMessage): Promise<number> {
    const window = this.#window;
    // The empty line before a separator may be the one that ends the separator of a message without content.
    let from = message.start - 1;
    for (;;) {
      const found = window.indexOf(lineFrom, from);
      if (found === -1) {
        from = Math.max(from, window.to - lineFrom.length + 1);
        this.#retain(message, from);
        if (window.ended) return window.to;
        await window.fill();
        continue;
      }
      const offset = found + 1;
      await window.fillTo(offset + separatorLookahead);
      if (this.#isSeparatorAt(message, offset)) return offset;
      from = offset;
    }
  }

  #isSeparatorAt(message: OpenMessage, offset: number): boolean {
    const line = readFromLine(this.#window.view(offset));
    if (line === null) return false;
    const afterEmpty = this.#isAfterEmptyLine(offset);
    if (afterEmpty && this.#isSeparator(line)) {
      this.#firstForm ??= line.form;
      return true;
    }
    if (this.#variant === 'unknown' && line.headerFollows && (afterEmpty || line.form === 'dated')) {
      message.doubts.count += 1;
      if (message.doubts.offsets.length < maxOffsets) message.doubts.offsets.push(offset);
    }
    return false;
  }

  #isSeparator({ form, text, headerFollows }: FromLine): boolean {
    if (form === 'dated' || this.#variant !== 'unknown') return form === 'dated';
    return headerFollows && (form === 'bare' || (form === 'word' && text.includes('@')) || form === this.#firstForm);
  }

  /** True if the line before the offset is empty. */
  #isAfterEmptyLine(offset: number): boolean {
    const before = this.#window.view(offset - 3, offset).toString('latin1');
    return /\n\r?\n$/.test(before);
  }

  /** Retains only the beginning of a message that exceeds the limit. */
  #retain(message: OpenMessage, from: number): void {
    if (this.#window.to - message.start <= mailLimits.rawBytes) return;
    message.head ??= copyBytes(this.#window.view(message.start, message.start + mailLimits.headerBytes));
    this.#window.dropTo(Math.max(from - 4, message.start));
  }

  /** The end by Content-Length, if a separator or the end of the file follows it. */
  async #endByLength(start: number): Promise<KnownEnd | null> {
    if (this.#lengthTrust < 0 || this.#variant !== 'unknown') return null;
    const bodyAt = await this.#findBodyStart(start);
    if (bodyAt === null) return null;
    const written = lengthPattern.exec(this.#window.view(start, bodyAt).toString('latin1'))?.[1];
    if (written === undefined || bodyAt - start + Number(written) > mailLimits.rawBytes) return null;
    const length = Number(written);
    await this.#window.fillTo(bodyAt + length + separatorLookahead);
    const end = this.#separatorAt(bodyAt + length);
    this.#lengthTrust += end === null ? -1 : 1;
    if (end === null) return null;
    const unescaped = this.#window.view(bodyAt - 1, bodyAt + length).includes(lineFrom);
    return { end, contentEnd: bodyAt + length, unescaped };
  }

  /** The offset of a separator at the given one or after an empty line; null if none is there. */
  #separatorAt(offset: number): number | null {
    if (offset > this.#window.to) return null;
    const rest = this.#window.view(offset, offset + separatorLookahead);
    const line = /^(?:\r?\n){0,2}/.exec(rest.toString('latin1', 0, 4))![0].length;
    if (offset + line === this.#window.to) return this.#window.to;
    const from = readFromLine(rest.subarray(line));
    const lineBegins = line > 0 || this.#window.view(offset - 1, offset)[0] === 0x0a;
    return lineBegins && from && (from.form === 'dated' || from.headerFollows) ? offset + line : null;
  }

  /** Offset after the empty line that ends the headers; null if they are too long. */
  async #findBodyStart(start: number): Promise<number | null> {
    const window = this.#window;
    for (let from = start; ; ) {
      const lineEnd = window.indexOf(newLine, from);
      if (lineEnd === -1) {
        if (window.ended || window.to - start > mailLimits.headerBytes) return null;
        from = Math.max(from, window.to);
        await window.fill();
        continue;
      }
      const line = window.view(Math.max(lineEnd - 2, start), lineEnd).toString('latin1');
      if (/^\r?$|\n\r?$/.test(line)) return lineEnd + 1;
      from = lineEnd + 1;
    }
  }

  async #finishMessage(message: OpenMessage, end: number, known: KnownEnd | null): Promise<FileMessage> {
    const { start, separator, head, doubts } = message;
    const raw = head ?? (await this.#content(start, end, known));
    const receivedAt = parseSeparatorTime(separator);
    const isOversized = head !== null || end - start > mailLimits.rawBytes;
    return {
      raw: isOversized && head === null ? raw.slice(0, mailLimits.headerBytes) : raw,
      ...readHeaderNotes(raw, /^(?:-|$)/.test(separator)),
      ...(receivedAt ? { receivedAt } : {}),
      ...(isOversized ? { tooLong: end - start } : {}),
      ...(doubts.count > 0 ? { doubts: doubts satisfies AmbiguousSeparators } : {}),
    };
  }

  /** The bytes of a message without the empty line before the next separator. */
  async #content(start: number, end: number, known: KnownEnd | null): Promise<Uint8Array> {
    if (known?.unescaped) return toSharedBytes([this.#window.view(start, known.contentEnd)]);
    if (known)
      return unescapeFromLines(await toSharedBytes([this.#window.view(start, known.contentEnd)]), this.#variant);
    const whole = this.#window.view(start, end);
    const tail = /\n(\r?\n)$/.exec(whole.toString('latin1', Math.max(whole.length - 3, 0)))?.[1] ?? '';
    return unescapeFromLines(await toSharedBytes([whole.subarray(0, whole.length - tail.length)]), this.#variant);
  }
}

const newLine = Buffer.from('\n');

const startMessage = (start: number, separator: string): OpenMessage => ({
  start,
  separator,
  head: null,
  doubts: { count: 0, offsets: [] },
});

/** A copy with its own buffer. */
const copyBytes = (bytes: Buffer): Uint8Array => new Uint8Array(bytes);

/** Removes the `>` that escapes body lines. The bytes are changed in place. */
function unescapeFromLines(bytes: Uint8Array, variant: MboxVariant): Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let written = 0;
  let copied = 0;
  const copyThrough = (to: number): void => {
    if (written !== copied) buffer.copyWithin(written, copied, to);
    written += to - copied;
    copied = to;
  };
  let mark = buffer[0] === 0x3e ? 0 : nextMark(buffer, 0);
  while (mark !== -1) {
    let marks = mark + 1;
    while (variant !== 'mboxo' && buffer[marks] === 0x3e) marks += 1;
    if (buffer.toString('latin1', marks, marks + 5) === 'From ') {
      copyThrough(mark);
      copied = mark + 1;
    }
    mark = nextMark(buffer, marks - 1);
  }
  copyThrough(buffer.length);
  return bytes.subarray(0, written);
}

/** The index of the next `>` that begins a line. */
function nextMark(buffer: Buffer, from: number): number {
  const found = buffer.indexOf(lineMarked, from);
  return found === -1 ? -1 : found + 1;
}
