/** Properties of the mail actions that the HTTP layer and the OpenAPI document need. */

/** Operations that take an upload, and its media types. */
export const uploadTypes: Readonly<Record<string, readonly string[]>> = {
  'emails:import': ['message/rfc822', 'application/mbox'],
  'emails:attach': ['application/octet-stream'],
};

/** Writes that accept the version of the record that they change. */
export const conditionalMailActions: readonly string[] = ['emails:saveDraft', 'emails:attach', 'emails:send'];

/** The action for creating a record by a plain path (`POST /api/<resource>`), if it is not `create`. */
export const plainCreateActions: Readonly<Record<string, string>> = { emails: 'saveDraft' };

const handwritten = ['get', 'create', 'destroy', 'firstOrCreate', 'updateOrCreate'];

/**
 * Record actions of mail collections that are not generated: they are implemented here, or refused by the rules of the
 * collection.
 */
export const ungeneratedMailActions: Readonly<Record<string, ReadonlySet<string>>> = {
  mailboxes: new Set(['firstOrCreate', 'updateOrCreate']),
  emails: new Set([...handwritten, 'export', 'storeExport', 'import', 'importPreview']),
  conversations: new Set(handwritten),
  attachments: new Set(handwritten),
  mailCampaignMessages: new Set([
    'create',
    'update',
    'destroy',
    'firstOrCreate',
    'updateOrCreate',
    'import',
    'importPreview',
  ]),
  mailSuppressions: new Set(['update', 'updateOrCreate']),
  conversationNotes: new Set(['firstOrCreate', 'updateOrCreate', 'import', 'importPreview']),
  mailSavedSearches: new Set(['firstOrCreate', 'updateOrCreate', 'import', 'importPreview']),
  mailPushSubscriptions: new Set(['create', 'firstOrCreate', 'updateOrCreate', 'import', 'importPreview']),
  mailNotifications: new Set(['create', 'firstOrCreate', 'updateOrCreate', 'import', 'importPreview']),
};

/** The mail collections that AI assistants can list and get by tools, and the one that they can search. */
export const mailToolCollections = ['emails', 'conversations', 'accounts', 'mailboxes'] as const;
export const searchedMailCollection = 'emails';

/** Whether `get` of a mail collection returns whole records, without a selection of fields. */
export function returnsWholeMail(collection: string): boolean {
  return collection === 'emails' || collection === 'conversations';
}
