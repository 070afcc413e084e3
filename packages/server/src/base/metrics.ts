/** Metrics are counted in plain numbers and arrays, so that counting costs next to nothing. `/metrics` reads them. */

/**
 * What the parts of this process have done since it started, and what they are doing. Several servers in one process count together.
 */
export const processCounters = {
  /** Requests that were replied to. Those of reader threads are added from time to time. */
  requests: 0,
  /** SQLite: syncs of write-ahead logs, the seconds that they took, and the writes that they made durable. */
  syncs: 0,
  syncSeconds: 0,
  syncedWrites: 0,
  /** SQLite: writes that are running or waiting now. */
  writesQueued: 0,
  /** Statements that were aborted on the event loop and repeated in a thread. */
  statementsMoved: 0,
  /** Statements that were aborted because they took too long; their requests have failed. */
  statementsTimedOut: 0,
  /** PostgreSQL: connections that are open, and requests that wait for one, now. */
  connectionsOpen: 0,
  connectionsWaiting: 0,
  /** PostgreSQL: connections that were handed over from one application to another. */
  connectionHandOvers: 0,
  /** Attempts to send messages to webhooks, by their outcome. */
  webhooks: { delivered: 0, retried: 0, failed: 0 },
  /** Recipients of sent messages, by the outcome of the attempt. */
  mailRecipients: { accepted: 0, deferred: 0, failed: 0, unknown: 0 },
  /** Messages that were stored from mail servers. */
  mailReceived: 0,
  /** Imports in the background that run now, and those that have ended here. */
  importsRunning: 0,
  importsEnded: 0,
  /** Backups that ended here, by their outcome. */
  backups: { done: 0, failed: 0 },
};

/** Upper limits of the buckets of durations, in seconds. The last bucket has none. */
export const latencyBounds: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
/** 1xx to 5xx. */
export const statusClasses = 5;

const boundsInMilliseconds = latencyBounds.map((each) => each * 1000);
const bucketCount = latencyBounds.length + 1;
/** The action under which all requests without a listed action are counted. */
export const otherAction = 'other';

/** The requests of one action since the last {@link RequestMetrics.drain}. */
export interface ActionRequests {
  readonly action: string;
  /** Numbers of requests by class of status, beginning with 1xx. */
  readonly statuses: readonly number[];
  /** Numbers of requests whose duration is in the bucket and in none before it. */
  readonly buckets: readonly number[];
  readonly seconds: number;
}

/** The counts of a fixed list of actions, so that requests cannot make the list longer. */
export class RequestMetrics {
  readonly #names: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #statuses: Float64Array;
  readonly #buckets: Float64Array;
  readonly #milliseconds: Float64Array;
  #changed = false;

  /** @param names of the actions. */
  constructor(names: readonly string[]) {
    this.#names = [otherAction, ...new Set(names)];
    this.#indexes = new Map(this.#names.map((name, index) => [name, index]));
    this.#statuses = new Float64Array(this.#names.length * statusClasses);
    this.#buckets = new Float64Array(this.#names.length * bucketCount);
    this.#milliseconds = new Float64Array(this.#names.length);
  }

  /** The index of an action for {@link count}; 0 if its name is not in the list. */
  find(name: string): number {
    return this.#indexes.get(name) ?? 0;
  }

  getName(index: number): string {
    return this.#names[index] ?? otherAction;
  }

  /** Counts a request that has been answered. */
  count(index: number, status: number, milliseconds: number): void {
    processCounters.requests += 1;
    let bucket = 0;
    while (milliseconds > (boundsInMilliseconds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    addAt(this.#statuses, index * statusClasses + ((status / 100) | 0) - 1, 1);
    addAt(this.#buckets, index * bucketCount + bucket, 1);
    addAt(this.#milliseconds, index, milliseconds);
    this.#changed = true;
  }

  /** The actions that had requests. */
  list(): ActionRequests[] {
    return this.#names.flatMap((action, index) => {
      const statuses = [...this.#statuses.subarray(index * statusClasses, (index + 1) * statusClasses)];
      if (statuses.every((each) => each === 0)) return [];
      const buckets = [...this.#buckets.subarray(index * bucketCount, (index + 1) * bucketCount)];
      return [{ action, statuses, buckets, seconds: (this.#milliseconds[index] ?? 0) / 1000 }];
    });
  }

  /** Takes what was counted since the last time, for {@link add} in another thread. */
  drain(): ActionRequests[] {
    if (!this.#changed) return [];
    const counted = this.list();
    for (const array of [this.#statuses, this.#buckets, this.#milliseconds]) array.fill(0);
    this.#changed = false;
    return counted;
  }

  /** Adds what another thread has counted. */
  add(counted: readonly ActionRequests[]): void {
    for (const { action, statuses, buckets, seconds } of counted) {
      const index = this.find(action);
      for (const [each, count] of statuses.entries()) {
        processCounters.requests += count;
        addAt(this.#statuses, index * statusClasses + each, count);
      }
      for (const [each, count] of buckets.entries()) addAt(this.#buckets, index * bucketCount + each, count);
      addAt(this.#milliseconds, index, seconds * 1000);
      this.#changed = true;
    }
  }
}

function addAt(array: Float64Array, index: number, value: number): void {
  array[index] = (array[index] ?? 0) + value;
}
