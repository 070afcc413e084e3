/** What pages ask for again and again, by the key under which it is kept. Everything begins with application and role. */
import type { Application, Check, Collection } from '@tablinum/client';
import { Failure } from '@tablinum/client';
import { QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { clientOf, useApplication } from './application.tsx';
import { onReturn } from './reachability.ts';
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
onReturn(() => {
  const failedAway = (error: Error | null): boolean => error instanceof Failure && error.unreachable;
  void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => failedAway(state.error) });
});

// What one login was shown or refused is nothing to the next one.
session.watch((application) => queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] === application }));

/** The first members of the keys of queries under the present application and role. */
export function useScope(): Scope {
  const application = useApplication();
  return [application, useChosenRole(application)];
}

const unending = new AbortController().signal;

/**
 * Asks, keeps by application, role and `key`, and asks again when one of them changes.
 *
 * @param ask one that takes the signal is broken off when nobody shows what it asks for; what the shell needs is not.
 */
export function useAsked<T>(
  key: readonly unknown[],
  ask: (client: ReturnType<typeof clientOf>, signal: AbortSignal) => Promise<T>,
  more: { enabled?: boolean; staleTime?: number; refetchInterval?: number; keepPrevious?: boolean } = {},
): UseQueryResult<T, Error> {
  const scope = useScope();
  const { keepPrevious, ...options } = more;
  return useQuery({
    queryKey: [...scope, ...key],
    // Reading the signal makes a query end with its last reader: only those that hear it do.
    queryFn: (context) => ask(clientOf(scope[0]), ask.length > 1 ? context.signal : unending),
    ...options,
    ...(keepPrevious && { placeholderData: (previous: T | undefined) => previous as never }),
  });
}

const checkAge = { staleTime: 60_000 };

/** Who is signed in, with which role. */
export function useCheck(): UseQueryResult<Check, Error> {
  const application = useApplication();
  return useAsked(['check'], (client) => readCheck(client, application), checkAge);
}

async function readCheck(client: ReturnType<typeof clientOf>, application: string): Promise<Check> {
  const check = await client.auth.check();
  session.isUser(application, check.id);
  return check;
}

/** The same, for what is asked under it; asked once at a time. */
export function checkOf(scope: Scope): Promise<Check> {
  const queryFn = (): Promise<Check> => readCheck(clientOf(scope[0]), scope[0]);
  return queryClient.fetchQuery({ queryKey: [...scope, 'check'], queryFn, ...checkAge });
}

/** The applications of this server; they are managed in main, so others know none. */
export function useApplications(enabled: boolean): UseQueryResult<readonly Application[], Error> {
  return useAsked(['applications'], (client) => client.applications().list(), { enabled, staleTime: 60_000 });
}

/** Forgets what is kept under a key, in every role. */
export async function forget(application: string, ...key: readonly unknown[]): Promise<void> {
  await queryClient.invalidateQueries({
    predicate: ({ queryKey: [name, , ...rest] }) =>
      name === application && key.every((part, index) => rest[index] === part),
  });
}

export type { Collection };
