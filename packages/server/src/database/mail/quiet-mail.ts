/**
 * Statements that keep the mail of a copied application from sending messages again, and from changing the same
 * mailboxes as the original.
 */

/** The statements by table. An earlier version may lack some of the tables. Both engines understand the statements. */
export const quietMailStatements: readonly { readonly table: string; readonly text: string }[] = [
  {
    table: 'accounts',
    text: `UPDATE accounts SET imap=NULL,smtp=NULL,oauth=NULL,secrets=NULL,"leasedBy"=NULL,"leasedUntil"=NULL,status='disabled' WHERE status<>'destroying'`,
  },
  {
    table: 'mailCampaigns',
    text: `UPDATE "mailCampaigns" SET status='paused' WHERE status IN ('scheduled','sending')`,
  },
  { table: 'mailPushSubscriptions', text: `DELETE FROM "mailPushSubscriptions"` },
];
