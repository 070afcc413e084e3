/** One result of an Authentication-Results header (RFC 8601). */
export interface ReceiverResult {
  readonly method: 'spf' | 'dkim' | 'dmarc' | 'arc';
  /** Such as `pass` or `fail`, in lower case. */
  readonly result: string;
  /** The domain that the result is about, in lower case: of the signature, of the envelope's sender, or of From. */
  readonly domain: string | null;
}

/**
 * An Authentication-Results header. Only headers of the account's own mail server can be trusted; senders can add
 * others.
 */
export interface ReceiverResults {
  /** The name of the server that wrote the header, in lower case; empty if the header has none. */
  readonly authservId: string;
  readonly results: readonly ReceiverResult[];
}

const resultNames: ReadonlySet<string> = new Set(
  'none pass fail softfail policy neutral temperror permerror bestguesspass'.split(' '),
);
const maxHeaderLength = 16 * 1024;
const maxResults = 20;
/** The properties that name the domain of a method, the best one first. */
const domainProperties = {
  spf: ['smtp.mailfrom', 'smtp.helo'],
  dkim: ['header.d', 'header.i'],
  dmarc: ['header.from'],
  arc: [],
} as const;

/**
 * The topmost Authentication-Results header of a message. Servers add headers at the top, so it comes from the last
 * server; those below came with the message.
 *
 * @param values the headers as written, topmost first.
 * @returns null if there is none, or if it has no result.
 */
export function readAuthentication(values: readonly string[]): ReceiverResults | null {
  const [topmost] = values;
  const header = topmost === undefined ? null : parseAuthenticationResults(topmost);
  return header && header.results.length > 0 ? header : null;
}

/** Parses an Authentication-Results header. Text in comments and quotation marks is not a result. */
export function parseAuthenticationResults(value: string): ReceiverResults {
  const [first = '', ...parts] = splitParts(value.slice(0, maxHeaderLength));
  // Microsoft 365 omits the name: its header begins with the first result.
  const isNamed = !/^\s*[a-z]+\s*=/i.test(first);
  const authservId = isNamed ? (/^\s*"?([^\s"/]{1,253})/.exec(first)?.[1] ?? '').toLowerCase() : '';
  const results = (isNamed ? parts : [first, ...parts]).flatMap((part) => parseResult(part) ?? []);
  return { authservId, results: results.slice(0, maxResults) };
}

function parseResult(part: string): ReceiverResult | null {
  const match = /^\s*(spf|dkim|dmarc|arc)\s*(?:\/\s*\d+\s*)?=\s*([a-z]+)/i.exec(part);
  if (!match) return null;
  const [, name = '', value = ''] = match;
  const method = name.toLowerCase() as ReceiverResult['method'];
  const result = value.toLowerCase();
  return resultNames.has(result) ? { method, result, domain: findDomain(method, part) } : null;
}

function findDomain(method: ReceiverResult['method'], part: string): string | null {
  for (const property of domainProperties[method]) {
    const pattern = new RegExp(`\\s${property.replace('.', '\\s?\\.\\s?')}\\s?=\\s?"?([^\\s"]{1,320})`, 'i');
    const written = pattern.exec(part)?.[1];
    const domain = written?.slice(written.lastIndexOf('@') + 1).toLowerCase();
    if (domain && /^[^\s@<>(),;:"[\]\\]{1,253}$/.test(domain)) return domain.replace(/\.$/, '');
  }
  return null;
}

/** Splits at semicolons, except inside of quotation marks, and removes comments, which can be nested. */
function splitParts(value: string): string[] {
  let depth = 0;
  let isQuoted = false;
  let text = '';
  const parts: string[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const character = value.charAt(index);
    if (character === '\\' && (isQuoted || depth > 0)) index += 1;
    else if (isQuoted) {
      if (character === '"') isQuoted = false;
      // Quoted text is data: its characters must not be read as syntax.
      text += /[\w.@-]/.test(character) ? character : character === '"' ? '"' : '_';
    } else if (character === '(') depth += 1;
    else if (character === ')') depth = Math.max(0, depth - 1);
    else if (depth > 0) continue;
    else if (character === ';') {
      parts.push(text);
      text = '';
    } else {
      if (character === '"') isQuoted = true;
      text += character;
    }
  }
  return [...parts, text];
}
