import { createHash } from 'node:crypto';
import { indexedBody } from '../search/indexed-text.ts';
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

/** What a search finds a text by: its first words, and their stems. */
export function bodyWords(text: string): string[] {
  return indexedBody(text, maxBodyWords);
}

/** What tells a message apart by its bytes alone. */
export function identityOf(raw: Uint8Array): Pick<ParsedMail, 'sha256' | 'size'> {
  return { sha256: createHash('sha256').update(raw).digest('hex'), size: raw.length };
}
