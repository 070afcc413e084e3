/**
 * Shows push messages of one application while no page of its inbox is focused, and registers the subscription again when the
 * browser replaces it. Its scope is `/a/<application>/`. It intercepts no requests.
 */
const titles = {
  mention: 'You were mentioned in a note',
  assignment: 'A conversation was assigned to you',
  returned: 'A snoozed conversation has returned',
  followUp: 'Nobody has answered',
};

addEventListener('install', () => skipWaiting());
addEventListener('push', (event) => event.waitUntil(show(readMessage(event.data))));
addEventListener('pushsubscriptionchange', (event) => event.waitUntil(renew(event)));
addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data));
});

/** @returns an empty object for a message that is not understood: browsers expect a notification for every message. */
function readMessage(data) {
  try {
    return data.json() ?? {};
  } catch {
    return {};
  }
}

async function show({ kind, conversation, subject, from }) {
  if ((await findInboxes()).some(({ focused }) => focused)) return;
  const title = titles[kind] ?? (from || 'New mail');
  await registration.showNotification(title, {
    body: subject || 'No subject',
    // A later message about the same conversation replaces the first one.
    tag: `conversation-${Number(conversation)}`,
    renotify: true,
    data: { conversation: Number(conversation) || null },
  });
}

/** Opens the conversation in a page of the inbox, or in a new window. */
async function open({ conversation }) {
  const [page] = await findInboxes();
  if (!page) {
    await clients.openWindow(getInboxUrl() + (conversation === null ? '' : `?c=${conversation}`));
    return;
  }
  if (conversation !== null) page.postMessage({ open: conversation });
  await page.focus();
}

/**
 * Registers the subscription that replaces the former one, as the user who had subscribed this browser. If nobody or another user
 * is signed in now, nothing is registered; the page of the inbox does it after the next sign-in.
 */
async function renew({ newSubscription }) {
  const cache = await caches.open(`push ${registration.scope}`);
  const stored = await cache.match(registration.scope);
  if (!stored) return;
  const { user, endpoint: replaces, role, ...choice } = await stored.json();
  const headers = { 'x-app': getApplication() };
  const { session } = await post('auth:resume', {}, { ...headers, 'x-requested-with': 'tablinum' });
  if (session?.user.id !== user) return;
  Object.assign(headers, { authorization: `Bearer ${session.token}` }, role && { 'x-role': role });
  const subscription = newSubscription ?? (await subscribe(headers));
  const { endpoint, keys } = subscription.toJSON();
  await post('mailPushSubscriptions:subscribe', { endpoint, keys, ...choice, replaces }, headers);
  await cache.put(registration.scope, Response.json({ user, endpoint, role, ...choice }));
}

async function subscribe(headers) {
  const { publicKey } = await call('mailPushSubscriptions:key', { headers });
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
}

function post(action, body, headers) {
  return call(action, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function call(action, request) {
  const reply = await fetch(`/api/${action}`, request);
  if (!reply.ok) throw new Error(`${action}: ${reply.status}`);
  return (await reply.json()).data;
}

function getApplication() {
  return new URL(registration.scope).pathname.split('/')[2];
}

async function findInboxes() {
  const pages = await clients.matchAll({ type: 'window', includeUncontrolled: true });
  return pages.filter(({ url }) => url.split(/[?#]/)[0] === getInboxUrl());
}

function getInboxUrl() {
  return new URL('inbox', registration.scope).href;
}
