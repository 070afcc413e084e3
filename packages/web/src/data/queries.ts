/** What pages ask for again and again, by the key under which it is kept. Everything begins with application and role. */
import type { Application, CallerInfo, Collection } from '@tablinum/client';
import { Failure } from '@tablinum/client';
import { QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { getClient, useApplication } from './application.tsx';
import { onReconnect } from './reachability.ts';
import { session, useChosenRole } from './session.ts';

/** The first members of every key. */
export type Scope = readonly [application: string, role: string | null];

/** Nothing is asked again by itself after a refusal: the page says what it was, and offers to. */
export const queryClient = new QueryClient({
  defaultOptions: {
    // A part of the page that comes later does not ask again at once what was just refused: 429 names its wait.
    queries: {
      retry: false,
      retryOnMount: false,
      networkMode: 'always',
      staleTime: 10_000,
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

/** What failed because the server was away is asked again once it is back. */
onReconnect(() => {
  const isUnreachableError = (error: Error | null): boolean => error instanceof Failure && error.unreachable;
  void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => isUnreachableError(state.error) });
});

// What one login was shown or refused is nothing to the next one.
session.watch((application) => queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] === application }));

/** The first members of the keys of queries under the present application and role. */
export function useScope(): Scope {
  const application = useApplication();
  return [application, useChosenRole(application)];
}

const neverAborted = new AbortController().signal;

/**
 * Asks, keeps by application, role and `key`, and asks again when one of them changes.
 *
 * @param request one that takes the signal is broken off when nobody shows what it asks for; what the shell needs is not.
 */
export function useApiQuery<T>(
  key: readonly unknown[],
  request: (client: ReturnType<typeof getClient>, signal: AbortSignal) => Promise<T>,
  more: { enabled?: boolean; staleTime?: number; refetchInterval?: number; keepPreviousData?: boolean } = {},
): UseQueryResult<T, Error> {
  const scope = useScope();
  const { keepPreviousData, ...options } = more;
  return useQuery({
    queryKey: [...scope, ...key],
    // Reading the signal makes a query end with its last reader: only those that hear it do.
    queryFn: (context) => request(getClient(scope[0]), request.length > 1 ? context.signal : neverAborted),
    ...options,
    ...(keepPreviousData && { placeholderData: (previous: T | undefined) => previous as never }),
  });
}

const checkOptions = { staleTime: 60_000 };

/** Who is signed in, with which role. */
export function useCheck(): UseQueryResult<CallerInfo, Error> {
  const application = useApplication();
  return useApiQuery(['check'], (client) => readCheck(client, application), checkOptions);
}

async function readCheck(client: ReturnType<typeof getClient>, application: string): Promise<CallerInfo> {
  const check = await client.auth.check();
  session.setUser(application, check.id);
  return check;
}

/** The same, for what is asked under it; asked once at a time. */
export function fetchCheck(scope: Scope): Promise<CallerInfo> {
  const queryFn = (): Promise<CallerInfo> => readCheck(getClient(scope[0]), scope[0]);
  return queryClient.fetchQuery({ queryKey: [...scope, 'check'], queryFn, ...checkOptions });
}

/** The applications of this server; they are managed in main, so others know none. */
export function useApplications(enabled: boolean): UseQueryResult<readonly Application[], Error> {
  return useApiQuery(['applications'], (client) => client.applications().list(), { enabled, staleTime: 60_000 });
}

/** Forgets what is kept under a key, in every role. */
export async function invalidate(application: string, ...key: readonly unknown[]): Promise<void> {
  await queryClient.invalidateQueries({
    predicate: ({ queryKey: [name, , ...rest] }) =>
      name === application && key.every((part, index) => rest[index] === part),
  });
}

export type { Collection };
