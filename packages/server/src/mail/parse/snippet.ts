import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanLine } from './clean-text.ts';

/** The first words of a text on one line, at most 200 code points. */
export function snippetOf(text: string): string {
  return [...cleanLine(text.slice(0, 10_000).replace(/\s+/g, ' '))].slice(0, mailLimits.snippetLength).join('').trim();
}
