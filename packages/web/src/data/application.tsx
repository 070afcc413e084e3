/** The application of the current page, and its API client with the login and role of the user. */
import { Client } from '@tablinum/client';
import { createContext, type ReactNode, use } from 'react';
import { parseExactJson } from './exact-json.ts';
import { reportReached } from './reachability.ts';
import { session } from './session.ts';

const clients = new Map<string, Client>();

/** The API client of an application. The page shows waiting times itself, so the client only retries briefly. */
export function getClient(application: string): Client {
  let client = clients.get(application);
  if (!client) {
    client = new Client({
      application,
      token: () => session.token(application),
      role: () => session.role(application),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      retries: 1,
      maxRetryWait: 2,
      parseJson: parseExactJson,
      onReached: reportReached,
      renewToken: (expired) => session.waitForRenewal(application, expired),
    });
    clients.set(application, client);
  }
  return client;
}

/** An API client without a login, for the sign-in pages. */
export function getPublicClient(application: string): Client {
  return new Client({ application, retries: 1, maxRetryWait: 2, onReached: reportReached });
}

const ApplicationContext = createContext('main');

export function ApplicationProvider({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return <ApplicationContext value={name}>{children}</ApplicationContext>;
}

/** The name of the application of the current page. */
export function useApplication(): string {
  return use(ApplicationContext);
}

export function useClient(): Client {
  return getClient(useApplication());
}
