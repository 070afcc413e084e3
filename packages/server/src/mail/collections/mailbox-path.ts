/** What may be called a mailbox: code points, and bytes of UTF-8, of which an index row of PostgreSQL holds 2,700. */
const maxCharacters = 1000;
const maxBytes = 2000;

/** How a path is to be written. */
export const mailboxPathDescription = `a name on one line, its parts joined by /, at most ${maxCharacters} characters and ${maxBytes} bytes`;

export function isMailboxPath(text: unknown): text is string {
  if (typeof text !== 'string' || text.trim() === '' || /\p{Cc}/u.test(text) || !text.isWellFormed()) return false;
  return [...text].length <= maxCharacters && Buffer.byteLength(text) <= maxBytes;
}
