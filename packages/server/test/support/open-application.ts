import type { Application } from '../../src/applications/application.ts';
import type { RunningServer } from '../../src/server.ts';

/** An application that a server has open now; null if it does not. */
export function findOpenApplication({ applications }: RunningServer, name: string): Application | null {
  const lease = applications.leaseOpen(name);
  lease?.release();
  return lease?.application ?? null;
}
