/** The format in which the user last wrote, for new messages and replies. */
import type { DraftFormat } from './draft-content.ts';

const storageKey = 'tablinum.mail.format';

export function readFormat(): DraftFormat {
  try {
    return localStorage.getItem(storageKey) === 'text' ? 'text' : 'html';
  } catch {
    return 'html';
  }
}

export function storeFormat(format: DraftFormat): void {
  try {
    localStorage.setItem(storageKey, format);
  } catch {
    // Without storage the choice is only valid for this message.
  }
}
