/** Whether the server answers. While it does not, it is probed until it does; then what failed is sent again. */
import { useSyncExternalStore } from 'react';

const probeEvery = 2000;
let away = false;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const returned = new Set<() => void>();

function become(next: boolean): void {
  if (away === next) return;
  away = next;
  clearTimeout(timer);
  if (away) timer = setTimeout(() => void probe(), probeEvery);
  for (const listener of listeners) listener();
  if (!away) for (const listener of returned) listener();
}

/** Asks the server itself: a connection that broke says nothing of whether it still runs. */
export async function probe(): Promise<void> {
  clearTimeout(timer);
  const reached = await fetch('/api/health', { cache: 'no-store' }).then(
    ({ status }) => status < 500,
    () => false,
  );
  become(!reached);
  if (away) timer = setTimeout(() => void probe(), probeEvery);
}

/** Called with what each request tells. */
export function noteReached(reached: boolean): void {
  become(!reached);
}

/** Calls the listener whenever the server can be reached again. @returns what ends it. */
export function onReturn(listener: () => void): () => void {
  returned.add(listener);
  return () => void returned.delete(listener);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function useServerAway(): boolean {
  return useSyncExternalStore(subscribe, () => away);
}
