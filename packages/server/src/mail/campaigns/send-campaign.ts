/** The steps of a campaign that sends: its recipients are stored, then their messages are put into the outbox at its rate. */
import { isoTime } from '../../base/clock.ts';
import {
  CampaignMessageRows,
  countByDomain,
  countWaiting,
  hasMessages,
  type QueuedCampaignMessage,
  readCampaignMessage,
  readQueuedMessages,
} from '../../database/mail/campaign-message-rows.ts';
import { changeCampaign, type StoredCampaign } from '../../database/mail/campaign-rows.ts';
import { findSuppressed } from '../../database/mail/suppression-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import { mailLockKey, type PreparedMail, storeQueued } from '../compose/write-mail.ts';
import type { MailStore } from '../mail-store.ts';
import { appendMailEvent, emitMailEvent } from '../store/mail-events.ts';
import { findVisibleAccount, type VisibleAccount } from '../visible-account.ts';
import { type Audience, readAudience } from './campaign-audience.ts';
import { toEventSource } from './campaign-events.ts';
import { campaignLimits } from './campaign-limits.ts';
import { prepareCampaignMail } from './campaign-mail.ts';
import { listVariables } from './campaign-template.ts';
import { recordOutcome } from './record-outcome.ts';

/** A campaign, and the user as whom it sends. */
export interface CampaignWork {
  readonly context: RecordContext;
  readonly mail: MailStore;
  readonly campaign: StoredCampaign;
}

const minuteMilliseconds = 60_000;
/** While the outbox is full, or messages wait for their last attempt. */
const waitMilliseconds = 500;

/**
 * Stores a page of recipients, with the cursor behind it in the same transaction.
 *
 * @returns milliseconds until the next step.
 */
export async function storeRecipients({ context, campaign }: CampaignWork): Promise<number> {
  const { records, nextCursor } = await readAudience(context, {
    audience: campaign.audience as Audience,
    variables: listVariables(campaign),
    pageSize: campaignLimits.audiencePage,
    after: campaign.audienceCursor,
  });
  const { id, accountId } = campaign;
  const recipients = records.flatMap(({ key, address }) => (address === null ? [] : [{ recordKey: key, address }]));
  await inTransaction(
    context,
    async (tx) => {
      const { database, tx: transaction } = tx;
      const only = { statuses: ['sending'] as const };
      const change = { audienceCursor: nextCursor, recipientsComplete: nextCursor === null, only };
      if (!(await changeCampaign(database, transaction, id, change))) return;
      const distinct = [...new Map(recipients.toReversed().map((each) => [each.address, each])).values()].reverse();
      const added = await new CampaignMessageRows(database, transaction).add(accountId, id, distinct);
      const counts = { recipients: added, leftOut: records.length - added };
      await changeCampaign(database, transaction, id, { counts });
      const changed = ['recipients', 'leftOut'];
      await emitMailEvent(tx, transaction, { name: 'mailCampaigns.updated', keys: [id], changed });
    },
    { lockKey: `mail ${accountId}` },
  );
  return 0;
}

/** @returns milliseconds until the next step; `done`: every message has its outcome. */
export async function sendBatch(work: CampaignWork): Promise<number | 'done'> {
  const { context, campaign } = work;
  const { database, clock } = context;
  const { id, accountId, ratePerMinute, domainRatePerMinute } = campaign;
  const { waitingMessages, batch } = campaignLimits;
  if ((await countWaiting(database, accountId, waitingMessages)) >= waitingMessages) return waitMilliseconds;
  const size = Math.min(batch, Math.ceil(ratePerMinute / 60));
  const since = isoTime(clock.now() - minuteMilliseconds);
  const queued = await readQueuedMessages(database, id, size, { max: domainRatePerMinute, since });
  if (queued.length === 0) {
    const rest = await hasMessages(database, id);
    return rest.queued || rest.sending ? waitMilliseconds : 'done';
  }
  const account = await findVisibleAccount(context, String(accountId));
  const prepared = await prepareAll(work, account, queued);
  const pause = Math.ceil((minuteMilliseconds * queued.length) / ratePerMinute);
  await inTransaction(
    context,
    async (tx) => {
      const now = clock.now();
      const only = { statuses: ['sending'] as const, dueAt: isoTime(now) };
      if (!(await changeCampaign(database, tx.tx, id, { nextAt: isoTime(now + pause), only }))) return;
      await storeBatch(tx, work, prepared);
    },
    { lockKey: mailLockKey({ id: accountId }) },
  );
  return pause;
}

/** A recipient with the composed message, or why it gets none. */
interface PreparedRecipient {
  readonly queued: QueuedCampaignMessage;
  readonly prepared: PreparedMail | null;
  readonly reason: string | null;
}

async function prepareAll(
  { context, mail, campaign }: CampaignWork,
  account: VisibleAccount,
  queued: readonly QueuedCampaignMessage[],
): Promise<PreparedRecipient[]> {
  const { records } = await readAudience(context, {
    audience: campaign.audience as Audience,
    variables: listVariables(campaign),
    pageSize: queued.length,
    keys: queued.map(({ recordKey }) => recordKey),
  });
  const byKey = new Map(records.map((each) => [each.key, each]));
  return Promise.all(
    queued.map(async (each): Promise<PreparedRecipient> => {
      const record = byKey.get(each.recordKey);
      if (record?.address !== each.address) return { queued: each, prepared: null, reason: leftAudience };
      const links = mail.makeCampaignLinks(each.id, campaign);
      const recipient = { address: each.address, values: record.values, links };
      try {
        const prepared = await prepareCampaignMail({ context, mail }, account, campaign, recipient);
        return { queued: each, prepared, reason: null };
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'VALUE_INVALID') throw error;
        return { queued: each, prepared: null, reason: error.message };
      }
    }),
  );
}

const leftAudience = 'The record was deleted or changed, no longer matches the filter, or can no longer be listed.';

async function storeBatch(
  tx: TransactionContext,
  { mail, campaign }: CampaignWork,
  batch: readonly PreparedRecipient[],
): Promise<void> {
  const { database, tx: transaction, clock } = tx;
  const now = isoTime(clock.now());
  const rows = new CampaignMessageRows(database, transaction);
  const addresses = batch.map(({ queued }) => queued.address);
  const suppressed = await findSuppressed(database, transaction, campaign.accountId, addresses);
  const max = campaign.domainRatePerMinute ?? Number.POSITIVE_INFINITY;
  const since = isoTime(clock.now() - minuteMilliseconds);
  const sentTo = Number.isFinite(max) ? await countByDomain(database, transaction, campaign.id, since) : new Map();
  const source = { ...toEventSource(tx), database, transaction };
  const sending: number[] = [];
  for (const { queued, prepared, reason } of batch) {
    const { id, address, domain } = queued;
    const skipped = suppressed.has(address) ? `The address is suppressed: ${suppressed.get(address)}.` : reason;
    if (skipped !== null || prepared === null) {
      const message = await readCampaignMessage(database, transaction, { id });
      if (message?.status === 'queued')
        await recordOutcome(source, message, { type: 'skipped', at: now, reason: skipped });
      continue;
    }
    const count = Number(sentTo.get(domain) ?? 0);
    if (count >= max || !(await rows.claim(id, now))) continue;
    sentTo.set(domain, count + 1);
    const email = await storeQueued(tx, mail, prepared, now);
    await rows.setEmail(id, email, prepared.draft.messageId);
    sending.push(id);
  }
  const event = { name: 'mailCampaignMessages.updated', keys: sending, changed: ['status', 'emailId'] } as const;
  await appendMailEvent(transaction, source, event);
}
