import { ApiError } from '../protocol/api-error.ts';
import { isObject, parseJson } from '../protocol/json-text.ts';
import type { PresenceRequest } from '../realtime/connection-presence.ts';
import { presenceActivities } from '../realtime/presence.ts';
import type { SubscriptionRequest } from '../realtime/subscription.ts';

/** The messages of clients on a socket. */
export type ClientMessage =
  | {
      readonly type: 'authenticate';
      readonly token: string;
      readonly app: string | undefined;
      readonly role: string | undefined;
    }
  | { readonly type: 'subscribe'; readonly id: string; readonly subscription: SubscriptionRequest }
  | { readonly type: 'present'; readonly id: string; readonly presence: PresenceRequest }
  | { readonly type: 'unsubscribe'; readonly id: string };

/** A refused message, with its id if it has one. */
export class MessageRefused {
  readonly id: string | null;
  readonly error: ApiError;

  constructor(id: string | null, error: ApiError) {
    this.id = id;
    this.error = error;
  }
}

const maxIdLength = 100;
const members: Readonly<Record<string, readonly string[]>> = {
  authenticate: ['type', 'token', 'app', 'role'],
  subscribe: ['type', 'id', 'resource', 'filter', 'since', 'values'],
  present: ['type', 'id', 'resource', 'tk', 'activity'],
  unsubscribe: ['type', 'id'],
};

/** An error in a message: the properties of an error reply. */
export function toErrorMessage({ label, message, code, retryAfter }: ApiError): object {
  return { error: label, message, code, ...(retryAfter !== undefined && { retryAfter }) };
}

/** @throws MessageRefused for anything other than one of these messages. */
export function parseMessage(text: string): ClientMessage {
  const message = parseObject(text);
  const { type, id } = message;
  const validId = typeof id === 'string' && id !== '' && id.length <= maxIdLength ? id : null;
  const refuse = (why: string): never => {
    throw new MessageRefused(validId, new ApiError('BODY_INVALID', why));
  };
  const known = typeof type === 'string' && Object.hasOwn(members, type) ? members[type] : undefined;
  if (!known) return refuse('"type" must be authenticate, subscribe, present or unsubscribe.');
  const unknown = Object.keys(message).find((name) => !known.includes(name));
  if (unknown !== undefined)
    return refuse(`A message of the type ${type} has no property "${unknown.slice(0, 60)}". Remove it.`);
  if (type === 'authenticate') {
    const { token, app, role } = message;
    if (typeof token !== 'string') return refuse('"token" must be the token of a login or an API key.');
    if (!isOptionalText(app) || !isOptionalText(role)) return refuse('"app" and "role" must be names.');
    return { type, token, app, role };
  }
  if (validId === null) return refuse(`"id" must be a text of 1 to ${maxIdLength} characters.`);
  if (type === 'unsubscribe') return { type, id: validId };
  const { resource, filter, since, values = false } = message;
  if (typeof resource !== 'string' || resource === '') return refuse('"resource" must name a resource.');
  if (type === 'present') {
    const { tk: key, activity = 'viewing' } = message;
    const known = presenceActivities.find((each) => each === activity);
    if (!known) return refuse(`"activity" must be one of ${presenceActivities.join(', ')}.`);
    return { type, id: validId, presence: { resource, key, activity: known } };
  }
  if (!isOptionalText(since) && since !== null) return refuse('"since" must be a cursor.');
  if (typeof values !== 'boolean') return refuse('"values" must be true or false.');
  return { type: 'subscribe', id: validId, subscription: { resource, filter, since: since ?? null, values } };
}

function parseObject(text: string): Record<string, unknown> {
  const invalid = (): ApiError => new ApiError('BODY_INVALID', 'A message must be a JSON object with a "type".');
  try {
    const message = parseJson(text, invalid);
    if (isObject(message)) return message;
  } catch (error) {
    throw new MessageRefused(null, error instanceof ApiError ? error : invalid());
  }
  throw new MessageRefused(null, invalid());
}

function isOptionalText(input: unknown): input is string | undefined {
  return input === undefined || typeof input === 'string';
}
