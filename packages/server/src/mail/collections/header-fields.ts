/** Header fields of messages whose content is also a field of e-mails, so that they are read with the permission on that field. */

/**
 * The field of e-mails that a header repeats, by the name of the header in lower case. Headers that are not listed are read with
 * "content", which also contains Bcc, Reply-To, In-Reply-To and References.
 */
const fieldByHeader: ReadonlyMap<string, string> = new Map([
  ['from', 'from'],
  ['sender', 'from'],
  ['return-path', 'from'],
  ['to', 'to'],
  ['delivered-to', 'to'],
  ['x-original-to', 'to'],
  ['envelope-to', 'to'],
  ['cc', 'cc'],
  ['subject', 'subject'],
  ['thread-topic', 'subject'], // Outlook repeats the subject in it
  ['message-id', 'messageId'],
  ['date', 'sentAt'],
  ['x-gmail-labels', 'labels'],
  ['x-keywords', 'keywords'],
]);

/** The fields of e-mails that headers repeat. */
export const mirroredFields: readonly string[] = [...new Set(fieldByHeader.values())];

/** The field of e-mails that a role needs, besides "content", to read a header; null for none. */
export function findMirroredField(header: string): string | null {
  return fieldByHeader.get(header.trim().toLowerCase()) ?? null;
}

/** The headers that a role may read. @param mayRead whether the role may read a field of e-mails. */
export function selectReadableHeaders(headers: unknown, mayRead: (field: string) => boolean): unknown {
  if (!Array.isArray(headers)) return headers;
  return headers.filter(([name]: [string, ...unknown[]]) => {
    const field = findMirroredField(name);
    return field === null || mayRead(field);
  });
}
