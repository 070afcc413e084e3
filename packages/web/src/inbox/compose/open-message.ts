/**
 * The message that somebody writes, one for each application. It lies outside of the pages: going elsewhere, or a login that
 * ended, takes nothing of it away. It is shown to nobody but its writer.
 */
import { useSyncExternalStore } from 'react';
import { onReconnect } from '../../data/reachability.ts';
import { session as login } from '../../data/session.ts';
import type { DraftOrigin, DraftSession } from './draft-session.ts';

export interface OpenMessage {
  /** Tells it from those before. */
  readonly id: number;
  readonly beginning: DraftOrigin;
  readonly session: DraftSession;
  /** Id of the user; null for a key. */
  readonly writer: number | null;
}

const messages = new Map<string, OpenMessage>();
const listeners = new Set<() => void>();

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function setOpenMessage(application: string, message: OpenMessage | null): void {
  if (message) messages.set(application, message);
  else messages.delete(application);
  for (const listener of listeners) listener();
}

export function getOpenMessage(application: string): OpenMessage | null {
  return messages.get(application) ?? null;
}

export function useOpenMessage(application: string): OpenMessage | null {
  return useSyncExternalStore(subscribe, () => getOpenMessage(application));
}

// It rests until its writer is seen again: somebody else may sign in meanwhile.
login.watch((application) => messages.get(application)?.session.suspend());

/** Closing the tab asks first while something stands here alone; a tab that goes out of sight saves it. */
function saveAll(): void {
  for (const { session } of messages.values()) void session.save();
}
addEventListener('beforeunload', (event) => {
  if ([...messages.values()].every(({ session }) => !session.hasUnsavedChanges)) return;
  saveAll();
  event.preventDefault();
});
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') saveAll();
});
addEventListener('online', saveAll);
onReconnect(saveAll);
