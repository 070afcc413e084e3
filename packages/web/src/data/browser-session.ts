/**
 * Shares one session between all tabs of a browser: it is stored in a cookie, and tabs notify each other
 * (decisions/018).
 */
import { Client, Failure, type SignInResult } from '@tablinum/client';
import { productTitle } from '../ui/product-name.ts';
import { accentColor } from '../ui/theme/accent-color.ts';
import { getClient, getPublicClient } from './application.tsx';
import { forgetPushRenewal } from './push-renewal.ts';
import { onReconnect } from './reachability.ts';
import { session } from './session.ts';

const resuming = new Map<string, Promise<void>>();
/** The message that tabs exchange. It never contains a token. */
interface SessionMessage {
  readonly application: string;
  readonly signedIn: boolean;
}
const channel = new BroadcastChannel('tablinum.sessions');

function announce(message: SessionMessage): void {
  channel.postMessage(message);
}

/** Resumes the session of the browser's cookie. Without one, the sign-in page is shown. */
export function resumeSession(application: string): Promise<void> {
  const running = resuming.get(application) ?? resume(application).finally(() => resuming.delete(application));
  resuming.set(application, running);
  return running;
}

async function resume(application: string): Promise<void> {
  try {
    const {
      session: storedSession,
      productTitle: title,
      accentColor: color,
      ...entrance
    } = await getPublicClient(application).auth.resume();
    productTitle.set(title);
    accentColor.set(color);
    const isSignedOutHere = storedSession === null || isSignedOut(application);
    if (storedSession && isSignedOutHere) await completeSignOut(application, storedSession.token);
    if (isSignedOutHere) return session.notResumed(application, { ...entrance, exists: true });
    const { token, user, persistent } = storedSession;
    session.signedIn(application, { token, user: Number(user['id']), persistent });
  } catch (error) {
    // The server is unreachable, so the session is unknown until it is back.
    if (error instanceof Failure && error.unreachable) {
      const stop = onReconnect(() => {
        stop();
        void resumeSession(application);
      });
      return;
    }
    const exists = !(error instanceof Failure && error.code === 'APPLICATION_UNKNOWN');
    session.notResumed(application, { needsSetup: false, sendsMail: true, exists });
  }
}

type NewSession = Pick<SignInResult, 'token'> & Partial<Pick<SignInResult, 'user'>>;

/** Starts a session. It is stored in the browser for the other tabs before pages are shown. */
export async function beginSession(
  application: string,
  { token, user }: NewSession,
  persistent: boolean,
): Promise<void> {
  setSignedOut(application, false);
  // Without the cookie the session is only valid in this tab.
  const isPersisted = await new Client({ application, token, retries: 1, maxRetryWait: 2 }).auth.keep(persistent).then(
    () => true,
    () => false,
  );
  session.signedIn(application, { token, user: user ? Number(user['id']) : null, persistent });
  if (isPersisted) announce({ application, signedIn: true });
}

/** Starts a session of an administrator of main in another application, unless the browser already has one there. */
export async function enterApplication(name: string, from: string): Promise<void> {
  if (session.state(name) === 'unknown') await resumeSession(name);
  if (session.state(name) !== 'none') return;
  await beginSession(name, await getClient(from).applications().enter(name), session.isPersistent(from));
}

/** Ends the session on the server. Every tab forgets it at once, even if the server is unreachable. */
export async function endSession(application: string): Promise<void> {
  const ended = getClient(application).auth.signOut();
  void forgetPushRenewal(application);
  setSignedOut(application, true);
  session.clear(application);
  announce({ application, signedIn: false });
  await ended.then(
    () => setSignedOut(application, false),
    () => {},
  );
}

/** Completes a sign-out that the server has not received; the session and its cookie are still valid there. */
async function completeSignOut(application: string, token: string): Promise<void> {
  await new Client({ application, token, retries: 1, maxRetryWait: 2 }).auth.signOut().then(
    () => setSignedOut(application, false),
    () => {},
  );
}

/** Remembers a sign-out until the server has ended the session, because only the server can remove its cookie. */
const signedOutKey = 'tablinum.signedOut.';

function isSignedOut(application: string): boolean {
  try {
    return localStorage.getItem(signedOutKey + application) !== null;
  } catch {
    return false;
  }
}

function setSignedOut(application: string, signedOut: boolean): void {
  try {
    if (signedOut) localStorage.setItem(signedOutKey + application, 'true');
    else localStorage.removeItem(signedOutKey + application);
  } catch {
    // Without storage only the open tabs know about it.
  }
}

// A tab without a session takes over the session of another tab. A sign-out in one tab applies to all tabs.
channel.onmessage = ({ data: { application, signedIn } }: MessageEvent<SessionMessage>) => {
  const state = session.state(application);
  if (!signedIn) session.clear(application);
  else if (state === 'none' || state === 'expired') void resumeSession(application);
};
