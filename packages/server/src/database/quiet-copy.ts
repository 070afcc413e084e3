import { quietMailStatements } from './mail/quiet-mail.ts';

/**
 * What a copy of an application must not do next to the original: send the same messages to webhooks and by e-mail, and change the same
 * mailboxes on mail servers. Nor may it accept keys, logins and links that were given out for the original: a key that is revoked there
 * would stay valid in the copy.
 *
 * Of tables that an earlier version may lack. Both engines understand the statements.
 */
export const quietStatements: readonly { readonly table: string; readonly text: string }[] = [
  {
    table: 'webhooks',
    text: `UPDATE webhooks SET enabled=FALSE,"pausedFor"='The application was restored as a copy.' WHERE enabled=TRUE`,
  },
  { table: 'logins', text: 'DELETE FROM logins' },
  { table: 'apiKeys', text: 'DELETE FROM "apiKeys"' },
  { table: 'oneTimeTokens', text: 'DELETE FROM "oneTimeTokens"' },
  ...quietMailStatements,
];
