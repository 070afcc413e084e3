/** Which writes a reader plans. The functions that plan them are loaded with the first one. */
import type { IncomingMessage } from 'node:http';
import type { Collection } from '../schema/registry.ts';

/** A write was executed, but its reply cannot be built. The request must not be handed over, because it would be executed again. */
export class ExecutedWriteFailed extends Error {}

/** With these headers, a write needs more than its own statement, or its body has to be decoded. */
const excludedHeaders = ['idempotency-key', 'if-match', 'transfer-encoding', 'content-encoding'] as const;
/** Longer bodies are not parsed here: the heap of a reader is limited. */
const maxPlannedBody = 16 * 1024;
const jsonType = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Whether a POST may be a write that is planned here: it has a credential, and a short body of JSON or none. */
export function isShortWrite({ headers }: IncomingMessage): boolean {
  if (headers.authorization === undefined || excludedHeaders.some((name) => headers[name] !== undefined)) return false;
  const length = Number(headers['content-length'] ?? '0');
  return length === 0 || (length <= maxPlannedBody && jsonType.test(headers['content-type'] ?? ''));
}

/**
 * Whether writes of one record are planned here. The values of others are hashed, logged, decided by rules, or depend on the time when
 * they are executed.
 */
export function canPlanWrite({ system, options, trash, fields }: Collection, action: string): boolean {
  if (system || options.logging || (action === 'destroy' && trash)) return false;
  return !fields.some(({ type, definition }) => type.secret || definition.autoNow || definition.autoNowAdd);
}
