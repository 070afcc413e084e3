/**
 * Mail accounts, their rules, templates and campaigns: the actions besides the record actions of `accounts`, `mailRules`, `mailTemplates`
 * and `mailCampaigns`.
 */
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

/** What an account has not sent yet. Times are ISO 8601; null: nothing waits. */
export interface WaitingCounts {
  /** Changes for its mail server. `failing` ones were tried before. */
  readonly changes: { readonly count: number; readonly failing: number; readonly oldestAt: string | null };
  /** Messages of the outbox. `unknown` ones may have been sent; the server is checking that. */
  readonly messages: {
    readonly queued: number;
    readonly sending: number;
    readonly unknown: number;
    readonly nextAt: string | null;
  };
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

  /** Counts what an account has not sent yet. */
  async waiting(account: number, options: ActionOptions = {}): Promise<WaitingCounts> {
    const request = { query: { filterByTk: account }, ...options };
    return (await this.transport.call<WaitingCounts>('accounts:waiting', request)).data;
  }

  /** The members of an account by name, for its members. */
  async members(account: number, options: ActionOptions = {}): Promise<readonly AccountMember[]> {
    const request = { ...options, query: { filterByTk: account } };
    return (await this.transport.call<readonly AccountMember[]>('accounts:members', request)).data;
  }

  /** The URL where the user signs in with the mail provider of an account (OAuth 2). */
  authorize(account: number, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('authorize', undefined, { filterByTk: account }, options);
  }

  /** Finishes a sign-in with the parameters that the mail provider has sent to the browser. */
  finishAuthorization(
    reply: { readonly state: string; readonly code: string },
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    return this.write('finishAuthorization', reply, {}, options);
  }

  /** Sends a code to an alias of an account. */
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

/** A template with the values for one message. */
export interface FilledTemplate {
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
  /** Names of variables without a value, which stay in the text. */
  readonly missing: readonly string[];
}

export class MailTemplates extends Records {
  /** Fills a template for a message to a recipient, in a conversation. Changes nothing. */
  fill(
    message: {
      readonly id: number;
      readonly recipient?: string | { readonly name?: string | null; readonly address: string };
      readonly conversation?: number;
    },
    options: ActionOptions = {},
  ): Promise<FilledTemplate> {
    return this.write('fill', message, {}, options) as Promise<object> as Promise<FilledTemplate>;
  }
}

export class Contacts extends Records {
  /** Merges contacts into the contact `id`, and destroys the others. It cannot be undone. @returns the merged contact. */
  merge(
    contacts: {
      readonly id: number;
      readonly others: readonly number[];
      readonly values?: Partial<Record<'name' | 'company' | 'phone' | 'notes', string | null>>;
    },
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    return this.write('merge', contacts, {}, options);
  }
}

/** A subscription of a browser, as `PushSubscription.toJSON()` returns it. */
export interface PushSubscriptionValues {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
  /** A name for the device, at most 120 characters. */
  readonly name?: string;
  /** Whether new mail is reported, in addition to notifications. Default: false. */
  readonly newMail?: boolean;
  /** The former endpoint of the browser, whose subscription the new one replaces. */
  readonly replaces?: string;
}

export class MailPushSubscriptions extends Records {
  /** The `applicationServerKey` for `pushManager.subscribe`. */
  async key(options: ActionOptions = {}): Promise<{ readonly publicKey: string }> {
    const { data } = await this.transport.call<{ publicKey: string }>('mailPushSubscriptions:key', options);
    return data;
  }

  /** Subscribes a browser until the user signs out. */
  subscribe(subscription: PushSubscriptionValues, options: ActionOptions = {}): Promise<{ readonly id: number }> {
    return this.write('subscribe', subscription, {}, options) as Promise<object> as Promise<{ readonly id: number }>;
  }

  /** Ends the subscription of a browser. */
  unsubscribe(endpoint: string, options: ActionOptions = {}): Promise<{ readonly removed: boolean }> {
    return this.write('unsubscribe', { endpoint }, {}, options) as Promise<object> as Promise<{
      readonly removed: boolean;
    }>;
  }
}

/** An unsaved campaign, for a preview. */
export interface CampaignDraft {
  readonly audience: { readonly collection: string; readonly filter?: object | null; readonly field: string };
  readonly subject?: string;
  readonly text?: string | null;
  readonly html?: string | null;
}

export class MailCampaigns extends Records {
  /** Who would get a stored or an unsaved campaign, and the first messages. Changes nothing. */
  preview(
    campaign: { readonly id: number } | { readonly account: number | string; readonly campaign: CampaignDraft },
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    return this.write('preview', campaign, {}, options);
  }

  /** Sends the message of the first recipient to the account, or to the user's own address. */
  test(id: number, to?: string, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('test', to === undefined ? {} : { to }, { filterByTk: id }, options);
  }

  /** Starts a campaign now. */
  start(id: number, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('start', undefined, { filterByTk: id }, options);
  }

  /** Starts a campaign at a time. @param at ISO 8601. */
  schedule(id: number, at: string, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('schedule', { at }, { filterByTk: id }, options);
  }

  pause(id: number, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('pause', undefined, { filterByTk: id }, options);
  }

  /** Continues a campaign that was paused, as the caller. */
  resume(id: number, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('resume', undefined, { filterByTk: id }, options);
  }

  /** Ends a campaign for all recipients that it has not reached. */
  cancel(id: number, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('cancel', undefined, { filterByTk: id }, options);
  }
}
