/**
 * Texts and names that servers have chosen. Every value of their replies that is stored, shown or compared with a
 * stored one passes one of these functions. The store replaces characters that it cannot contain, so an unchecked value
 * would differ from the server's at each comparison.
 */
import { isWellFormedText } from '../../base/well-formed.ts';
import { truncateText } from '../parse/clean-text.ts';
import { getSecret, type ServerLogin } from './server-login.ts';

const maxTextLength = 200;
const maxNameLength = 255;
/** The name of a mailbox with those of the mailboxes that contain it. */
const maxPathLength = 1000;
/** Flags of one message, or capabilities of one server. */
const maxNames = 500;

/**
 * What a mail server said, as text for the person who owns the account: one line of at most 200 characters.
 *
 * @returns null for empty text, and for text that contains the password or the access token, also in base64.
 */
export function cleanServerText(text: unknown, login: ServerLogin): string | null {
  return typeof text === 'string' && !containsSecret(text, getSecret(login)) ? cleanServerLine(text) : null;
}

/** What a server said, on one line; null for empty text. @param maxLength in code units. */
export function cleanServerLine(text: unknown, maxLength = maxTextLength): string | null {
  if (typeof text !== 'string') return null;
  const line = text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
  if (line === '') return null;
  return line.length > maxLength ? `${truncateText(line, maxLength - 1)}…` : line;
}

/** Whether a name of a server can be stored as it is: no control characters, no halves of characters, and not too long. */
export function isServerName(name: unknown, maxLength = maxNameLength): name is string {
  return (
    typeof name === 'string' &&
    name !== '' &&
    name.length <= maxLength &&
    isWellFormedText(name) &&
    !/[\p{Cc}\u2028\u2029]/u.test(name)
  );
}

/** Whether the name of a mailbox can be stored and sent back as it is. It is shown without its control characters. */
export function isServerPath(path: string): boolean {
  return path !== '' && path.length <= maxPathLength && isWellFormedText(path);
}

/** An id; null if it cannot be stored as it is. It is never truncated, because two ids could become the same. */
export function readServerId(id: unknown): string | null {
  return isServerName(id) ? id : null;
}

/** The response code of a refusal in capitals, such as `OVERQUOTA`; null without one. */
export function readResponseCode(code: unknown): string | null {
  return typeof code === 'string' && /^[A-Z0-9][A-Z0-9-]{0,39}$/i.test(code) ? code.toUpperCase() : null;
}

/** Those of some flags, labels or capabilities that can be stored, each once. Of too many, the flags of the standard come first. */
export function selectServerNames(names: Iterable<unknown>): string[] {
  const usable = [...new Set(names)].filter((name) => isServerName(name));
  if (usable.length <= maxNames) return usable;
  // The same ones in whichever order the server names them.
  const rate = (name: string): string => `${name.startsWith('\\') ? 0 : 1}${name}`;
  return usable.sort((one, other) => (rate(one) < rate(other) ? -1 : 1)).slice(0, maxNames);
}

function containsSecret(text: string, secret: string): boolean {
  if (secret === '') return false;
  const words = text.match(/[\w+/=-]{8,}/g) ?? [];
  return text.includes(secret) || words.some((word) => Buffer.from(word, 'base64').toString().includes(secret));
}
