/** What clients may change of campaigns: a draft completely, its rates while it sends, and nothing that the server sets. */
import { readCampaign } from '../../database/mail/campaign-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { InputProblems } from '../automation/input-problems.ts';
import { parseAudience } from './campaign-audience.ts';
import { campaignLimits } from './campaign-limits.ts';
import { findTemplateProblem, listVariables } from './campaign-template.ts';

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
    const problems = new InputProblems();
    if (isNew && row['accountId'] == null && row['account'] == null)
      problems.add('accountId', 'Name the account by its id. You must be its owner or a member.');
    if (isNew || 'audience' in row) row['audience'] = parseAudience(row['audience'], problems);
    checkContent(row, problems);
    checkRates(row, problems);
    problems.throwIfAny();
    return { body: row };
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

/** Checks the templates. */
function checkContent(row: Readonly<Record<string, unknown>>, problems: InputProblems): void {
  const lengths = {
    subject: mailLimits.subjectLength,
    text: campaignLimits.textLength,
    html: campaignLimits.htmlLength,
  } as const;
  for (const name of ['subject', 'text', 'html'] as const) {
    const template = row[name];
    if (template === undefined || template === null) continue;
    if (typeof template !== 'string' || template.length > lengths[name] || template.includes('\0'))
      problems.add(name, `Give a text of at most ${lengths[name]} characters.`);
    else {
      const problem = findTemplateProblem(template);
      if (problem !== null) problems.add(name, problem);
      if (name === 'subject' && /[\p{Cc}\u2028\u2029]/u.test(template)) problems.add(name, 'Give one line.');
    }
  }
  const texts = ['subject', 'text', 'html'].map((name) => (typeof row[name] === 'string' ? row[name] : ''));
  const [subject = '', text = '', html = ''] = texts;
  if (listVariables({ subject, text, html }).length > campaignLimits.variables)
    problems.add('text', `The templates can use at most ${campaignLimits.variables} different fields.`);
}

function checkRates(row: Readonly<Record<string, unknown>>, problems: InputProblems): void {
  for (const name of ['ratePerMinute', 'domainRatePerMinute'] as const) {
    const rate = row[name];
    if (rate === undefined || (rate === null && name === 'domainRatePerMinute')) continue;
    if (!Number.isInteger(rate) || Number(rate) < 1 || Number(rate) > campaignLimits.maxRate)
      problems.add(name, `Give a whole number of messages for each minute, from 1 to ${campaignLimits.maxRate}.`);
  }
}
