/**
 * The message that somebody writes, one for each application. It lies outside of the pages: going elsewhere, or a login that
 * ended, takes nothing of it away. It is shown to nobody but its writer.
 */
import { onReconnect } from '../../data/reachability.ts';
import { session as login } from '../../data/session.ts';
import { useStoreValue, ValueStore } from '../../ui/store.ts';
import type { DraftOrigin, DraftSession } from './draft-session.ts';

export interface OpenMessage {
  /** Tells it from those before. */
  readonly id: number;
  readonly beginning: DraftOrigin;
  readonly session: DraftSession;
  /** Id of the user; null for a key. */
  readonly writer: number | null;
}

/** By application. */
const messages = new ValueStore<ReadonlyMap<string, OpenMessage>>(new Map());

export function setOpenMessage(application: string, message: OpenMessage | null): void {
  const next = new Map(messages.state);
  if (message) next.set(application, message);
  else next.delete(application);
  messages.set(next);
}

export function getOpenMessage(application: string): OpenMessage | null {
  return messages.state.get(application) ?? null;
}

export function useOpenMessage(application: string): OpenMessage | null {
  return useStoreValue(messages, (byApplication) => byApplication.get(application) ?? null);
}

// It rests until its writer is seen again: somebody else may sign in meanwhile.
login.watch((application) => messages.state.get(application)?.session.suspend());

/** Closing the tab asks first while something stands here alone; a tab that goes out of sight saves it. */
function saveAll(): void {
  for (const { session } of messages.state.values()) void session.save();
}
addEventListener('beforeunload', (event) => {
  if ([...messages.state.values()].every(({ session }) => !session.hasUnsavedChanges)) return;
  saveAll();
  event.preventDefault();
});
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') saveAll();
});
addEventListener('online', saveAll);
onReconnect(saveAll);
