import type { Database } from '../../database/database.ts';
import { findOwnAddresses } from '../../database/mail/account-rows.ts';
import { readEnabledRules, readVacation } from '../../database/mail/rule-rows.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import { automationLimits } from './automation-limits.ts';
import { type MailRule, toMailRule } from './stored-rule.ts';
import type { VacationSetting } from './vacation.ts';

/** The rules and the vacation reply of an account. */
export interface AccountAutomation {
  readonly account: MailAccount;
  /** The enabled rules, in their order. */
  readonly rules: readonly MailRule[];
  readonly vacation: VacationSetting | null;
  /** In lower case. */
  readonly ownAddresses: ReadonlySet<string>;
}

/** Reads the rules and the vacation reply of an account; null where the account is being deleted. */
export async function readAccountAutomation(database: Database, id: number): Promise<AccountAutomation | null> {
  const [ownAddresses, setting, rows] = [
    await findOwnAddresses(database, null, id),
    await readVacation(database, id),
    await readEnabledRules(database, id),
  ];
  if (!ownAddresses || !setting) return null;
  return {
    account: { id, address: setting.address },
    rules: rows.map(toMailRule),
    vacation: setting.vacation as VacationSetting | null,
    ownAddresses,
  };
}

/** How many characters of the text of messages the conditions of some rules look at. */
export function getComparedTextLength(rules: readonly Pick<MailRule, 'conditions'>[]): number {
  const readsText = rules.some(({ conditions }) => conditions.some(({ field }) => field === 'body'));
  return readsText ? automationLimits.bodyLength : 0;
}
