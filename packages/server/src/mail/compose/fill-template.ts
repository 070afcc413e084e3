/** Fills a template of a message for its writer. What has no value stays as it is written, so that the writer sees it. */

import { type TemplateVariable, templateVariables } from '../../protocol/template-variables.ts';
import { campaignLimits } from '../campaigns/campaign-limits.ts';
import { type CampaignContent, fillPlaceholders, oneLine, toText } from '../campaigns/campaign-template.ts';
import { escapeText } from '../html/escape-text.ts';

/** The values of the variables; absent and empty ones have none. */
export type MessageVariables = Partial<Readonly<Record<TemplateVariable, unknown>>>;

export interface FilledMessage extends CampaignContent {
  /** Names of variables that stay in the text: they do not exist, or have neither a value nor a text for an empty one. */
  readonly missing: readonly string[];
}

/** The name of a person in addresses: "Lind, Cora" and "Cora Lind" give "Cora". */
export function findFirstName(name: string): string {
  const [family = '', given] = name.split(',').map((each) => each.trim());
  return (given || family).split(/\s+/)[0] ?? '';
}

/** Puts values into a template. In HTML, values are escaped; a value that contains a placeholder stays as it is. */
export function fillMessageTemplate({ subject, text, html }: CampaignContent, values: MessageVariables): FilledMessage {
  const known = new Map<string, unknown>(templateVariables.map((name) => [name, values[name]]));
  const missing = new Set<string>();
  const fill = (template: string, encode: (value: string) => string): string =>
    fillPlaceholders(template, (name, fallback) => {
      const value = oneLine(toText(known.get(name))).slice(0, campaignLimits.valueLength);
      if (value !== '') return encode(value).toWellFormed();
      if (known.has(name) && fallback !== undefined) return encode(fallback);
      missing.add(name);
      return null;
    });
  const plain = (value: string): string => value;
  return {
    subject: fill(subject, plain),
    text: text === null ? null : fill(text, plain),
    html: html === null ? null : fill(html, escapeText),
    missing: [...missing],
  };
}
