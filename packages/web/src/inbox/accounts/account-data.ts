/** Reads and writes mail accounts and their members. */
import type { Client, WaitingCounts } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApplication } from '../../data/application.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import type { Account } from '../mail-types.ts';

export interface MailServer {
  readonly host: string;
  readonly port: number;
  readonly security: 'tls' | 'starttls' | 'none';
  readonly user: string | null;
}

/** How an account signs in by OAuth 2: with a known provider or an issuer. */
export interface OauthSettings {
  readonly provider: 'google' | 'microsoft' | null;
  readonly issuer: string | null;
  readonly clientId: string | null;
  readonly scopes: readonly string[] | null;
}

export interface AccountRecord extends Account {
  readonly auth: 'password' | 'oauth2';
  readonly oauth: OauthSettings | null;
  /** The address of the account and its aliases. */
  readonly imap: MailServer | null;
  readonly smtp: MailServer | null;
  /** When the server tries again after a problem; null if it does not wait. */
  readonly retryAt: string | null;
  /** Messages of the first synchronisation: how many are stored, and how many there are. */
  readonly backfillDone: number;
  readonly backfillTotal: number;
  /** Messages that are stored with their headers only so far. */
  readonly bodiesWaiting?: number;
  readonly lastSyncAt: string | null;
  /** Names of the receiving servers whose Authentication-Results headers count; null: they are learned. */
  readonly authservIds?: readonly string[] | null;
}

/** An entry of the log of problems with the mail servers of an account. */
export interface LoggedProblem {
  readonly id: number;
  readonly at: string;
  /** The part of the server that had the problem. */
  readonly source: string;
  readonly code: string;
  readonly message: string;
  readonly cure: string;
  /** How often the same problem occurred in succession. */
  readonly count: number;
}

export interface Member {
  readonly id: number;
  readonly nickname: string | null;
  readonly email: string | null;
  readonly username: string | null;
}

/** The query keys that a change of an account invalidates. */
export const accountKeys = [
  'mail-accounts',
  'mail-account',
  'mail-account-members',
  'mail-member-names',
  'mail-waiting',
] as const;

export function useAccount(id: number): UseQueryResult<AccountRecord, Error> {
  return useApiQuery(['mail-account', id], async (client, signal) => {
    const query = { filterByTk: id, appends: ['mailboxes'] };
    return (await client.call<AccountRecord>('accounts:get', { query, signal })).data;
  });
}

/** The newest problems with the mail servers of an account; empty if the role may not read them. */
export function useProblemLog(account: number, pageSize: number): UseQueryResult<readonly LoggedProblem[], Error> {
  return useApiQuery(
    ['mail-problems', account, pageSize],
    async (client, signal) => {
      const query = { filter: { accountId: account }, sort: ['-at', '-id'], pageSize, count: 'none' };
      return (await client.call<LoggedProblem[]>('mailProblems:list', { query, signal })).data;
    },
    { keepPreviousData: true },
  );
}

/** What the account has not sent yet, read again every ten seconds. */
export function useWaitingCounts(id: number, isMember: boolean): UseQueryResult<WaitingCounts, Error> {
  const options = { enabled: isMember, refetchInterval: 10_000 };
  return useApiQuery(['mail-waiting', id], (client, signal) => client.mailAccounts.waiting(id, { signal }), options);
}

/** Reads accounts and their problems again when the server reports a status, progress or a problem. */
export function useAccountEvents(): void {
  const application = useApplication();
  const refresh = (...keys: readonly string[]): void => {
    for (const key of keys) void invalidate(application, key);
  };
  const refreshAccounts = (): void => refresh('mail-account', 'mail-accounts', 'mail-waiting');
  const refreshProblems = (): void => refresh('mail-problems');
  useRealtimeEvents('accounts', refreshAccounts, refreshAccounts, refreshAccounts);
  useRealtimeEvents('mailProblems', refreshProblems, refreshProblems, refreshProblems);
}

/** The members of an account; fails if the role may not list users. */
export function useMembers(id: number): UseQueryResult<readonly Member[], Error> {
  return useApiQuery(['mail-account-members', id], async (client, signal) => {
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
