import { quietMailStatements } from './mail/quiet-mail.ts';

/**
 * Statements that keep a copy of an application from interfering with the original. The copy must not send the same
 * messages to webhooks and by e-mail, or change the same mailboxes on mail servers. It must not accept keys, logins and
 * links of the original either: a key that is revoked there would stay valid in the copy.
 *
 * An earlier version may lack some of the tables. Both engines understand the statements.
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
