/**
 * Events of campaigns: `campaign.<activity>` with the key of the campaign. Only callers who can see the campaign receive them. Webhooks act
 * for no user, so the payload only has keys.
 */
import { isoTime } from '../../base/clock.ts';
import type { Transaction } from '../../database/database.ts';
import { formatActor } from '../../identity/caller.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { appendMailEvent, type MailEventSource } from '../store/mail-events.ts';

/** What happened to a campaign. */
export interface CampaignActivity {
  readonly campaign: number;
  /** `sent` of `campaign.sent`. */
  readonly activity: string;
  /** Keys of the messages that it concerns; empty: the campaign as a whole. */
  readonly messages?: readonly number[];
}

/** Events are attributed to the caller of a request. */
export function toEventSource({ changes, clock, caller, requestId }: RecordContext): MailEventSource {
  return { changes, clock, actor: formatActor(caller), requestId };
}

/** Appends the event of an activity, and those of the changed records. One `campaign.<activity>` for each message. */
export async function appendCampaignActivity(
  transaction: Transaction,
  source: MailEventSource,
  { campaign, activity, messages }: CampaignActivity,
): Promise<void> {
  const { changes, clock, actor, requestId } = source;
  const time = isoTime(clock.now());
  const base = { name: `campaign.${activity}`, resource: 'campaign', keys: [String(campaign)], actor, requestId };
  if (messages === undefined)
    await changes.append(transaction, { ...base, changed: { payload: { campaign } }, by: null }, time);
  for (const message of messages ?? [])
    await changes.append(transaction, { ...base, changed: { payload: { campaign, message } }, by: null }, time);
  const changed = ['status'];
  await appendMailEvent(transaction, source, { name: 'mailCampaignMessages.updated', keys: messages ?? [], changed });
  await appendMailEvent(transaction, source, { name: 'mailCampaigns.updated', keys: [campaign], changed });
}
