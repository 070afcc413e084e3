/** What the HTTP layer must know of the operations of mail before it runs them. */

/** Operations that take an upload, and its media types. */
export const uploadTypes: Readonly<Record<string, readonly string[]>> = {
  'emails:import': ['message/rfc822', 'application/mbox'],
  'emails:attach': ['application/octet-stream'],
};

/** Writes that take the version of the record that they change. */
export const conditionalMailActions: readonly string[] = ['emails:saveDraft', 'emails:attach', 'emails:send'];

/** What creating a record by a plain path (`POST /api/<resource>`) means, where it is not `create`. */
export const plainCreateActions: Readonly<Record<string, string>> = { emails: 'saveDraft' };
