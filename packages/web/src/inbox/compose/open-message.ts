/**
 * The message that is being written, one for each application. It is stored outside of the pages, so that a navigation
 * or an expired login does not lose it. Only its author sees it.
 */
import { onReconnect } from '../../data/reachability.ts';
import { session as login } from '../../data/session.ts';
import { useStoreValue, ValueStore } from '../../ui/store.ts';
import type { DraftSession } from './draft-session.ts';
import type { DraftOrigin } from './draft-state.ts';

export interface OpenMessage {
  /** Distinguishes this message from earlier ones. */
  readonly id: number;
  readonly beginning: DraftOrigin;
  readonly session: DraftSession;
  /** The id of the user; null for an API key. */
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

// The session is suspended until its author signs in again, because somebody else may sign in meanwhile.
login.watch((application) => messages.state.get(application)?.session.suspend());

/** Closing the tab with unsaved changes asks for a confirmation. Drafts are saved when the tab becomes hidden. */
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
