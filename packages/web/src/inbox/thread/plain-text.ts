/** Splits a plain-text mail into its text, its links, and the quotation at its end. */

export interface SplitText {
  readonly body: string;
  /** Null if there is no quotation. */
  readonly quoted: string | null;
}

/** The line before a quotation, such as `Ada wrote:` in any language. */
const attributionPattern = /^.{2,200}:\s*$/;

/** Splits off the quotation at the end of a text. A quotation that is followed by other text is not split off. */
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
  /** The index of its first character. */
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
