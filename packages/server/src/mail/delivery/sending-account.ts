import type { Database } from '../../database/database.ts';
import { readServerSettings } from '../../database/mail/account-rows.ts';
import type { MailAccount } from '../store/incoming-mail.ts';

/** An account as the delivery worker sees it. */
export interface SendingAccount extends MailAccount {
  /** The SMTP host; null where the account cannot send. */
  readonly smtpHost: string | null;
  /** Whether the provider files what is sent by SMTP among the sent messages itself. */
  readonly savesSent: boolean;
}

/** Hosts of Google and Microsoft, which file sent messages themselves. */
const savingHosts = /(?:^|\.)(?:gmail\.com|googlemail\.com|office365\.com|outlook\.com|hotmail\.com|live\.com)$/i;

/** @returns null where the account does not exist or is being deleted. */
export async function readSendingAccount(database: Database, id: number): Promise<SendingAccount | null> {
  const found = await readServerSettings(database, id);
  if (!found) return null;
  const smtp = found.smtp as { readonly host: string; readonly savesSent?: boolean | null } | null;
  const isGmail = found.capabilities.includes('X-GM-EXT-1');
  return {
    id,
    address: found.address,
    smtpHost: smtp?.host ?? null,
    savesSent: smtp?.savesSent ?? (isGmail || savingHosts.test(smtp?.host ?? '')),
  };
}
