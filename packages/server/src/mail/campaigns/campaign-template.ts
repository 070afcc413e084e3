/**
 * Templates of campaigns: text with `{{field}}` and `{{field|text for an empty value}}`. There is no other logic, and a value is put in
 * once, so a value that contains a placeholder stays as it is. In HTML, values are escaped.
 */
import { mailLimits } from '../../protocol/mail-limits.ts';
import { escapeText } from '../html/escape-text.ts';

/** The subject and the texts of a message, as templates or filled. */
export interface CampaignContent {
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
}

/** What is filled in. */
export interface TemplateRecord {
  /** Fields of the record, as a list shows them. */
  readonly record: Readonly<Record<string, unknown>>;
  readonly unsubscribeUrl: string;
}

/** The variable for the address of the page on which a recipient unsubscribes. */
export const unsubscribeVariable = 'unsubscribeUrl';

const placeholder = /\{\{ ?([A-Za-z][A-Za-z0-9_]{0,59}) ?(?:\|([^{}\n]{0,200}))?\}\}/g;

/** The names of the fields that templates use. */
export function listVariables({ subject, text, html }: CampaignContent): string[] {
  const names = [subject, text ?? '', html ?? ''].flatMap((each) =>
    [...each.matchAll(placeholder)].map((match) => match[1] as string),
  );
  return [...new Set(names)].filter((name) => name !== unsubscribeVariable);
}

/** What is wrong with a template; null: nothing. */
export function findTemplateProblem(template: string): string | null {
  return template.replaceAll(placeholder, '').includes('{{')
    ? 'Write variables as {{field}}, or {{field|text for an empty value}}; other expressions do not exist.'
    : null;
}

/** Fills templates with the values of a recipient. A message without a link to unsubscribe gets one at its end. */
export function fillCampaign(templates: CampaignContent, values: TemplateRecord, maxLength: number): CampaignContent {
  const plain = (text: string): string => fill(text, values, maxLength, (each) => each);
  const { subject, text, html } = templates;
  const url = values.unsubscribeUrl;
  const hasLink = [text, html].some((each) => findPlaceholders(each ?? '').includes(unsubscribeVariable));
  const needsLink = !hasLink && url !== '';
  const filledText = text === null ? null : plain(text) + (needsLink ? `\n\n-- \nUnsubscribe: ${url}\n` : '');
  const filledHtml = html === null ? null : fill(html, values, maxLength, escapeText);
  const link = `<p><a href="${escapeText(url)}">Unsubscribe</a></p>`;
  return {
    subject: oneLine(plain(subject)).slice(0, mailLimits.subjectLength).toWellFormed(),
    text: filledText?.toWellFormed() ?? null,
    html: filledHtml === null ? null : (needsLink ? insertAtEnd(filledHtml, link) : filledHtml).toWellFormed(),
  };
}

/** The names of the variables in the placeholders of a text, as often as they occur. */
export function findPlaceholders(template: string): string[] {
  return [...template.matchAll(placeholder)].map((match) => match[1] as string);
}

function fill(
  template: string,
  { record, unsubscribeUrl }: TemplateRecord,
  maxLength: number,
  encode: (text: string) => string,
): string {
  return fillPlaceholders(template, (name, fallback) => {
    if (name === unsubscribeVariable) return encode(unsubscribeUrl);
    const text = toText(record[name]).slice(0, maxLength);
    return encode(text === '' ? (fallback ?? '') : text);
  });
}

/**
 * Replaces each placeholder of a template once.
 *
 * @param find the replacement, encoded; null: the placeholder stays. `fallback` is the text for an empty value.
 */
export function fillPlaceholders(
  template: string,
  find: (name: string, fallback: string | undefined) => string | null,
): string {
  return template.replaceAll(
    placeholder,
    (written, name: string, fallback: string | undefined) => find(name, fallback) ?? written,
  );
}

/** Adds HTML at the end, before the end of the body if there is one. */
export function insertAtEnd(html: string, added: string): string {
  const end = [...html.matchAll(/<\/body>/gi)].at(-1)?.index;
  return end === undefined ? `${html}\n${added}` : `${html.slice(0, end)}${added}${html.slice(end)}`;
}

/** Lists and objects have no text. */
export function toText(value: unknown): string {
  if (typeof value === 'string')
    return value
      .replaceAll(/\r\n?/g, '\n')
      .replaceAll(/[^\P{Cc}\n\t]+/gu, ' ')
      .trim();
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** A text without line breaks and control characters. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
