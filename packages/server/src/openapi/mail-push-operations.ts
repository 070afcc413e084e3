/** Web Push, in addition to the generated actions of subscriptions. */
import { jsonBody, jsonReply } from './operation.ts';
import { hasGrants, hasSession, type OperationDefinition } from './operation-definition.ts';
import * as schema from './schema-parts.ts';

const endpoint = { ...schema.string, description: 'The address of the subscription at its push service.' };
const mayCreate = hasGrants(['mailPushSubscriptions', 'create']);
const mayDestroy = hasGrants(['mailPushSubscriptions', 'destroy']);

/** The operations. */
export const mailPushOperations: readonly OperationDefinition[] = [
  {
    action: 'mailPushSubscriptions:key',
    method: 'get',
    summary: 'Get the public key for push subscriptions',
    description: 'The `applicationServerKey` of `pushManager.subscribe` (RFC 8292), in base64url.',
    may: mayCreate,
    success: jsonReply('The key.', schema.complete({ publicKey: schema.string })),
  },
  {
    action: 'mailPushSubscriptions:subscribe',
    summary: 'Subscribe a browser to push messages',
    description:
      'The body is the subscription that `pushManager.subscribe` returns, with a name of the device (`name`), and whether new mail is reported in addition to notifications (`newMail`). The subscription of a browser that is already subscribed is changed. If the browser has replaced its subscription, `replaces` names the former endpoint, which the new one replaces. A subscription ends when the user signs out.',
    may: (subject) => hasSession(subject) && mayCreate(subject),
    body: jsonBody(
      schema.object(
        {
          endpoint,
          keys: schema.object({ p256dh: schema.string, auth: schema.string }, ['p256dh', 'auth']),
          name: schema.string,
          newMail: schema.boolean,
          replaces: { ...schema.string, description: 'The former endpoint of this browser.' },
        },
        ['endpoint', 'keys'],
      ),
    ),
    success: jsonReply(
      'The subscription.',
      schema.complete({ id: schema.integer, name: schema.string, newMail: schema.boolean }),
    ),
  },
  {
    action: 'mailPushSubscriptions:unsubscribe',
    summary: 'End the push messages to a browser',
    may: (subject) => hasSession(subject) && mayDestroy(subject),
    body: jsonBody(schema.object({ endpoint }, ['endpoint'])),
    success: jsonReply('Whether it was subscribed.', schema.complete({ removed: schema.boolean })),
  },
];
