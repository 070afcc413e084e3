import type { ApiError } from '../protocol/api-error.ts';
import type { Application } from './application.ts';

/** An application in use. Until it is released it stays open. */
export interface Lease {
  readonly application: Application;
  /** Why the named application cannot be used. It is sent after the caller is authenticated; `application` is then `main`. */
  readonly error: ApiError | null;
  /** Another lease of the same application, before this one is released. */
  duplicate(): Lease;
  release(): void;
}

/** An open application, and who uses it. */
export interface OpenSlot {
  readonly application: Application;
  readonly store: string;
  users: number;
  lastUsed: number;
  /** When housekeeping is due, in milliseconds since the epoch; null: never. */
  due: number | null;
  /** Whether it had webhooks when housekeeping was scheduled. */
  hadWebhooks: boolean;
  /** Called when the last lease of a slot that is to be closed is released. */
  onUnused: (() => void) | null;
}

/** A lease of an application that always stays open. */
export function createPermanentLease(application: Application, error: ApiError | null): Lease {
  const lease: Lease = { application, error, duplicate: () => lease, release: () => {} };
  return lease;
}

/** Another lease of an open application. */
export function acquireLease(slot: OpenSlot): Lease {
  slot.users += 1;
  let isHeld = true;
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    slot.users -= 1;
    slot.lastUsed = performance.now();
    if (slot.users === 0) slot.onUnused?.();
  };
  return { application: slot.application, error: null, duplicate: () => acquireLease(slot), release };
}

/** Resolves when no lease is left, or after the timeout. */
export async function waitUntilUnused(slot: OpenSlot, timeout: number): Promise<void> {
  if (slot.users === 0) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeout);
    slot.onUnused = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}
