/**
 * Messages whose sending waits for the connection. They are sent in their order when the server is reachable again,
 * each once: the session repeats the same request with the same idempotency key. They are lost when the page is closed,
 * so the page asks for a confirmation first. What was saved until then remains as a draft.
 */
import { onReconnect } from '../../data/reachability.ts';
import { session as login } from '../../data/session.ts';
import { useStoreValue, ValueStore } from '../../ui/store.ts';
import type { OpenMessage } from './open-message.ts';

export interface OutgoingMessage {
  readonly application: string;
  readonly message: OpenMessage;
  /** ISO 8601; null: as soon as possible. */
  readonly sendAt: string | null;
  /** Called when it was sent. */
  readonly sent: () => void;
  /** Called when the server has refused it, or it was changed elsewhere (null). It stays a draft. */
  readonly refused: (error: Error | null) => void;
}

const waiting = new ValueStore<readonly OutgoingMessage[]>([]);
let isSending = false;

export function queueMessage(outgoing: OutgoingMessage): void {
  waiting.set([...waiting.state, outgoing]);
}

/** How many messages of a user wait. */
export function useWaitingCount(application: string, writer: number | null): number {
  return useStoreValue(
    waiting,
    (all) => all.filter((each) => each.application === application && each.message.writer === writer).length,
  );
}

/** Sends what waits. A message whose server is still unreachable keeps waiting. */
export async function sendWaiting(): Promise<void> {
  if (isSending) return;
  isSending = true;
  try {
    for (const outgoing of waiting.state) if (!(await trySending(outgoing))) break;
  } finally {
    isSending = false;
  }
}

/** @returns whether the next one can be tried. */
async function trySending(outgoing: OutgoingMessage): Promise<boolean> {
  const { session } = outgoing.message;
  // Another user may have signed in; the message waits for its author.
  if (session.isSuspended) return true;
  const id = await session.send(outgoing.sendAt);
  const { error, conflict } = session.snapshot();
  if (id === null && conflict === null && (error === null || session.isUnreachable)) return false;
  waiting.set(waiting.state.filter((each) => each !== outgoing));
  if (id === null) outgoing.refused(conflict === null ? error : null);
  else outgoing.sent();
  return true;
}

/** Continues the messages of a user who has signed in again. */
export function resumeWaiting(application: string, writer: number | null): void {
  const own = waiting.state.filter((each) => each.application === application && each.message.writer === writer);
  for (const { message } of own) message.session.resume();
  if (own.length > 0) void sendWaiting();
}

login.watch((application) => {
  for (const each of waiting.state) if (each.application === application) each.message.session.suspend();
});
onReconnect(() => void sendWaiting());
addEventListener('online', () => void sendWaiting());
addEventListener('beforeunload', (event) => {
  if (waiting.state.length > 0) event.preventDefault();
});
