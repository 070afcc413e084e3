/**
 * Who is signed in where: one login for each application, since a login is only valid in one. Tokens live in memory only; the
 * browser keeps the session in a cookie that scripts cannot read (`browser-session.ts`, decisions/018).
 *
 * A login that the server no longer takes is `expired`: its pages stay with everything that was typed, and requests wait
 * until the same user has signed in again.
 */
import { useStoreValue, ValueStore } from '../ui/store.ts';

interface Login {
  readonly token: string;
  /** Null where it is not known. */
  readonly user: number | null;
  /** The role that was chosen in this tab; null for the user's default. */
  readonly role: string | null;
  /** The browser keeps it when it is closed. */
  readonly persistent: boolean;
  /** The same for as long as the same user stays signed in. */
  readonly generation: number;
  readonly expired?: boolean;
}
type Logins = Readonly<Record<string, Login>>;
/** `unknown` until the browser was asked for a session that it keeps. */
export type LoginState = 'unknown' | 'none' | 'valid' | 'expired';

/** The role that was chosen in this tab, by application and user. */
const rolesStorageKey = 'tablinum.roles';
const watchers = new Set<(application: string) => void>();
const tokenWatchers = new Set<(application: string) => void>();
let generations = 0;
/** The generation that each token was issued for: what one user asked is never sent again in another one's name. */
const generationByToken = new Map<string, number>();
/** What a sign-in page has to know of its application. */
export interface SignInInfo {
  readonly exists: boolean;
  /** Nobody can sign in yet. */
  readonly needsSetup: boolean;
  /** A link for another password can be mailed. */
  readonly sendsMail: boolean;
}
const defaultSignInInfo: SignInInfo = { exists: true, needsSetup: false, sendsMail: true };

interface SessionState {
  /** By application. */
  readonly logins: Logins;
  /** Applications for which the browser keeps no session. */
  readonly signInInfos: ReadonlyMap<string, SignInInfo>;
}
const store = new ValueStore<SessionState>({ logins: {}, signInInfos: new Map() });

function findLogin(application: string): Login | undefined {
  return store.state.logins[application];
}

function setLogin(application: string, login: Login): void {
  store.set({ ...store.state, logins: { ...store.state.logins, [application]: login } });
}

let reportedLogins: Logins = {};

/** Calls the watchers of each application whose user or token has changed. */
function notifyWatchers(): void {
  const before = reportedLogins;
  const { logins } = store.state;
  reportedLogins = logins;
  for (const application of new Set([...Object.keys(before), ...Object.keys(logins)])) {
    if (before[application]?.generation !== logins[application]?.generation)
      for (const watcher of watchers) watcher(application);
    if (before[application]?.token !== logins[application]?.token)
      for (const watcher of tokenWatchers) watcher(application);
  }
}
// The first subscriber: caches are cleared before any page is rendered for the new user.
store.subscribe(notifyWatchers);

function loadChosenRoles(): Record<string, string> {
  try {
    return JSON.parse(sessionStorage.getItem(rolesStorageKey) ?? '{}') as Record<string, string>;
  } catch {
    return {};
  }
}

function rememberRole(application: string, user: number | null, role: string): void {
  try {
    sessionStorage.setItem(rolesStorageKey, JSON.stringify({ ...loadChosenRoles(), [`${application} ${user}`]: role }));
  } catch {
    // Without storage the role lives in memory.
  }
}

interface NewLogin {
  readonly token: string;
  readonly user?: number | null;
  readonly persistent: boolean;
}

export const session = {
  /** Calls back when the user of an application becomes another one or none, before pages do. */
  watch: (watcher: (application: string) => void): void => void watchers.add(watcher),
  /** Calls back when the token of an application becomes another one. */
  watchToken: (watcher: (application: string) => void): void => void tokenWatchers.add(watcher),
  /** An expired one too: its requests are refused, and wait for the next. */
  token: (application: string): string | null => findLogin(application)?.token ?? null,
  role: (application: string): string | null => findLogin(application)?.role ?? null,
  isPersistent: (application: string): boolean => findLogin(application)?.persistent ?? false,
  state: (application: string): LoginState => {
    const login = findLogin(application);
    if (!login) return store.state.signInInfos.has(application) ? 'none' : 'unknown';
    return login.expired ? 'expired' : 'valid';
  },
  signInInfo: (application: string): SignInInfo => store.state.signInInfos.get(application) ?? defaultSignInInfo,
  generation: (application: string): number => findLogin(application)?.generation ?? 0,
  /** The same user goes on where the session ended; for anybody else everything begins anew. */
  signedIn: (application: string, { token, user = null, persistent }: NewLogin): void => {
    const before = findLogin(application);
    const isSameUser = before?.expired === true && user !== null && before.user === user;
    if (!isSameUser) generations += 1;
    const role = isSameUser ? before.role : (loadChosenRoles()[`${application} ${user}`] ?? null);
    const login = { token, user, persistent, role, generation: isSameUser ? before.generation : generations };
    generationByToken.set(token, login.generation);
    setLogin(application, login);
  },
  actAs: (application: string, role: string): void => {
    const login = findLogin(application);
    if (!login) return;
    rememberRole(application, login.user, role);
    setLogin(application, { ...login, role });
  },
  /** The browser keeps no session for it. */
  notResumed: (application: string, info: SignInInfo): void => {
    store.set({ ...store.state, signInInfos: new Map(store.state.signInInfos).set(application, info) });
  },
  /** The user as the server tells it, where only a token was known. */
  setUser: (application: string, user: number | null): void => {
    const login = findLogin(application);
    if (login && login.user === null && user !== null) setLogin(application, { ...login, user });
  },
  /** The server no longer takes the token. */
  expire: (application: string): void => {
    const login = findLogin(application);
    if (login && !login.expired) setLogin(application, { ...login, expired: true });
  },
  /** Waits for another sign-in. @returns whether it was the same user: then there is a new token. */
  waitForRenewal: async (application: string, expired: string): Promise<boolean> => {
    if (findLogin(application)?.token === expired) session.expire(application);
    const login = findLogin(application);
    if (!login || login.generation !== generationByToken.get(expired)) return false;
    return login.expired ? waitForSignIn(application, login.generation) : true;
  },
  clear: (application: string): void => {
    if (!findLogin(application)) return;
    const { [application]: _removed, ...logins } = store.state.logins;
    const { signInInfos } = store.state;
    const info = signInInfos.get(application) ?? defaultSignInInfo;
    store.set({ logins, signInInfos: new Map(signInInfos).set(application, info) });
  },
};

function waitForSignIn(application: string, generation: number): Promise<boolean> {
  return new Promise((resolve) => {
    const check = (): void => {
      const login = findLogin(application);
      if (login?.generation === generation && login.expired) return;
      unsubscribe();
      resolve(login?.generation === generation);
    };
    const unsubscribe = store.subscribe(check);
  });
}

export function useLoginState(application: string): LoginState {
  return useStoreValue(store, () => session.state(application));
}

/** Another number for another user. */
export function useLoginGeneration(application: string): number {
  return useStoreValue(store, () => session.generation(application));
}

export function useChosenRole(application: string): string | null {
  return useStoreValue(store, () => session.role(application));
}
