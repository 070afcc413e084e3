/** Limits of a path, in code points and in bytes of UTF-8; an index entry of PostgreSQL holds 2,700 bytes. */
const maxCharacters = 1000;
const maxBytes = 2000;

/** The form of a path, for messages. */
export const mailboxPathDescription = `a name on one line, its parts joined by /, at most ${maxCharacters} characters and ${maxBytes} bytes`;

/** Whether a text can be the path of a mailbox. */
export function isMailboxPath(text: unknown): text is string {
  if (typeof text !== 'string' || text.trim() === '' || /\p{Cc}/u.test(text) || !text.isWellFormed()) return false;
  return [...text].length <= maxCharacters && Buffer.byteLength(text) <= maxBytes;
}
