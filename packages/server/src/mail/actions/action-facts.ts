/** What the HTTP layer and the OpenAPI document must know of the operations of mail without running them. */

/** Operations that take an upload, and its media types. */
export const uploadTypes: Readonly<Record<string, readonly string[]>> = {
  'emails:import': ['message/rfc822', 'application/mbox'],
  'emails:attach': ['application/octet-stream'],
};

/** Writes that take the version of the record that they change. */
export const conditionalMailActions: readonly string[] = ['emails:saveDraft', 'emails:attach', 'emails:send'];

/** What creating a record by a plain path (`POST /api/<resource>`) means, where it is not `create`. */
export const plainCreateActions: Readonly<Record<string, string>> = { emails: 'saveDraft' };

const handwritten = ['get', 'create', 'destroy', 'firstOrCreate', 'updateOrCreate'];

/** Record actions that are not generated for a collection of mail: written by hand, or refused by its rules. */
export const ungeneratedMailActions: Readonly<Record<string, ReadonlySet<string>>> = {
  mailboxes: new Set(['firstOrCreate', 'updateOrCreate']),
  emails: new Set(handwritten),
  conversations: new Set(handwritten),
  attachments: new Set(handwritten),
};
