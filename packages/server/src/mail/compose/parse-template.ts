/** Checks templates of messages when they are saved. The template language is that of campaigns. */
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { Body } from '../../records/record-rules.ts';
import { InputProblems } from '../automation/input-problems.ts';
import { campaignLimits } from '../campaigns/campaign-limits.ts';
import { findPlaceholders, findTemplateProblem } from '../campaigns/campaign-template.ts';
import { sanitiseHtml } from '../html/sanitise-html.ts';

const lengths = {
  subject: mailLimits.subjectLength,
  text: campaignLimits.textLength,
  html: campaignLimits.htmlLength,
} as const;

/**
 * Checks the fields of a template that a client has written, and sanitises its HTML. A name that is no variable is allowed: it is shown
 * to the writer of a message.
 *
 * @throws ApiError 422 naming each wrong field.
 */
export function parseMessageTemplate(written: Body, isNew: boolean): Body {
  const row: Record<string, unknown> = { ...written };
  const problems = new InputProblems();
  if (isNew && row['accountId'] == null && row['account'] == null)
    problems.add('accountId', 'Name the account by its id. You must be its owner or a member.');
  if (typeof row['name'] === 'string' && row['name'].trim() === '') problems.add('name', 'Give a name.');
  for (const name of ['subject', 'text', 'html'] as const) checkPart(name, row[name], problems);
  problems.throwIfAny();
  if (typeof row['html'] === 'string') {
    const { html } = sanitiseHtml(row['html']);
    // The address of a link is encoded, so a placeholder in it would never be filled.
    if (findPlaceholders(html).length < findPlaceholders(row['html']).length) {
      problems.add('html', 'A variable can only stand in the text, not in the address of a link or another attribute.');
      problems.throwIfAny();
    }
    row['html'] = html === '' ? null : html;
  }
  return row;
}

function checkPart(name: keyof typeof lengths, template: unknown, problems: InputProblems): void {
  if (template === undefined || template === null) return;
  if (typeof template !== 'string' || template.length > lengths[name] || template.includes('\0')) {
    problems.add(name, `Give a text of at most ${lengths[name]} characters.`);
    return;
  }
  const problem = findTemplateProblem(template);
  if (problem !== null) problems.add(name, problem);
  if (name === 'subject' && /[\p{Cc}\u2028\u2029]/u.test(template)) problems.add(name, 'Give one line.');
}
