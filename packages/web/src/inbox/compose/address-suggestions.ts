/** Suggests recipients: groups of contacts, contacts, and people in the e-mails of all accounts that the user sees. */
import type { Client } from '@tablinum/client';
import { useApiQuery } from '../../data/queries.ts';
import type { Rights } from '../../data/role-document.ts';
import { useMay } from '../../data/schema.ts';
import { findContacts } from '../contacts/contact-data.ts';
import type { Email, MailAddress } from '../mail-types.ts';
import { addressText } from './addresses.ts';

const maxSuggestions = 8;
const maxGroups = 3;
const maxGroupMembers = 500;
/** The contacts among which the most frequent ones are chosen. */
const maxContacts = 50;
/** The number of e-mails that are searched, newest first. */
const scannedEmails = 40;

/** What an input offers for a typed text. */
export interface AddressSuggestion {
  readonly label: string;
  /** One address, or those of the members of a group. */
  readonly addresses: readonly string[];
}

/** The people of a group, as the label of its suggestion says it. */
type LabelGroup = (name: string, people: number) => string;

const nothing: readonly AddressSuggestion[] = [];

/**
 * @param labelGroup null: no groups are suggested.
 * @returns groups first, then contacts and other people, the most frequent ones first.
 */
export function useAddressSuggestions(typed: string, labelGroup: LabelGroup | null): readonly AddressSuggestion[] {
  const may = useMay();
  const terms = typed.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const { data } = useApiQuery(
    ['known-people', terms.join(' '), labelGroup !== null],
    (client, signal) => readSuggestions({ client, may, labelGroup, signal }, terms),
    { enabled: terms.join('').length > 0, staleTime: 60_000, keepPreviousData: true },
  );
  return terms.length === 0 ? nothing : (data ?? nothing);
}

interface SuggestionSource {
  readonly client: Client;
  readonly may: Rights['may'];
  readonly labelGroup: LabelGroup | null;
  readonly signal: AbortSignal;
}

async function readSuggestions(
  { client, may, labelGroup, signal }: SuggestionSource,
  terms: readonly string[],
): Promise<readonly AddressSuggestion[]> {
  const mayGroup = labelGroup !== null && may('contactGroups', 'list') && may('contacts', 'list');
  const [groups, contacts, people] = await Promise.all([
    mayGroup ? readGroups(client, labelGroup, terms, signal) : [],
    may('contacts', 'list') ? findContacts(client, terms, { max: maxContacts, signal }) : [],
    may('emails', 'list') ? countPeople(client, terms, signal) : new Map<string, CountedPerson>(),
  ]);
  const countOf = (address: string): number => people.get(address.toLowerCase())?.count ?? 0;
  const known = new Map<string, MailAddress>();
  // An account of several may know the name of a person whom another one does not.
  for (const each of contacts) if (!known.get(each.address)?.name) known.set(each.address, each);
  const byCount = (one: MailAddress, other: MailAddress): number => countOf(other.address) - countOf(one.address);
  const others = [...people].flatMap(([address, { person }]) => (known.has(address) ? [] : [person]));
  const likeliest = [...[...known.values()].sort(byCount), ...others.sort(byCount)].slice(0, maxSuggestions);
  return [...groups, ...likeliest.map(addressText).map((text) => ({ label: text, addresses: [text] }))];
}

interface CountedPerson {
  readonly person: MailAddress;
  count: number;
}

/** The people in the newest e-mails that match the terms, by their address in lower case. */
async function countPeople(
  client: Client,
  terms: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, CountedPerson>> {
  const pages = ['from', 'to'].map((field) => {
    const search = terms.map((term) => `${field}:${term}*`).join(' ');
    const query = { search, fields: ['from', 'to', 'cc'], pageSize: scannedEmails };
    return client.call<Pick<Email, 'from' | 'to' | 'cc'>[]>('emails:list', { query, signal });
  });
  const found = new Map<string, CountedPerson>();
  for (const { data } of await Promise.all(pages))
    for (const person of data.flatMap(({ from, to, cc }) => [...(from ?? []), ...(to ?? []), ...(cc ?? [])])) {
      const searchText = `${person.name} ${person.address}`.toLowerCase();
      if (person.address === '' || !terms.every((term) => searchText.includes(term))) continue;
      const known = found.get(person.address.toLowerCase());
      if (known) known.count += 1;
      else found.set(person.address.toLowerCase(), { person, count: 1 });
    }
  return found;
}

async function readGroups(
  client: Client,
  labelGroup: LabelGroup,
  terms: readonly string[],
  signal: AbortSignal,
): Promise<AddressSuggestion[]> {
  const filter = { $and: terms.map((term) => ({ name: { $includes: term } })) };
  const query = { filter, appends: ['members'], sort: 'name', pageSize: maxGroups, count: 'none' };
  const { data } = await client.call<{ name: string; members: MailAddress[] }[]>('contactGroups:list', {
    query,
    signal,
  });
  return data.flatMap(({ name, members }) => {
    const addresses = members.slice(0, maxGroupMembers).map(addressText);
    return addresses.length === 0 ? [] : [{ label: labelGroup(name, addresses.length), addresses }];
  });
}
