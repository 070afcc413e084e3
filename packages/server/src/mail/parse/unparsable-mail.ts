import { createHash } from 'node:crypto';
import { tokenizeBody } from '../search/indexed-text.ts';
import { readEnvelope } from './envelope.ts';
import { readHeaders } from './header-block.ts';
import { computePartialIdentity } from './mail-identity.ts';
import { findWarnings } from './mail-warnings.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { createSnippet } from './snippet.ts';

/** The stored form of a message that cannot be parsed: envelope and identity. @param why a sentence for the reader. */
export function toUnparsableMail(raw: Uint8Array, why: string): ParsedMail {
  const envelope = readEnvelope(readHeaders(raw).headers);
  const text = `This message could not be read. ${why}`;
  return {
    ...envelope,
    ...computeRawIdentity(raw),
    snippet: createSnippet(text),
    text,
    bodyWords: tokenizeMailBody(text),
    html: null,
    attachments: [],
    warnings: findWarnings(envelope, false),
    bodyState: 'unparsable',
  };
}

const maxBodyTokens = 10_000;

/** The tokens of a text for the full-text index: its first words and their stems. */
export function tokenizeMailBody(text: string): string[] {
  return tokenizeBody(text, maxBodyTokens);
}

/** The properties of a message that only depend on its bytes. */
export function computeRawIdentity(raw: Uint8Array): Pick<ParsedMail, 'sha256' | 'size' | 'partialIdentity'> {
  const partialIdentity = computePartialIdentity(raw);
  return {
    sha256: createHash('sha256').update(raw).digest('hex'),
    size: raw.length,
    ...(partialIdentity !== null && { partialIdentity }),
  };
}
