/** A text mail in pieces: what is said, links in it, and what it quotes at its end. */

export interface SplitText {
  readonly body: string;
  /** Null where nothing is quoted. */
  readonly quoted: string | null;
}

/** What stands before a quotation: `Ada wrote:`, in any language. */
const attributionPattern = /^.{2,200}:\s*$/;

/** The quotation is folded only where nothing is said after it. */
export function splitQuotation(text: string): SplitText {
  const lines = text.replace(/\s+$/, '').split('\n');
  let first = lines.length;
  const isQuotedOrEmpty = (line: string | undefined): boolean =>
    line !== undefined && (line.startsWith('>') || line.trim() === '');
  while (isQuotedOrEmpty(lines[first - 1])) first -= 1;
  if (!lines.slice(first).some((line) => line.startsWith('>'))) return { body: lines.join('\n'), quoted: null };
  if (attributionPattern.test(lines[first - 1] ?? '')) first -= 1;
  const body = lines.slice(0, first).join('\n').trimEnd();
  return body === ''
    ? { body: lines.join('\n'), quoted: null }
    : { body, quoted: lines.slice(first).join('\n').trim() };
}

export interface TextPart {
  /** Where it begins. */
  readonly start: number;
  readonly text: string;
  readonly link: boolean;
}

const urlPattern = /https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]}]/g;

export function splitLinks(text: string): readonly TextPart[] {
  const found: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(urlPattern)) {
    if (match.index > from) found.push({ start: from, text: text.slice(from, match.index), link: false });
    found.push({ start: match.index, text: match[0], link: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ start: from, text: text.slice(from), link: false });
  return found;
}
