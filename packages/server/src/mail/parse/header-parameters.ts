import { decodeText } from './charset.ts';
import { decodeWords } from './encoded-words.ts';

/**
 * A parsed Content-Type or Content-Disposition header: the value in lower case, and the parameters by lower-case names.
 */
export interface ParameterHeader {
  readonly value: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const maxSegments = 1000;
/** Names of parameters that end an unquoted value if the semicolon before them is missing. */
const nextParameter = /\s(?:charset|boundary|name|filename|format|delsp|type)\*?[\d*]{0,4}\s{0,9}=/i;
const parameterName = /([^\s=;"]{1,100})\s{0,9}=\s{0,9}/y;

/**
 * Parses RFC 2045 parameters with the continuations and charsets of RFC 2231. Missing semicolons and closing quotes are
 * tolerated.
 *
 * @example `parseParameters('text/plain; charset=utf-8')` is `{ value: 'text/plain', parameters: Map { charset → utf-8 } }`
 */
export function parseParameters(header: string): ParameterHeader {
  const first = /^\s*"?([^\s;,"]*)/.exec(header)?.[1] ?? '';
  const value = /^[\w*-]+=/.test(first) ? '' : first;
  const written = new Map<string, string>();
  for (let index = value === '' ? 0 : header.indexOf(value) + value.length; index < header.length; ) {
    parameterName.lastIndex = index;
    const match = parameterName.exec(header);
    if (!match) {
      index += 1;
      continue;
    }
    const [whole, name = ''] = match;
    const begin = index + whole.length;
    const { text, end } = header[begin] === '"' ? quotedValue(header, begin + 1) : plainValue(header, begin);
    const key = name.toLowerCase();
    if (written.size < maxSegments && !written.has(key)) written.set(key, text);
    index = end;
  }
  return { value: value.toLowerCase(), parameters: assembleParameters(written) };
}

interface ParameterValue {
  readonly text: string;
  /** Index after the value. */
  readonly end: number;
}

/** Unquotes a value. A backslash only escapes quotes and backslashes, because file names contain other backslashes. */
function quotedValue(header: string, begin: number): ParameterValue {
  let end = begin;
  while (end < header.length && header[end] !== '"')
    end += header[end] === '\\' && /["\\]/.test(header[end + 1] ?? '') ? 2 : 1;
  return { text: header.slice(begin, end).replace(/\\(["\\])/g, '$1'), end: end + 1 };
}

function plainValue(header: string, begin: number): ParameterValue {
  const semicolon = header.indexOf(';', begin);
  const text = header.slice(begin, semicolon === -1 ? header.length : semicolon);
  const next = nextParameter.exec(text)?.index ?? text.length;
  return { text: text.slice(0, next).trim(), end: begin + next };
}

/** One segment of a value that was split or encoded by RFC 2231. */
interface Segment {
  readonly number: number;
  readonly encoded: boolean;
  readonly text: string;
}

function assembleParameters(written: ReadonlyMap<string, string>): Map<string, string> {
  const result = new Map<string, string>();
  const split = new Map<string, Segment[]>();
  for (const [name, text] of written) {
    const match = /^([^*]+)\*(?:(\d{1,4})(\*?))?$/.exec(name);
    if (!match) {
      result.set(name, decodeWords(text));
      continue;
    }
    const [, base = '', number, star] = match;
    const segments = split.get(base) ?? [];
    segments.push({ number: Number(number ?? 0), encoded: number === undefined || star === '*', text });
    split.set(base, segments);
  }
  // The plain form next to an encoded one is the fallback for old programs.
  for (const [name, segments] of split) result.set(name, joinSegments(segments));
  return result;
}

function joinSegments(segments: readonly Segment[]): string {
  const sorted = segments.toSorted((one, other) => one.number - other.number);
  if (!sorted.some(({ encoded }) => encoded)) return decodeWords(sorted.map(({ text }) => text).join(''));
  const first = sorted[0];
  const prefix = first?.encoded ? /^([^']{0,60})'[^']{0,60}'/.exec(first.text) : null;
  const bytes = sorted.map(({ encoded, text }, index) => {
    const rest = index === 0 && prefix ? text.slice(prefix[0].length) : text;
    return encoded ? percentDecode(rest) : Buffer.from(rest);
  });
  return decodeText(Buffer.concat(bytes), prefix?.[1] || 'utf-8');
}

function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text).toString('latin1');
  return Buffer.from(
    bytes.replace(/%([\da-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  );
}
