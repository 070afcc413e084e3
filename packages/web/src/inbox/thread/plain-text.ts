/** A text mail in pieces: what is said, links in it, and what it quotes at its end. */

export interface SaidText {
  readonly said: string;
  /** Null where nothing is quoted. */
  readonly quoted: string | null;
}

/** What stands before a quotation: `Ada wrote:`, in any language. */
const attribution = /^.{2,200}:\s*$/;

/** The quotation is folded only where nothing is said after it. */
export function parted(text: string): SaidText {
  const lines = text.replace(/\s+$/, '').split('\n');
  let first = lines.length;
  while (first > 0 && (lines[first - 1]!.startsWith('>') || lines[first - 1]!.trim() === '')) first -= 1;
  if (!lines.slice(first).some((line) => line.startsWith('>'))) return { said: lines.join('\n'), quoted: null };
  if (first > 0 && attribution.test(lines[first - 1]!)) first -= 1;
  const said = lines.slice(0, first).join('\n').trimEnd();
  return said === ''
    ? { said: lines.join('\n'), quoted: null }
    : { said, quoted: lines.slice(first).join('\n').trim() };
}

export interface Piece {
  /** Where it begins. */
  readonly at: number;
  readonly text: string;
  readonly link: boolean;
}

const address = /https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]}]/g;

export function pieces(text: string): readonly Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(address)) {
    if (match.index > from) found.push({ at: from, text: text.slice(from, match.index), link: false });
    found.push({ at: match.index, text: match[0], link: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ at: from, text: text.slice(from), link: false });
  return found;
}
