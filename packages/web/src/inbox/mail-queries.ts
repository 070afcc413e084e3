/** The cached queries of the inbox. */
import type { Client } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { getClient } from '../data/application.tsx';
import { invalidate, queryClient, type Scope, useApiQuery, useCheck } from '../data/queries.ts';
import type { Email, Thread } from './mail-types.ts';
import { listAccountsKey } from './preload-inbox.ts';
import { type Accounts, readAccounts } from './read-accounts.ts';
import { readTeamHistory } from './team/team-data.ts';
import type { TeamFields } from './team/team-types.ts';

/** The accounts with their folders. */
export function useAccounts(): UseQueryResult<Accounts, Error> {
  const { data: check, error } = useCheck();
  const query = useApiQuery(listAccountsKey(check), (client) => readAccounts(client, check!), {
    enabled: check !== undefined,
  });
  return check === undefined && error ? ({ ...query, error } as typeof query) : query;
}

export function useThread(id: number): UseQueryResult<Thread, Error> {
  return useApiQuery(['thread', id], (client) => readThread(client, id), { staleTime: 30_000 });
}

/** The open conversation, if it has been loaded. */
export function useOpenThread(id: number | null): Thread | undefined {
  return useApiQuery(['thread', id], (client) => readThread(client, id!), { enabled: id !== null, staleTime: 30_000 })
    .data;
}

async function readThread(client: Client, id: number): Promise<Thread> {
  const [{ data }, team] = await Promise.all([
    client.call<Omit<Thread, 'team'>>('conversations:get', { query: { filterByTk: id } }),
    readTeamHistory(client, id),
  ]);
  return { ...data, team };
}

/** Reads a conversation that is likely to be opened next. */
export function prefetchThread(scope: Scope, id: number): void {
  void queryClient.prefetchQuery({
    queryKey: [...scope, 'thread', id],
    queryFn: () => readThread(getClient(scope[0]), id),
    staleTime: 30_000,
  });
}

/** Changes the e-mails of a cached conversation, for every role. */
export function patchThread(application: string, id: number, change: (email: Email) => Email): void {
  changeThread(application, id, (thread) => ({ ...thread, emails: thread.emails.map(change) }));
}

/** Changes the fields of a cached conversation that its team sets, for every role. */
export function patchConversation(application: string, id: number, change: Partial<TeamFields>): void {
  changeThread(application, id, (thread) => ({ ...thread, ...change }));
}

/** Changes a cached conversation, for every role. */
export function changeThread(application: string, id: number, change: (thread: Thread) => Thread): void {
  queryClient.setQueriesData<Thread>(
    { predicate: ({ queryKey: [name, , kind, key] }) => name === application && kind === 'thread' && key === id },
    (thread) => thread && change(thread),
  );
}

export function invalidateThread(application: string, id: number): void {
  void invalidate(application, 'thread', id);
}
