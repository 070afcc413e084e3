/** Suggests recipients from the e-mails of the account. Nothing is stored. */
import type { Client } from '@tablinum/client';
import { useApiQuery } from '../../data/queries.ts';
import type { Email, MailAddress } from '../mail-types.ts';
import { addressText } from './addresses.ts';

const maxSuggestions = 8;
/** The number of e-mails that are searched, newest first. */
const scannedEmails = 40;

/** @returns addresses as texts for an input, the most frequent ones first. */
export function useAddressSuggestions(accountId: number | null, typed: string): readonly string[] {
  const terms = typed.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const { data } = useApiQuery(
    ['known-people', accountId, terms.join(' ')],
    (client, signal) => readPeople(client, accountId!, terms, signal),
    { enabled: accountId !== null && terms.join('').length > 0, staleTime: 60_000, keepPreviousData: true },
  );
  return terms.length === 0 ? [] : (data ?? []);
}

async function readPeople(
  client: Client,
  accountId: number,
  terms: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const pages = ['from', 'to'].map((field) => {
    const search = terms.map((term) => `${field}:${term}*`).join(' ');
    const query = { accountId, search, fields: ['from', 'to', 'cc'], pageSize: scannedEmails };
    return client.call<Pick<Email, 'from' | 'to' | 'cc'>[]>('emails:list', { query, signal });
  });
  const found = new Map<string, { readonly person: MailAddress; count: number }>();
  for (const { data } of await Promise.all(pages))
    for (const person of data.flatMap(({ from, to, cc }) => [...(from ?? []), ...(to ?? []), ...(cc ?? [])])) {
      const searchText = `${person.name} ${person.address}`.toLowerCase();
      if (person.address === '' || !terms.every((term) => searchText.includes(term))) continue;
      const known = found.get(person.address.toLowerCase());
      if (known) known.count += 1;
      else found.set(person.address.toLowerCase(), { person, count: 1 });
    }
  const likeliest = [...found.values()].sort((one, other) => other.count - one.count).slice(0, maxSuggestions);
  return likeliest.map(({ person }) => addressText(person));
}
