/** People whose mail was seen, for the fields of a message: asked of the account's own e-mails, nothing is kept. */
import type { Client } from '@tablinum/client';
import { useAsked } from '../../data/queries.ts';
import type { Email, MailAddress } from '../mail.ts';
import { addressText } from './addresses.ts';

const mostOffered = 8;
/** E-mails that are looked through, the newest ones. */
const looked = 40;

/** @returns as they stand in a field, those that wrote or were written to most first. */
export function useKnownPeople(accountId: number | null, typed: string): readonly string[] {
  const words = typed.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const { data } = useAsked(
    ['known-people', accountId, words.join(' ')],
    (client, signal) => readPeople(client, accountId!, words, signal),
    { enabled: accountId !== null && words.join('').length > 0, staleTime: 60_000, keepPrevious: true },
  );
  return words.length === 0 ? [] : (data ?? []);
}

async function readPeople(
  client: Client,
  accountId: number,
  words: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const pages = ['from', 'to'].map((field) => {
    const search = words.map((word) => `${field}:${word}*`).join(' ');
    const query = { accountId, search, fields: ['from', 'to', 'cc'], pageSize: looked };
    return client.call<Pick<Email, 'from' | 'to' | 'cc'>[]>('emails:list', { query, signal });
  });
  const found = new Map<string, { readonly person: MailAddress; times: number }>();
  for (const { data } of await Promise.all(pages))
    for (const person of data.flatMap(({ from, to, cc }) => [...(from ?? []), ...(to ?? []), ...(cc ?? [])])) {
      const said = `${person.name} ${person.address}`.toLowerCase();
      if (person.address === '' || !words.every((word) => said.includes(word))) continue;
      const known = found.get(person.address.toLowerCase());
      if (known) known.times += 1;
      else found.set(person.address.toLowerCase(), { person, times: 1 });
    }
  const likeliest = [...found.values()].sort((one, other) => other.times - one.times).slice(0, mostOffered);
  return likeliest.map(({ person }) => addressText(person));
}
