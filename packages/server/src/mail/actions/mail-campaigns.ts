/** Campaigns: preview and test message, and the steps from a draft to its end. */
import { isoTime } from '../../base/clock.ts';
import {
  type CampaignChange,
  type CampaignStatus,
  changeCampaign,
  readCampaign,
  type StoredCampaign,
} from '../../database/mail/campaign-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import { getRecord, recordNotFound, requireGrant } from '../../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import { withAllFields } from '../../records/with-grants.ts';
import { canonicalDatetime } from '../../schema/types/datetime.ts';
import { type Audience, readAudience } from '../campaigns/campaign-audience.ts';
import { appendCampaignActivity, toEventSource } from '../campaigns/campaign-events.ts';
import { noLinks } from '../campaigns/campaign-links.ts';
import { prepareCampaignMail } from '../campaigns/campaign-mail.ts';
import { type PreviewedCampaign, previewCampaign } from '../campaigns/campaign-preview.ts';
import { campaignRules } from '../campaigns/campaign-rules.ts';
import { listVariables } from '../campaigns/campaign-template.ts';
import { requireCampaignWriter } from '../campaigns/send-campaign.ts';
import { mailLockKey, storeQueued } from '../compose/write-mail.ts';
import { isOutsideSendPeriod } from '../delivery/send-period.ts';
import { findVisibleAccount } from '../visible-account.ts';
import { type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/** `mailCampaigns:preview`: who would get a stored or an unsaved campaign, and the first messages. */
export async function runPreviewCampaign(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireGrant(context, context.registry.get('mailCampaigns'), 'get');
  // The members of the body of a read are its parameters.
  const names = ['filterByTk', 'id', 'account', 'campaign'];
  const { filterByTk, id, account, campaign } = request.knownParameters(names, false);
  const previewed = await loadPreviewed(context, { id: filterByTk ?? id, account, campaign });
  return { data: JSON.stringify(await previewCampaign(context, previewed)) };
}

async function loadPreviewed(
  context: RecordContext,
  { id, account, campaign }: Readonly<Record<'id' | 'account' | 'campaign', unknown>>,
): Promise<PreviewedCampaign> {
  if (id !== undefined) {
    const stored = await loadCampaign(context, id, 'get');
    return { ...stored, audience: stored.audience as Audience };
  }
  if (!isObject(campaign) || (typeof account !== 'number' && typeof account !== 'string'))
    throw new ApiError('BODY_INVALID', 'Give "id" of a stored campaign, or "account" and "campaign".');
  const visible = await findVisibleAccount(context, String(account));
  const prepared = await campaignRules.prepare?.({ name: '', ...campaign, accountId: visible.id }, null, context);
  const { audience, subject = '', text = null, html = null } = (prepared?.body ?? {}) as Partial<PreviewedCampaign>;
  return { accountId: visible.id, audience: audience as Audience, subject, text, html };
}

/** `mailCampaigns:test`: sends the message of the first recipient to the account or to the user. */
export async function runTestCampaign(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireStepGrants(context, { sends: true });
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const body = readBodyObject(request, ['id', 'to']);
  const campaign = await loadCampaign(context, filterByTk ?? body['id'], 'update');
  const stored = await request.findStoredResult();
  if (stored) return stored;
  const account = await findVisibleAccount(context, String(campaign.accountId));
  const own = [account.address, context.caller.user?.['email']].filter((each) => typeof each === 'string');
  const to = body['to'] ?? account.address;
  if (!own.some((each) => each.toLowerCase() === String(to).toLowerCase()))
    throw invalidValues({ to: 'A test goes to the address of the account, or to your own.' });
  const { records } = await readAudience(context, {
    audience: campaign.audience as Audience,
    variables: listVariables(campaign),
    pageSize: 1,
  });
  const recipient = { address: String(to).toLowerCase(), values: records[0]?.values ?? {}, links: noLinks };
  const prepared = await prepareCampaignMail({ context, mail }, account, campaign, recipient);
  const sendAt = isoTime(context.clock.now());
  return request.write({ lockKey: mailLockKey(account) }, async (tx) => {
    const email = await storeQueued(tx, mail, prepared, sendAt);
    return { data: JSON.stringify({ id: email, accountId: account.id, status: 'queued', sendAt }) };
  });
}

/** One step of a campaign. */
interface CampaignStep {
  /** In which statuses it is possible. */
  readonly from: readonly CampaignStatus[];
  /** `started` of `campaign.started`. */
  readonly activity: string;
  /** Messages will be sent as the caller, who needs the permissions. */
  readonly sends: boolean;
  readonly change: (campaign: StoredCampaign, now: string) => CampaignChange;
}

const steps = {
  start: {
    from: ['draft', 'scheduled'],
    activity: 'started',
    sends: true,
    change: (_campaign, now) => ({ status: 'sending', startedAt: now, scheduledAt: null, problem: null }),
  },
  pause: { from: ['scheduled', 'sending'], activity: 'paused', sends: false, change: () => ({ status: 'paused' }) },
  resume: {
    from: ['paused'],
    activity: 'resumed',
    sends: true,
    change: ({ audienceCursor, recipientsComplete }, now) => ({
      status: 'sending',
      problem: null,
      ...(audienceCursor === null && !recipientsComplete && { startedAt: now }),
    }),
  },
  cancel: {
    from: ['scheduled', 'sending', 'paused'],
    activity: 'cancelled',
    sends: false,
    change: (_campaign, now) => ({ status: 'cancelled', finishedAt: now }),
  },
} as const satisfies Readonly<Record<string, CampaignStep>>;

/** `mailCampaigns:start`, `:pause`, `:resume` and `:cancel`. */
export async function runCampaignStep(request: MailRequest, name: keyof typeof steps): Promise<MailData> {
  requireStepGrants(request.context, steps[name]);
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const { id } = readBodyObject(request, ['id']);
  return runStep(request, filterByTk ?? id, steps[name]);
}

/** `mailCampaigns:schedule`: starts a campaign at a time. */
export async function runScheduleCampaign(request: MailRequest): Promise<MailData> {
  requireStepGrants(request.context, { sends: true });
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const { id, at } = readBodyObject(request, ['id', 'at']);
  const scheduledAt = canonicalDatetime(at);
  return runStep(request, filterByTk ?? id, {
    from: ['draft', 'scheduled'],
    activity: 'scheduled',
    sends: true,
    // Checked here, because a request that is repeated with its Idempotency-Key may arrive when the time has passed.
    change: () => {
      const now = request.context.clock.now();
      if (scheduledAt === null || isOutsideSendPeriod(scheduledAt, now))
        throw invalidValues({
          at: `Give a date and time in ISO 8601, such as ${isoTime(now + 86_400_000)}. It must be in the future, within a year.`,
        });
      return { status: 'scheduled', scheduledAt, problem: null };
    },
  });
}

async function runStep(request: MailRequest, id: unknown, step: CampaignStep): Promise<MailData> {
  const { context, mail } = request;
  const campaign = await loadCampaign(context, id, 'update');
  const owner = step.sends ? await requireSender(request, campaign) : null;
  return request.write({ lockKey: mailLockKey({ id: campaign.accountId }) }, async (tx) => {
    const { database, tx: transaction, clock } = tx;
    // If somebody changes the draft meanwhile, the changed draft must not be sent as the caller.
    if (owner && !isSameContent(campaign, await readCampaign(database, transaction, campaign.id)))
      throw new ApiError('VERSION_STALE', 'The campaign was changed meanwhile. Read it again.');
    const only = { statuses: step.from };
    const change = { ...step.change(campaign, isoTime(clock.now())), ...(owner && { owner }), only };
    if (!(await changeCampaign(database, transaction, campaign.id, change)))
      throw new ApiError(
        'SYSTEM_PROTECTED',
        `The campaign cannot be ${step.activity}: this is possible while it is ${step.from.join(' or ')}. Read it again.`,
      );
    await appendCampaignActivity(transaction, toEventSource(tx), { campaign: campaign.id, activity: step.activity });
    transaction.afterDurable(() => mail.campaigns.wake());
    return showCampaign(tx, campaign.id);
  });
}

/** Whether a campaign would send the same to the same recipients. */
function isSameContent(one: StoredCampaign, other: StoredCampaign | null): boolean {
  const toContent = (each: StoredCampaign | null): string =>
    JSON.stringify([each?.audience, each?.subject, each?.text, each?.html, each?.trackOpens, each?.trackClicks]);
  return toContent(one) === toContent(other);
}

/** The grants of a step, which are checked before anything else of the request. @throws ApiError `NO_PERMISSION`, `FIELD_DENIED` */
function requireStepGrants(context: RecordContext, { sends }: Pick<CampaignStep, 'sends'>): void {
  requireGrant(context, context.registry.get('mailCampaigns'), 'update');
  if (sends) requireCampaignWriter(context);
}

/** The user as whom a campaign is sent. @throws ApiError 403 without the permissions, 422 where it is not complete. */
async function requireSender(
  { context, mail }: MailRequest,
  campaign: StoredCampaign,
): Promise<{ readonly user: number; readonly role: string }> {
  const user = context.caller.user?.['id'];
  if (typeof user !== 'number')
    throw new ApiError(
      'NO_PERMISSION',
      'A campaign is sent as the user who starts it, and this credential belongs to no user.',
    );
  if (campaign.subject.trim() === '') throw invalidValues({ subject: 'Give the campaign a subject.' });
  if (!campaign.text?.trim() && !campaign.html?.trim()) throw invalidValues({ text: 'Give the campaign a text.' });
  if (mail.publicUrl === null)
    throw invalidValues({
      text: 'Recipients could not unsubscribe, because this server does not know its address: set PUBLIC_URL.',
    });
  // The audience must be readable now; a later step reads it again.
  const audience = campaign.audience as Audience;
  await readAudience(context, { audience, variables: listVariables(campaign), pageSize: 1 });
  return { user, role: context.caller.role };
}

/** A campaign that the caller can see, for an action that needs a grant on it. */
async function loadCampaign(context: RecordContext, id: unknown, action: 'get' | 'update'): Promise<StoredCampaign> {
  const campaigns = context.registry.get('mailCampaigns');
  const grant = requireGrant(context, campaigns, action);
  const key = typeof id === 'string' && /^\d{1,9}$/.test(id) ? Number(id) : id;
  if (!Number.isSafeInteger(key)) throw new ApiError('TARGET_MISSING', 'Name the campaign by "id" or "filterByTk".');
  const query = createVisibilityQuery(null);
  const visible = await readVisibleRecords(context, campaigns, withAllFields(grant), query, [key]);
  const campaign = visible.size === 0 ? null : await readCampaign(context.database, null, key as number);
  if (!campaign) throw recordNotFound(campaigns, grant);
  return campaign;
}

async function showCampaign(tx: TransactionContext, id: number): Promise<MailData> {
  if (!tx.findGrant('mailCampaigns', 'get')) return { data: JSON.stringify({ id }) };
  const { data, counter } = await getRecord(tx, tx.registry.get('mailCampaigns'), requestByKeys('get', id));
  return { data, counter };
}
