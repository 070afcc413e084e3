/** Reads contacts and their groups. */
import type { Client, List } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApplication } from '../../data/application.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { useMay } from '../../data/schema.ts';

export interface Contact {
  readonly id: number;
  readonly accountId: number;
  readonly address: string;
  readonly name: string;
  readonly company: string | null;
  readonly phone: string | null;
  readonly notes: string | null;
  /** Filled from mail, and not edited since. */
  readonly automatic: boolean;
  /** Those of contacts that were merged into it. Null: none. Absent for a role that does not see them. */
  readonly otherAddresses?: readonly string[] | null;
  readonly groups: readonly ContactGroup[];
}

export interface ContactGroup {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
}

/** A contact as it is shown in lists to choose from. */
export type ContactChoice = Pick<Contact, 'id' | 'accountId' | 'name' | 'address'>;

/** The query keys that a change of a contact or a group invalidates. */
export const contactKeys = ['contacts', 'contact-groups', 'known-people'] as const;
export const contactsPerPage = 50;
const maxChoices = 50;

/** Which contacts are listed. */
export interface ContactView {
  readonly text: string;
  readonly group: number | null;
  readonly page: number;
}

/** A page of the contacts of all accounts of the user, by name. */
export function useContacts({ text, group, page }: ContactView): UseQueryResult<List<Contact>, Error> {
  return useApiQuery(
    ['contacts', text, group, page],
    async (client, signal) => {
      const ofGroup = group === null ? [] : [{ groups: { id: group } }];
      const query = {
        ...buildFilter([...ofGroup, ...buildContactTerms(splitTerms(text))]),
        sort: ['name', 'address', 'id'],
        appends: ['groups'],
        page,
        pageSize: contactsPerPage,
      };
      return client.call<Contact[], List<Contact>['meta']>('contacts:list', { query, signal });
    },
    { keepPreviousData: true },
  );
}

/** The groups of all accounts of the user, by name. */
export function useContactGroups(): UseQueryResult<readonly ContactGroup[], Error> {
  const may = useMay();
  return useApiQuery(
    ['contact-groups'],
    async (client, signal) => {
      const query = { sort: ['name', 'id'], pageSize: 500 };
      return (await client.call<ContactGroup[]>('contactGroups:list', { query, signal })).data;
    },
    { enabled: may('contactGroups', 'list') },
  );
}

/** The contacts in a group; empty for a new one. */
export function useGroupMembers(group: number | null): UseQueryResult<readonly ContactChoice[], Error> {
  return useApiQuery(['contact-groups', 'members', group], (client) => readGroupMembers(client, group ?? 0), {
    enabled: group !== null,
    staleTime: 0,
  });
}

/** All members of a group, at most 1,000. */
export async function readGroupMembers(client: Client, group: number): Promise<readonly ContactChoice[]> {
  const query = {
    filter: { groups: { id: group } },
    fields: ['id', 'accountId', 'name', 'address'],
    sort: ['name', 'address'],
    pageSize: 1000,
    count: 'none',
  };
  return (await client.call<ContactChoice[]>('contacts:list', { query })).data;
}

/** Contacts of an account that match a text. */
export function useContactChoices(account: number, text: string): readonly ContactChoice[] {
  const terms = splitTerms(text);
  const { data } = useApiQuery(
    ['contacts', 'choices', account, terms.join(' ')],
    (client, signal) => findContacts(client, terms, { account, max: maxChoices, signal }),
    { keepPreviousData: true },
  );
  return data ?? [];
}

/** Contacts whose name, address or company contains each of the terms, by name. */
export async function findContacts(
  client: Client,
  terms: readonly string[],
  { account, max, signal }: { readonly account?: number; readonly max: number; readonly signal: AbortSignal },
): Promise<readonly ContactChoice[]> {
  const ofAccount = account === undefined ? [] : [{ accountId: account }];
  const query = {
    ...buildFilter([...ofAccount, ...buildContactTerms(terms)]),
    fields: ['id', 'accountId', 'name', 'address'],
    sort: ['name', 'address'],
    pageSize: max,
    count: 'none',
  };
  return (await client.call<ContactChoice[]>('contacts:list', { query, signal })).data;
}

export function splitTerms(text: string): readonly string[] {
  return text.split(/\s+/).filter(Boolean).slice(0, 10);
}

function buildFilter(conditions: readonly object[]): { readonly filter?: object } {
  return conditions.length === 0 ? {} : { filter: { $and: conditions } };
}

function buildContactTerms(terms: readonly string[]): object[] {
  return terms.map((term) => ({
    $or: ['name', 'address', 'company'].map((field) => ({ [field]: { $includes: term } })),
  }));
}

/** Reads contacts again when mail or another user changes them. */
export function useContactEvents(): void {
  const application = useApplication();
  const refresh = (): void => {
    for (const key of contactKeys) void invalidate(application, key);
  };
  useRealtimeEvents('contacts', refresh, refresh, refresh);
}
