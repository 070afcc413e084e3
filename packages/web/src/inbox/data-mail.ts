/** What the inbox asks of the server, by the key under which it is kept. */
import type { Client } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { clientOf } from '../data/application.tsx';
import { forget, queryClient, type Scope, useAsked } from '../data/queries.ts';
import type { Account, Email, Thread } from './mail.ts';

/** Accounts with their mailboxes; of the mailboxes those whose mail the user sees. */
export function useAccounts(): UseQueryResult<readonly Account[], Error> {
  return useAsked(['mail-accounts'], async (client) => {
    const query = { appends: ['mailboxes'], pageSize: 200, sort: ['id'], count: 'none' } as const;
    return (await client.call<Account[]>('accounts:list', { query })).data;
  });
}

export function useThread(id: number): UseQueryResult<Thread, Error> {
  return useAsked(['thread', id], (client) => readThread(client, id), { staleTime: 30_000 });
}

/** The open conversation, as far as it is read. */
export function useOpenThread(id: number | null): Thread | undefined {
  return useAsked(['thread', id], (client) => readThread(client, id!), { enabled: id !== null, staleTime: 30_000 })
    .data;
}

async function readThread(client: Client, id: number): Promise<Thread> {
  return (await client.call<Thread>('conversations:get', { query: { filterByTk: id } })).data;
}

/** Reads a conversation that is likely to be opened next. */
export function expectThread(scope: Scope, id: number): void {
  void queryClient.prefetchQuery({
    queryKey: [...scope, 'thread', id],
    queryFn: () => readThread(clientOf(scope[0]), id),
    staleTime: 30_000,
  });
}

/** Changes an open conversation as it is kept, in every role. */
export function patchThread(application: string, id: number, change: (email: Email) => Email): void {
  queryClient.setQueriesData<Thread>(
    { predicate: ({ queryKey: [name, , kind, key] }) => name === application && kind === 'thread' && key === id },
    (thread) => thread && { ...thread, emails: thread.emails.map(change) },
  );
}

export function forgetThread(application: string, id: number): void {
  void forget(application, 'thread', id);
}

/** The e-mails of conversations, with what an action needs of them; at most 1000. */
export type EmailPlace = Pick<
  Email,
  'id' | 'accountId' | 'mailboxId' | 'folder' | 'read' | 'starred' | 'outgoing' | 'receivedAt'
> & { readonly conversationId: number };

export async function readPlaces(client: Client, conversations: readonly number[]): Promise<readonly EmailPlace[]> {
  const query = {
    filter: { conversationId: { $in: conversations } },
    fields: ['id', 'accountId', 'conversationId', 'mailboxId', 'folder', 'read', 'starred', 'outgoing', 'receivedAt'],
    pageSize: 1000,
  };
  return (await client.call<EmailPlace[]>('emails:list', { query })).data;
}
