/** Reads and writes mail accounts and their members. */
import type { Client } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApiQuery } from '../../data/queries.ts';
import type { Account } from '../mail-types.ts';

export interface MailServer {
  readonly host: string;
  readonly port: number;
  readonly security: 'tls' | 'starttls' | 'none';
  readonly user: string | null;
}

export interface AccountRecord extends Account {
  readonly auth: 'password' | 'oauth2';
  readonly imap: MailServer | null;
  readonly smtp: MailServer | null;
}

export interface Member {
  readonly id: number;
  readonly nickname: string | null;
  readonly email: string | null;
  readonly username: string | null;
}

/** The query keys that a change of an account invalidates. */
export const accountKeys = ['mail-accounts', 'mail-account', 'mail-members'] as const;

export function useAccount(id: number): UseQueryResult<AccountRecord, Error> {
  return useApiQuery(['mail-account', id], async (client, signal) => {
    const query = { filterByTk: id, appends: ['mailboxes'] };
    return (await client.call<AccountRecord>('accounts:get', { query, signal })).data;
  });
}

/** The members of an account; fails if the role may not list users. */
export function useMembers(id: number): UseQueryResult<readonly Member[], Error> {
  return useApiQuery(['mail-members', id], async (client, signal) => {
    const query = { fields: ['id', 'nickname', 'email', 'username'], pageSize: 1000, sort: ['id'] };
    return (await client.call<Member[]>(`accounts/${id}/members:list`, { query, signal })).data;
  });
}

/** Users whose name or address contains a text; fails if the role may not list users. */
export function useFoundUsers(typed: string): UseQueryResult<readonly Member[], Error> {
  return useApiQuery(
    ['users', 'found', typed],
    async (client: Client, signal) => {
      const query = {
        ...(typed !== '' && { search: typed }),
        fields: ['id', 'nickname', 'email', 'username'],
        pageSize: 20,
        count: 'none',
      };
      return (await client.call<Member[]>('users:list', { query, signal })).data;
    },
    { keepPreviousData: true },
  );
}

/** The display name of a user. */
export function getMemberName({ nickname, email, username, id }: Member): string {
  const name = nickname || username;
  return name && email ? `${name} <${email}>` : name || email || `#${id}`;
}
