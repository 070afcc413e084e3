/** Mail accounts and their rules: the actions besides the record actions of `accounts` and `mailRules`. */
import type { RecordValues } from './dto.ts';
import { type ActionOptions, Records } from './records.ts';

/** A mail server of an account. */
export interface MailServerSettings {
  readonly host: string;
  readonly port: number;
  readonly security?: 'tls' | 'starttls' | 'none';
  readonly user?: string | null;
}

/** Settings that are tried without being saved. Absent ones are those of the account. */
export interface TestedMailSettings {
  readonly address?: string;
  readonly imap?: MailServerSettings | null;
  readonly smtp?: MailServerSettings | null;
  readonly password?: string;
  readonly smtpPassword?: string;
}

/** A member of an account, by the name that other members see. */
export interface AccountMember {
  readonly id: number;
  readonly name: string;
}

export class MailAccounts extends Records {
  /** Finds the mail servers of an address. */
  discover(address: string, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('discover', { address }, {}, options);
  }

  /** Signs in to the servers of an account, or of settings that are not saved yet. @param account null for a new account. */
  test(account: number | null, settings: TestedMailSettings = {}, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('test', settings, account === null ? {} : { filterByTk: account }, options);
  }

  /** Synchronises an account now. */
  sync(account: number, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('sync', undefined, { filterByTk: account }, options);
  }

  /** The members of an account by name, for its members. */
  async members(account: number, options: ActionOptions = {}): Promise<readonly AccountMember[]> {
    const request = { ...options, query: { filterByTk: account } };
    return (await this.transport.call<readonly AccountMember[]>('accounts:members', request)).data;
  }

  /** The address at which the user signs in with the mail provider of an account (OAuth 2). */
  authorize(account: number, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('authorize', undefined, { filterByTk: account }, options);
  }

  /** Finishes a sign-in with what the mail provider has given to the browser. */
  finishAuthorization(
    reply: { readonly state: string; readonly code: string },
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    return this.write('finishAuthorization', reply, {}, options);
  }

  /** Has a code sent to an alias of an account. */
  verifyAlias(account: number, address: string, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('verifyAlias', { address }, { filterByTk: account }, options);
  }

  /** Allows an account to send from an alias. @param code may be absent for administrators. */
  confirmAlias(
    account: number,
    alias: { readonly address: string; readonly code?: string },
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    return this.write('confirmAlias', alias, { filterByTk: account }, options);
  }
}

/** Which e-mails a rule is tried on or applied to, one page at a time. */
export interface RuleScan {
  /** Role or path of a mailbox. */
  readonly folder?: string | null;
  readonly cursor?: number;
  readonly limit?: number;
}

export class MailRules extends Records {
  /** What a stored or an unsaved rule would do to existing e-mails. Changes nothing. */
  try(
    rule: ({ readonly id: number } | { readonly account: number | string; readonly rule: object }) & RuleScan,
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    return this.write('try', rule, {}, options);
  }

  /** Carries out the actions of a rule on existing e-mails, except replies. */
  apply(rule: { readonly id: number } & RuleScan, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('apply', rule, {}, options);
  }
}
