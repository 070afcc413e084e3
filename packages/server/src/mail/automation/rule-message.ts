import type { RuleMessageRow } from '../../database/mail/rule-message-rows.ts';

/** What the conditions of rules look at. */
export type RuleMessage = Pick<
  RuleMessageRow,
  'from' | 'to' | 'cc' | 'bcc' | 'subject' | 'text' | 'headers' | 'size' | 'hasAttachments' | 'isReply'
>;
