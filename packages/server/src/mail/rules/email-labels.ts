import { invalidValues } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';

/**
 * The labels of an e-mail as a client gives them, each once, in a fixed order.
 *
 * @throws ApiError 422 for anything but a list of texts.
 */
export function parseLabels(input: unknown): readonly string[] {
  if (input === null) return [];
  if (!Array.isArray(input) || input.length > mailLimits.labels)
    throw invalidValues({ labels: `Give a list of at most ${mailLimits.labels} texts, such as ["Invoices"].` });
  const details: Record<string, string> = {};
  const labels = input.map((each: unknown, index) => {
    const label = typeof each === 'string' ? each.normalize('NFC').trim() : '';
    if (label === '' || label.length > mailLimits.labelLength || /\p{Cc}/u.test(label) || !label.isWellFormed())
      details[`labels.${index}`] = `Give a text of 1 to ${mailLimits.labelLength} characters on one line.`;
    else if (label.startsWith('\\'))
      details[`labels.${index}`] = 'A label cannot begin with "\\": such names belong to mail servers.';
    return label;
  });
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return [...new Set(labels)].sort();
}
