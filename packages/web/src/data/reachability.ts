/** Whether the server answers. While it does not, it is probed until it does; then what failed is sent again. */
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

/** Asks the server itself: a connection that broke says nothing of whether it still runs. */
export async function probe(): Promise<void> {
  clearTimeout(timer);
  const isReached = await fetch('/api/health', { cache: 'no-store' }).then(
    ({ status }) => status < 500,
    () => false,
  );
  setUnreachable(!isReached);
  if (unreachable.state) timer = setTimeout(() => void probe(), probeInterval);
}

/** Called with what each request tells. */
export function reportReached(isReached: boolean): void {
  setUnreachable(!isReached);
}

/** Calls the listener whenever the server can be reached again. @returns what ends it. */
export function onReconnect(listener: () => void): () => void {
  reconnectListeners.add(listener);
  return () => void reconnectListeners.delete(listener);
}

export function useServerUnreachable(): boolean {
  return useStore(unreachable);
}
