import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanLine } from './clean-text.ts';

const maxScannedLength = 20_000;

/** The line before a quoted message, such as `On Monday Ada wrote:`, in the languages of common programs. */
const attribution =
  /(?:wrote|writes|schrieb|schreef|skrev|skrifaði|kirjoitti|napisał\(a\)|napsal\(a\)|escribió|escreveu|ha scritto|a écrit|пишет|написал|написала|写道|のメール)(?:\s.{0,200})?[:：]$/iu;
const forwarded =
  /^(?:-{2,}\s*(?:original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale|forwarded message|weitergeleitete nachricht)|_{20,}$)/iu;

/**
 * The first words of a message on one line, at most 200 code points. Quoted lines, the line before them, and the signature are
 * omitted if there is other text.
 */
export function createSnippet(text: string): string {
  const begin = text.slice(0, maxScannedLength);
  const ownText = oneLine(ownLines(begin.split('\n')).join('\n'));
  return ownText === '' ? oneLine(begin) : ownText;
}

function ownLines(lines: readonly string[]): string[] {
  const ownParts: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (/^-- ?$/.test(line) || forwarded.test(line.trimStart())) break;
    if (/^\s{0,3}[>|]/.test(line)) continue;
    if (attribution.test(line.trimEnd()) && quotesFollow(lines, index + 1)) continue;
    ownParts.push(line);
  }
  return ownParts;
}

function quotesFollow(lines: readonly string[], from: number): boolean {
  const next = lines.slice(from, from + 4).find((line) => line.trim() !== '');
  return next === undefined || /^\s{0,3}[>|]/.test(next);
}

function oneLine(text: string): string {
  const line = cleanLine(text.replace(/\s+/g, ' ').replace(/(?:\u034f|[\u00ad\u200b-\u200f\ufeff])+/g, ''));
  return [...line.replace(/ {2,}/g, ' ').slice(0, mailLimits.snippetLength * 3)]
    .slice(0, mailLimits.snippetLength)
    .join('')
    .trim();
}
