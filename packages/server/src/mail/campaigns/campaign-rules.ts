/** What clients may change of campaigns: a draft completely, its rates while it sends, and nothing that the server sets. */
import { readCampaign } from '../../database/mail/campaign-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';

/** Fields that a client writes; values for the others are ignored. */
const written = [
  'name',
  'audience',
  'subject',
  'text',
  'html',
  'ratePerMinute',
  'domainRatePerMinute',
  'trackOpens',
  'trackClicks',
] as const;
/** Fields that may change while the campaign sends. */
const changeable: ReadonlySet<string> = new Set(['name', 'ratePerMinute', 'domainRatePerMinute']);

export const campaignRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    const isNew = key === null;
    const own = new Set(context.registry.get('mailCampaigns').fields.flatMap((each) => (each.core ? [each.name] : [])));
    const isWritten = (name: string): boolean =>
      (written as readonly string[]).includes(name) || name === 'accountId' || name === 'account' || !own.has(name);
    const row: Record<string, unknown> = Object.fromEntries(Object.entries(body).filter(([name]) => isWritten(name)));
    if (!isNew && ('accountId' in row || 'account' in row))
      throw new ApiError('SYSTEM_PROTECTED', 'The account of a campaign cannot be changed; leave "accountId" out.');
    const { parseCampaign } = await import('./parse-campaign.ts');
    return { body: parseCampaign(row, isNew) };
  },

  async guard({ transaction, action, keys, body, context }) {
    for (const key of keys) {
      const campaign = await readCampaign(context.database, transaction, key as number);
      if (!campaign || campaign.status === 'draft') continue;
      if (action === 'destroy' && !['done', 'cancelled'].includes(campaign.status))
        throw new ApiError('SYSTEM_PROTECTED', 'The campaign has not ended. Cancel it before you destroy it.');
      const fixed = Object.keys(body ?? {}).find((name) => !changeable.has(name) && name !== 'id');
      if (action === 'update' && fixed !== undefined)
        throw new ApiError(
          'SYSTEM_PROTECTED',
          `The campaign was started, so "${fixed}" cannot be changed. Its name and its rates can.`,
        );
    }
  },
};
