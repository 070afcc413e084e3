import { mailLimits } from '../../protocol/mail-limits.ts';
import type { Body } from '../../records/record-rules.ts';
import { InputProblems } from '../automation/input-problems.ts';
import { parseAudience } from './campaign-audience.ts';
import { campaignLimits } from './campaign-limits.ts';
import { findTemplateProblem, listVariables } from './campaign-template.ts';

/** Checks and completes the fields of a campaign that a client has written. @throws ApiError 422 naming each wrong one. */
export function parseCampaign(written: Body, isNew: boolean): Body {
  const row: Record<string, unknown> = { ...written };
  const problems = new InputProblems();
  if (isNew && row['accountId'] == null && row['account'] == null)
    problems.add('accountId', 'Name the account by its id. You must be its owner or a member.');
  if (isNew || 'audience' in row) row['audience'] = parseAudience(row['audience'], problems);
  checkContent(row, problems);
  checkRates(row, problems);
  problems.throwIfAny();
  return row;
}

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
