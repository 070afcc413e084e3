/** Variables of templates that were not filled. */
import type { DraftContent } from './draft-content.ts';

/** As the server reads them: `{{name}}` and `{{name|text for an empty value}}`. */
const placeholder = /\{\{ ?([A-Za-z][A-Za-z0-9_]{0,59}) ?(?:\|[^{}\n]{0,200})?\}\}/g;

/** The names of variables in what the user writes. Quoted messages do not count. */
export function findPlaceholders({ subject, text, html }: Pick<DraftContent, 'subject' | 'text' | 'html'>): string[] {
  const body = html ?? text.replaceAll(/^>.*$/gm, '');
  return [...new Set([...`${subject}\n${body}`.matchAll(placeholder)].map((match) => match[1]!))];
}
