/** Whether the server is reachable. While it is not, it is probed; after a reconnect, failed requests are repeated. */
import { useStore, ValueStore } from '../ui/store.ts';

const probeInterval = 2000;
const unreachable = new ValueStore(false);
let timer: ReturnType<typeof setTimeout> | undefined;
const reconnectListeners = new Set<() => void>();

function setUnreachable(next: boolean): void {
  if (unreachable.state === next) return;
  clearTimeout(timer);
  if (next) timer = setTimeout(() => void probe(), probeInterval);
  unreachable.set(next);
  if (!next) for (const listener of reconnectListeners) listener();
}

/** Sends a health request to the server, because a broken connection does not mean that the server is down. */
export async function probe(): Promise<void> {
  clearTimeout(timer);
  const isReached = await fetch('/api/health', { cache: 'no-store' }).then(
    ({ status }) => status < 500,
    () => false,
  );
  setUnreachable(!isReached);
  if (unreachable.state) timer = setTimeout(() => void probe(), probeInterval);
}

/** Called after every request with whether the server was reached. */
export function reportReached(isReached: boolean): void {
  setUnreachable(!isReached);
}

/** Calls the listener whenever the server is reachable again. @returns a function that removes the listener. */
export function onReconnect(listener: () => void): () => void {
  reconnectListeners.add(listener);
  return () => void reconnectListeners.delete(listener);
}

export function useServerUnreachable(): boolean {
  return useStore(unreachable);
}
