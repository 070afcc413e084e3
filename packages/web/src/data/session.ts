/**
 * Who is signed in where: one login for each application, since a login holds in one alone. Logins live in memory, and in
 * the tab's own storage where the user asked to stay signed in; never in storage that outlives the tab (decisions/016).
 */
import { useSyncExternalStore } from 'react';

interface Login {
  readonly token: string;
  /** The role that was chosen; null for the user's default. */
  readonly role: string | null;
  readonly stay: boolean;
}
type Logins = Readonly<Record<string, Login>>;

const place = 'tablinum.logins';
const listeners = new Set<() => void>();
const watchers = new Set<(application: string) => void>();
let logins: Logins = restored();
/** Applications whose login ended without the user's doing. */
let ended: ReadonlySet<string> = new Set();

function restored(): Logins {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? '{}') as Logins;
  } catch {
    return {};
  }
}

function change(next: Logins): void {
  const before = logins;
  logins = next;
  for (const application of new Set([...Object.keys(before), ...Object.keys(next)]))
    if (before[application]?.token !== next[application]?.token) for (const each of watchers) each(application);
  const kept = Object.fromEntries(Object.entries(next).filter(([, login]) => login.stay));
  try {
    if (Object.keys(kept).length > 0) sessionStorage.setItem(place, JSON.stringify(kept));
    else sessionStorage.removeItem(place);
  } catch {
    // Without storage the login lives in memory.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const session = {
  /** Hears of each application whose login has begun, ended or become another, before pages do. */
  watch: (watcher: (application: string) => void): void => void watchers.add(watcher),
  token: (application: string): string | null => logins[application]?.token ?? null,
  role: (application: string): string | null => logins[application]?.role ?? null,
  stays: (application: string): boolean => logins[application]?.stay ?? false,
  hasEnded: (application: string): boolean => ended.has(application),
  signedIn: (application: string, token: string, stay: boolean): void => {
    ended = new Set([...ended].filter((each) => each !== application));
    change({ ...logins, [application]: { token, role: null, stay } });
  },
  actAs: (application: string, role: string): void => {
    const login = logins[application];
    if (login) change({ ...logins, [application]: { ...login, role } });
  },
  /** @param over the server no longer takes the login, as opposed to the user having left. */
  forget: (application: string, over = false): void => {
    if (!logins[application]) return;
    if (over) ended = new Set([...ended, application]);
    const { [application]: _gone, ...others } = logins;
    change(others);
  },
};

/** The token of an application's login, or null; renders again when it changes. */
export function useToken(application: string): string | null {
  return useSyncExternalStore(subscribe, () => session.token(application));
}

export function useChosenRole(application: string): string | null {
  return useSyncExternalStore(subscribe, () => session.role(application));
}
