/** Automatic replies of rules and vacation replies: composed before the transaction, and put into the outbox in it. */
import { isoTime } from '../../base/clock.ts';
import { claimAutoReply } from '../../database/mail/auto-reply-rows.ts';
import type { RuleMessageRow } from '../../database/mail/rule-message-rows.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import { createDraft, type PreparedMail, prepareMail, storeQueued } from '../compose/write-mail.ts';
import type { MailStore } from '../mail-store.ts';
import { limitReferences } from '../parse/message-ids.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import { findSenderName } from './automatic-mail.ts';
import { automationLimits } from './automation-limits.ts';
import { fillTemplate } from './reply-template.ts';
import type { ReplyTemplate } from './rule-actions.ts';

/** A reply that is about to be composed. */
export interface WantedReply {
  /** `vacation`, or `rule <id>`: each answers a sender once in a week. */
  readonly source: string;
  readonly template: ReplyTemplate;
  /** The recipient. */
  readonly address: string;
}

/** A composed reply. */
export interface PreparedReply extends WantedReply {
  readonly prepared: PreparedMail;
}

/**
 * Composes a reply. Only its bytes are stored; if {@link queueReply} is not called, they are removed by the sweep.
 *
 * @param context as whom the reply is written.
 */
export async function prepareReply(
  writing: { readonly context: RecordContext; readonly mail: MailStore },
  account: MailAccount,
  message: RuleMessageRow,
  { source, template, address }: WantedReply,
): Promise<PreparedReply> {
  const { messageId, references, from, subject } = message;
  const prefix = source === 'vacation' ? 'Auto: ' : 'Re: ';
  const name = findSenderName(from, address);
  const filled = fillTemplate(template, { name, address, subject }, prefix);
  const draft = {
    ...createDraft(account),
    ...filled,
    to: [{ name: '', address }],
    inReplyTo: messageId,
    references: limitReferences([...references, ...(messageId === null ? [] : [messageId])]),
    automatic: true,
  };
  const prepared = await prepareMail(writing, { account, previous: null, draft }, {}, false);
  return { source, template, address, prepared };
}

/**
 * Puts a composed reply into the outbox, unless the sender has had one from the same source within a week, or the
 * account has sent too many within an hour. The record of the reply and the message in the outbox are written in the
 * same transaction.
 *
 * @param tx a transaction that holds the lock of the account's mail.
 * @returns whether it will be sent.
 */
export async function queueReply(
  tx: TransactionContext,
  mail: MailStore,
  { source, address, prepared }: PreparedReply,
): Promise<boolean> {
  const now = tx.clock.now();
  const reply = { account: prepared.account.id, source, address: address.toLowerCase() };
  const bounds = {
    now: isoTime(now),
    pauseStart: isoTime(now - automationLimits.replyPauseMilliseconds),
    hourStart: isoTime(now - 3_600_000),
    maxReplies: automationLimits.repliesPerHour,
  };
  if (!(await claimAutoReply(tx.database, tx.tx, reply, bounds))) return false;
  await storeQueued(tx, mail, prepared, isoTime(now));
  return true;
}
