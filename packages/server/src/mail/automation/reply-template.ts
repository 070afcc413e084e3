import { mailLimits } from '../../protocol/mail-limits.ts';
import { escapeText } from '../html/escape-text.ts';
import type { ReplyTemplate } from './rule-actions.ts';

/** What the placeholders of a template stand for. The sender of the message has written all of it. */
export interface TemplateValues {
  readonly name: string;
  readonly address: string;
  readonly subject: string;
}

/** The content of a reply. */
export interface FilledTemplate {
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
}

const placeholders = ['name', 'address', 'subject'] as const;
/** Code units of a value that is filled in. */
const maxValueLength = 200;

/**
 * Fills `{{name}}`, `{{address}}` and `{{subject}}` into a template. Values are put in once: a value that contains a placeholder
 * stays as it is. In HTML they are escaped.
 *
 * @param prefix of the subject, where the template has none of its own.
 */
export function fillTemplate(template: ReplyTemplate, values: TemplateValues, prefix: string): FilledTemplate {
  const plain = (text: string): string => fill(text, (name) => oneLine(values[name]).slice(0, maxValueLength));
  const escaped = (text: string): string =>
    fill(text, (name) => escapeText(oneLine(values[name]).slice(0, maxValueLength)));
  const subject = template.subject === null ? `${prefix}${oneLine(values.subject)}` : plain(template.subject);
  return {
    subject: oneLine(subject).slice(0, mailLimits.subjectLength).toWellFormed(),
    text: plain(template.text).toWellFormed(),
    html: template.html === null ? null : escaped(template.html).toWellFormed(),
  };
}

function fill(text: string, read: (name: (typeof placeholders)[number]) => string): string {
  return text
    .split('{{')
    .map((piece, index) => {
      const name = index === 0 ? undefined : placeholders.find((each) => piece.startsWith(`${each}}}`));
      if (name !== undefined) return read(name) + piece.slice(name.length + 2);
      return index === 0 ? piece : `{{${piece}`;
    })
    .join('');
}

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
