/**
 * What a copy of an application must not do next to the original: send the same messages to webhooks and by e-mail, and change the same
 * mailboxes on mail servers.
 */

/** Of tables that an earlier version may lack. Both engines understand the statements. */
export const quietStatements: readonly { readonly table: string; readonly text: string }[] = [
  {
    table: 'webhooks',
    text: `UPDATE webhooks SET enabled=FALSE,"pausedFor"='The application was restored as a copy.' WHERE enabled=TRUE`,
  },
  {
    table: 'accounts',
    text: `UPDATE accounts SET imap=NULL,smtp=NULL,oauth=NULL,secrets=NULL,"leasedBy"=NULL,"leasedUntil"=NULL,status='disabled' WHERE status<>'destroying'`,
  },
  {
    table: 'mailCampaigns',
    text: `UPDATE "mailCampaigns" SET status='paused' WHERE status IN ('scheduled','sending')`,
  },
];
