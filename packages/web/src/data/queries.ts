/** Cached API queries. Every key begins with the application and the role. */
import type { Application, CallerInfo, Collection } from '@tablinum/client';
import { Failure } from '@tablinum/client';
import { QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { getClient, useApplication } from './application.tsx';
import { onReconnect } from './reachability.ts';
import { session, useChosenRole } from './session.ts';

/** The first elements of every query key. */
export type Scope = readonly [application: string, role: string | null];

/** Refused requests are not retried automatically: the page shows the error and a retry button. */
export const queryClient = new QueryClient({
  defaultOptions: {
    // Components that mount later do not repeat a refused request at once: a 429 response contains a waiting time.
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

/** Queries that failed because the server was unreachable are repeated after a reconnect. */
onReconnect(() => {
  const isUnreachableError = (error: Error | null): boolean => error instanceof Failure && error.unreachable;
  void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => isUnreachableError(state.error) });
});

// Results of one user must not be shown to the next one.
session.watch((application) => queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] === application }));

/** The first elements of query keys for the current application and role. */
export function useScope(): Scope {
  const application = useApplication();
  return [application, useChosenRole(application)];
}

const neverAborted = new AbortController().signal;

/**
 * A cached API query. The cache key consists of the application, the role and `key`.
 *
 * @param request if it takes the signal, it is aborted when no component uses the query any more.
 */
export function useApiQuery<T>(
  key: readonly unknown[],
  request: (client: ReturnType<typeof getClient>, signal: AbortSignal) => Promise<T>,
  more: {
    enabled?: boolean;
    staleTime?: number;
    refetchInterval?: number | ((query: { readonly state: { readonly data: T | undefined } }) => number | false);
    keepPreviousData?: boolean;
  } = {},
): UseQueryResult<T, Error> {
  const scope = useScope();
  const { keepPreviousData, ...options } = more;
  return useQuery({
    queryKey: [...scope, ...key],
    // Reading the signal makes TanStack Query abort a query without observers, so it is only read for requests that use
    // it.
    queryFn: (context) => request(getClient(scope[0]), request.length > 1 ? context.signal : neverAborted),
    ...options,
    ...(keepPreviousData && { placeholderData: (previous: T | undefined) => previous as never }),
  });
}

const checkOptions = { staleTime: 60_000 };

/** The current user and role. */
export function useCheck(): UseQueryResult<CallerInfo, Error> {
  const application = useApplication();
  return useApiQuery(['check'], (client) => readCheck(client, application), checkOptions);
}

async function readCheck(client: ReturnType<typeof getClient>, application: string): Promise<CallerInfo> {
  const check = await client.auth.check();
  session.setUser(application, check.id);
  return check;
}

/** The current user and role, for use outside of components; concurrent calls share one request. */
export function fetchCheck(scope: Scope): Promise<CallerInfo> {
  const queryFn = (): Promise<CallerInfo> => readCheck(getClient(scope[0]), scope[0]);
  return queryClient.fetchQuery({ queryKey: [...scope, 'check'], queryFn, ...checkOptions });
}

/** The applications of this server. Only main can list them. */
export function useApplications(enabled: boolean): UseQueryResult<readonly Application[], Error> {
  return useApiQuery(['applications'], (client) => client.applications().list(), { enabled, staleTime: 60_000 });
}

/** Invalidates the cached queries below a key, for every role. */
export async function invalidate(application: string, ...key: readonly unknown[]): Promise<void> {
  await queryClient.invalidateQueries({
    predicate: ({ queryKey: [name, , ...rest] }) =>
      name === application && key.every((part, index) => rest[index] === part),
  });
}

export type { Collection };
