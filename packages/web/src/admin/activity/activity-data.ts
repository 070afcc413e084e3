/** The reply to `serverActivity:get`. Durations are milliseconds. */
export interface ServerActivity {
  readonly server: string;
  readonly startedAt: string;
  readonly minutes: readonly ActivityMinute[];
  readonly actions: readonly ActionActivity[];
  readonly slow: readonly SlowShape[];
  readonly now: Readonly<
    Record<'requestsInProgress' | 'connections' | 'realtimeConnections' | 'importsRunning' | 'memoryBytes', number>
  >;
  readonly sinceStart: Readonly<Record<JobCount, number>>;
  readonly storage: Readonly<Record<'databaseBytes' | 'logBytes' | 'freeBytes', number | null>>;
  readonly problems: readonly { readonly source: string; readonly severity: string; readonly message: string }[];
}

interface RequestCounts {
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
}

export interface ActivityMinute extends RequestCounts {
  readonly at: string;
  readonly p50: number | null;
  readonly p99: number | null;
}

export interface ActionActivity extends RequestCounts {
  readonly action: string;
  readonly average: number;
  readonly p99: number;
}

export interface SlowShape {
  readonly application: string | null;
  readonly action: string;
  readonly resource: string | null;
  readonly shape: string | null;
  readonly requests: number;
  readonly slowest: number;
  readonly lastAt: string;
}

export const jobCounts = [
  'importsEnded',
  'webhooksDelivered',
  'webhooksFailed',
  'mailReceived',
  'mailAccepted',
  'mailFailed',
  'statementsTimedOut',
] as const;
export type JobCount = (typeof jobCounts)[number];

/** `0.4 ms`, `12 ms`, `1.5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
}
