/**
 * The logins of this tab: one for each application, because a login is only valid in one. Tokens are only kept in
 * memory; the browser stores the session in a cookie that scripts cannot read (`browser-session.ts`, decisions/018).
 *
 * A login that the server no longer accepts is `expired`: its pages keep their input, and requests wait until the same
 * user has signed in again.
 */
import { useStoreValue, ValueStore } from '../ui/store.ts';

interface Login {
  readonly token: string;
  /** The id of the user; null while it is not known. */
  readonly user: number | null;
  /** The role that was chosen in this tab; null for the user's default. */
  readonly role: string | null;
  /** The session outlives the closing of the browser. */
  readonly persistent: boolean;
  /** Changes when another user signs in. */
  readonly generation: number;
  readonly expired?: boolean;
}
type Logins = Readonly<Record<string, Login>>;
/** `unknown` until the stored session of the browser has been checked. */
export type LoginState = 'unknown' | 'none' | 'valid' | 'expired';

/** Storage key of the roles that were chosen in this tab, by application and user. */
const rolesStorageKey = 'tablinum.roles';
const watchers = new Set<(application: string) => void>();
const tokenWatchers = new Set<(application: string) => void>();
let generations = 0;
/** The generation of each token. A request of one user must never be repeated in the name of another user. */
const generationByToken = new Map<string, number>();
/** What a sign-in page needs to know about its application. */
export interface SignInInfo {
  readonly exists: boolean;
  /** Nobody can sign in yet. */
  readonly needsSetup: boolean;
  /** The server can send links to reset a password. */
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
    // Without storage the role is only kept in memory.
  }
}

interface NewLogin {
  readonly token: string;
  readonly user?: number | null;
  readonly persistent: boolean;
}

export const session = {
  /** Calls the watcher when the user of an application changes or signs out, before pages are rendered. */
  watch: (watcher: (application: string) => void): void => void watchers.add(watcher),
  /** Calls the watcher when the token of an application changes. */
  watchToken: (watcher: (application: string) => void): void => void tokenWatchers.add(watcher),
  /** The token, also if it has expired: its requests are refused and wait for the next one. */
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
  /**
   * Stores a new login. The same user continues with the role and caches of the expired session; another user starts
   * without them.
   */
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
  /** The browser has no stored session for the application. */
  notResumed: (application: string, info: SignInInfo): void => {
    store.set({ ...store.state, signInInfos: new Map(store.state.signInInfos).set(application, info) });
  },
  /** Sets the user of a login that was started with only a token. */
  setUser: (application: string, user: number | null): void => {
    const login = findLogin(application);
    if (login && login.user === null && user !== null) setLogin(application, { ...login, user });
  },
  /** The server no longer accepts the token. */
  expire: (application: string): void => {
    const login = findLogin(application);
    if (login && !login.expired) setLogin(application, { ...login, expired: true });
  },
  /** Waits for the next sign-in. @returns whether the same user has signed in, so that there is a new token. */
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

/** A number that changes with the user. */
export function useLoginGeneration(application: string): number {
  return useStoreValue(store, () => session.generation(application));
}

export function useChosenRole(application: string): string | null {
  return useStoreValue(store, () => session.role(application));
}
