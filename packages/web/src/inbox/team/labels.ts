/** Labels of conversations: those of their e-mails. Each has one of a few colours, which depends on its name, for everybody. */
import type { Email } from '../mail-types.ts';

const colors = ['verdigris', 'blue', 'grape', 'orange', 'red', 'green', 'cyan', 'pink', 'indigo', 'yellow'] as const;

/** The Mantine colour of a label. */
export function getLabelColor(label: string): (typeof colors)[number] {
  let sum = 0;
  for (const letter of label.toLowerCase()) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 4093;
  return colors[sum % colors.length] ?? colors[0];
}

/** The labels of some e-mails, each once, sorted. */
export function listLabels(emails: readonly Pick<Email, 'labels'>[]): readonly string[] {
  return [...new Set(emails.flatMap(({ labels }) => labels ?? []))].sort((one, second) => one.localeCompare(second));
}

/** What is added to and removed from the labels of e-mails. */
export interface LabelChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** The labels of an e-mail after a change, in the order in which the server stores them. */
export function changeLabels(labels: readonly string[], { add, remove }: LabelChange): readonly string[] {
  return [...new Set([...labels.filter((each) => !remove.includes(each)), ...add])].sort();
}
