/**
 * What the service worker needs to register a subscription that the browser replaces (`public/push-worker.js`). It is stored in
 * Cache Storage, because service workers cannot read `localStorage`. It contains no secret and ends with the session.
 */
export interface PushRenewal {
  /** The worker only registers a subscription for this user. */
  readonly user: number;
  /** The role in which the browser was subscribed; null: the default one of the user. */
  readonly role: string | null;
  readonly endpoint: string;
  readonly name: string;
  readonly newMail: boolean;
}

/** The scope of the service worker of an application. */
export function getPushScope(application: string): string {
  return `/a/${application}/`;
}

const getUrl = (application: string): string => new URL(getPushScope(application), location.href).href;

export async function storePushRenewal(application: string, renewal: PushRenewal): Promise<void> {
  const url = getUrl(application);
  await (await caches.open(`push ${url}`)).put(url, Response.json(renewal));
}

/** The worker registers nothing any more. Browsers without secure context have no Cache Storage. */
export async function forgetPushRenewal(application: string): Promise<void> {
  if ('caches' in globalThis) await caches.delete(`push ${getUrl(application)}`).catch(() => false);
}
