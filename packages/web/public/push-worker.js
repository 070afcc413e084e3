/**
 * Shows push messages of one application while no page of its inbox is focused. Its scope is `/a/<application>/`. It intercepts no
 * requests and stores nothing.
 */
const titles = {
  mention: 'You were mentioned in a note',
  assignment: 'A conversation was assigned to you',
  returned: 'A snoozed conversation has returned',
  followUp: 'Nobody has answered',
};

addEventListener('install', () => skipWaiting());
addEventListener('push', (event) => event.waitUntil(show(readMessage(event.data))));
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

async function findInboxes() {
  const pages = await clients.matchAll({ type: 'window', includeUncontrolled: true });
  return pages.filter(({ url }) => url.split(/[?#]/)[0] === getInboxUrl());
}

function getInboxUrl() {
  return new URL('inbox', registration.scope).href;
}
