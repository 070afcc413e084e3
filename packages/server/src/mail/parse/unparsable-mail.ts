import { createHash } from 'node:crypto';
import { textWords } from '../search/text-words.ts';
import { readEnvelope } from './envelope.ts';
import { readHeaders } from './header-block.ts';
import { findWarnings } from './mail-warnings.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { snippetOf } from './snippet.ts';

/** What is kept of a message that nobody can read: envelope and identity. @param why a sentence for the reader. */
export function unparsable(raw: Uint8Array, why: string): ParsedMail {
  const envelope = readEnvelope(readHeaders(raw).headers);
  const text = `This message could not be read. ${why}`;
  return {
    ...envelope,
    ...identityOf(raw),
    snippet: snippetOf(text),
    text,
    bodyWords: bodyWords(text),
    html: null,
    attachments: [],
    warnings: findWarnings(envelope, false),
    bodyState: 'unparsable',
  };
}

const maxBodyWords = 10_000;

/** The words of a text that a search finds. */
export function bodyWords(text: string): string[] {
  return textWords(text, maxBodyWords);
}

/** What tells a message apart by its bytes alone. */
export function identityOf(raw: Uint8Array): Pick<ParsedMail, 'sha256' | 'size'> {
  return { sha256: createHash('sha256').update(raw).digest('hex'), size: raw.length };
}
