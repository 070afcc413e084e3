/** Composes the message of one recipient of a campaign, with its link to unsubscribe. */
import type { RecordContext } from '../../records/record-context.ts';
import { createDraft, type PreparedMail, prepareMail } from '../compose/write-mail.ts';
import { escapeText } from '../html/escape-text.ts';
import type { MailStore } from '../mail-store.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import { campaignLimits } from './campaign-limits.ts';
import { addTracking, type RecipientLinks } from './campaign-links.ts';
import { type CampaignContent, fillCampaign } from './campaign-template.ts';

/** A recipient, and what is filled in. */
export interface CampaignRecipient {
  readonly address: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly links: RecipientLinks;
}

/** The content of a recipient's message. */
export function renderCampaign(
  templates: CampaignContent,
  { values, links }: Omit<CampaignRecipient, 'address'>,
): CampaignContent {
  const record = { record: values, unsubscribeUrl: links.unsubscribeUrl };
  const filled = fillCampaign(templates, record, campaignLimits.valueLength);
  return { ...filled, html: filled.html === null ? null : addTracking(filled.html, links, escapeText) };
}

/**
 * Composes a message. Only its bytes are stored.
 *
 * @param writing as whom it is written.
 * @throws ApiError 422 where the message is too large.
 */
export function prepareCampaignMail(
  writing: { readonly context: RecordContext; readonly mail: MailStore },
  account: MailAccount,
  templates: CampaignContent,
  recipient: CampaignRecipient,
): Promise<PreparedMail> {
  const { subject, text, html } = renderCampaign(templates, recipient);
  const { address } = recipient;
  const { unsubscribeUrl } = recipient.links;
  const draft = {
    ...createDraft(account),
    subject,
    text: text ?? (html === null ? '' : null),
    html,
    to: [{ name: '', address }],
    ...(unsubscribeUrl !== '' && { unsubscribeUrl }),
  };
  return prepareMail(writing, { account, previous: null, draft }, {}, false);
}
