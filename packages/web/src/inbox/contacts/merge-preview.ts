import type { Contact } from './contact-data.ts';

type MergedTexts = Pick<Contact, 'name' | 'company' | 'phone' | 'notes'>;

/** What `contacts:merge` makes of contacts. */
export interface MergePreview extends MergedTexts {
  /** The address of the contact that stays, then the others. */
  readonly addresses: readonly string[];
  /** The names of its groups. */
  readonly groups: readonly string[];
}

/** The contact that results if `kept` stays and the others are merged into it, by the rules of the server. */
export function previewMerge(kept: Contact, others: readonly Contact[]): MergePreview {
  const all = [kept, ...others];
  const list = (name: keyof MergedTexts): string[] => all.flatMap((each) => each[name] || []);
  const addresses = all.flatMap((each) => [each.address, ...(each.otherAddresses ?? [])]);
  return {
    name: list('name')[0] ?? '',
    company: list('company')[0] ?? null,
    phone: list('phone')[0] ?? null,
    notes: [...new Set(list('notes'))].join('\n\n') || null,
    addresses: [kept.address, ...[...new Set(addresses)].filter((each) => each !== kept.address).sort()],
    groups: [...new Set(all.flatMap((each) => each.groups.map(({ name }) => name)))].sort(),
  };
}
