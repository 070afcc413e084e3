/** What the mail of a copied application must not do next to the original: send messages again, and change the same mailboxes. */

/** Of tables that an earlier version may lack. Both engines understand the statements. */
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
