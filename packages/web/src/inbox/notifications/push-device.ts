/** The push messages of this browser: whether it can show them, and its subscription. */
import type { Client } from '@tablinum/client';
import { forgetPushRenewal, getPushScope, storePushRenewal } from '../../data/push-renewal.ts';
import { session } from '../../data/session.ts';
import { describeDevice } from './device-name.ts';

/** What the browser allows. */
export type PushSupport = 'available' | 'blocked' | 'missing';

/** What the user has chosen for this browser. */
export interface PushChoice {
  /** The user who subscribed it: another one who signs in here gets nothing. */
  readonly user: number;
  readonly newMail: boolean;
}

/** The service worker that shows push messages. */
export const pushWorkerUrl = '/push-worker.js';
const choiceKey = (application: string): string => `push:${application}`;

/** Service workers need a secure context; some browsers have no push messages. */
export function getPushSupport(): PushSupport {
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window)) return 'missing';
  return Notification.permission === 'denied' ? 'blocked' : 'available';
}

/**
 * The choice for this browser; null: it is not subscribed, or another user has subscribed it. The browser may have ended the
 * subscription meanwhile.
 */
export function readPushChoice(application: string, user: number): PushChoice | null {
  if (getPushSupport() !== 'available' || Notification.permission !== 'granted') return null;
  const choice = readStoredChoice(application);
  return choice?.user === user ? choice : null;
}

function readStoredChoice(application: string): PushChoice | null {
  try {
    return JSON.parse(localStorage.getItem(choiceKey(application)) ?? 'null') as PushChoice | null;
  } catch {
    return null;
  }
}

async function findSubscription(application: string): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration(getPushScope(application));
  return registration ? registration.pushManager.getSubscription() : null;
}

/**
 * Subscribes this browser, or stores its subscription again: it ends on the server with each sign-out.
 *
 * @returns false if the user does not allow notifications.
 */
export async function subscribeDevice(client: Client, application: string, choice: PushChoice): Promise<boolean> {
  if ((await Notification.requestPermission()) !== 'granted') return false;
  await navigator.serviceWorker.register(pushWorkerUrl, { scope: getPushScope(application) });
  const { pushManager } = await navigator.serviceWorker.ready;
  const { publicKey } = await client.mailPushSubscriptions.key();
  const subscription = await subscribe(pushManager, publicKey);
  const { endpoint = '', keys } = subscription.toJSON();
  const device = { name: describeDevice(navigator.userAgent), newMail: choice.newMail };
  await client.mailPushSubscriptions.subscribe({
    endpoint,
    keys: { p256dh: keys?.['p256dh'] ?? '', auth: keys?.['auth'] ?? '' },
    ...device,
  });
  localStorage.setItem(choiceKey(application), JSON.stringify(choice));
  await storePushRenewal(application, { user: choice.user, role: session.role(application), endpoint, ...device });
  return true;
}

/** The server may have another key than the one that the browser has subscribed with. */
async function subscribe(pushManager: PushManager, applicationServerKey: string): Promise<PushSubscription> {
  const options = { userVisibleOnly: true, applicationServerKey };
  try {
    return await pushManager.subscribe(options);
  } catch (error) {
    const former = await pushManager.getSubscription();
    if (!former) throw error;
    await former.unsubscribe();
    return pushManager.subscribe(options);
  }
}

/** Ends the push messages to this browser. */
export async function unsubscribeDevice(client: Client, application: string): Promise<void> {
  localStorage.removeItem(choiceKey(application));
  await forgetPushRenewal(application);
  const subscription = await findSubscription(application);
  if (!subscription) return;
  await client.mailPushSubscriptions.unsubscribe(subscription.endpoint);
  await subscription.unsubscribe();
}
