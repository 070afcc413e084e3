/**
 * Statistics of the requests of the last hour, for each minute: how many there were, how many failed, and how long they
 * took.
 */
import { type ActionRequests, latencyBounds, type RequestMetrics } from '../../base/metrics.ts';

/** The requests of one minute, of all actions together. */
export interface MinuteOfRequests {
  /** Its beginning, in milliseconds since 1970. */
  readonly at: number;
  readonly requests: number;
  /** Replies with a status of 400 to 499, and of 500 and more. */
  readonly refused: number;
  readonly failed: number;
  /** Milliseconds, estimated from the buckets of the histogram; null without requests. */
  readonly p50: number | null;
  readonly p99: number | null;
}

/** The requests of one action in the last hour. */
export interface ActionSummary {
  readonly action: string;
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  /** Milliseconds. */
  readonly average: number;
  readonly p99: number;
}

const minuteMilliseconds = 60_000;
const keptMinutes = 60;
/** In seconds. Longer durations count as this one. */
const longest = latencyBounds.at(-1) ?? 0;

/** A reading of the counters, which only grow. */
interface Reading {
  readonly at: number;
  readonly counts: ReadonlyMap<string, ActionRequests>;
}

/** The differences of two readings. */
type Difference = readonly ActionRequests[];

/** Reads the counters at the end of each minute and keeps the readings of an hour: about 60 × 100 small arrays. */
export class RequestHistory {
  readonly #metrics: RequestMetrics;
  readonly #now: () => number;
  /** The oldest first; the first one is from before the first minute. */
  readonly #readings: Reading[];

  /** @param startedAt when the counters were 0. */
  constructor(metrics: RequestMetrics, startedAt: number, now: () => number = Date.now) {
    this.#metrics = metrics;
    this.#now = now;
    this.#readings = [{ at: startedAt, counts: new Map() }];
  }

  /** Ends a minute. */
  endMinute(): void {
    this.#readings.push(this.#read());
    if (this.#readings.length > keptMinutes + 1) this.#readings.shift();
  }

  /** The minutes, the oldest first; the last one is not over yet. */
  listMinutes(): MinuteOfRequests[] {
    const ends = [...this.#readings.slice(1), this.#read()];
    return this.#readings.map((begin, index) => summarizeMinute(begin.at, subtract(ends[index] ?? begin, begin)));
  }

  /** The actions with the largest total duration, in this order. @param most the maximum number. */
  listActions(most: number): ActionSummary[] {
    const last = this.#read();
    return subtract(last, this.#readings[0] ?? last)
      .toSorted((one, other) => other.seconds - one.seconds)
      .slice(0, most)
      .map((each) => ({
        action: each.action,
        ...countStatuses([each]),
        average: (each.seconds * 1000) / Math.max(1, sum(each.buckets)),
        p99: estimateQuantile(each.buckets, 0.99) ?? 0,
      }));
  }

  #read(): Reading {
    return { at: this.#now(), counts: new Map(this.#metrics.list().map((each) => [each.action, each])) };
  }
}

/** Milliseconds until the next full minute. */
export function untilNextMinute(now: number): number {
  return minuteMilliseconds - (now % minuteMilliseconds);
}

function subtract(later: Reading, earlier: Reading): Difference {
  return [...later.counts.values()].flatMap((each) => {
    const before = earlier.counts.get(each.action);
    if (!before) return [each];
    const minus = (values: readonly number[], others: readonly number[]): number[] =>
      values.map((value, index) => value - (others[index] ?? 0));
    const statuses = minus(each.statuses, before.statuses);
    if (sum(statuses) === 0) return [];
    const { action, buckets, seconds } = each;
    return [{ action, statuses, buckets: minus(buckets, before.buckets), seconds: seconds - before.seconds }];
  });
}

function summarizeMinute(at: number, difference: Difference): MinuteOfRequests {
  const buckets = latencyBounds.concat(0).map((_, index) => sum(difference.map((each) => each.buckets[index] ?? 0)));
  return {
    at,
    ...countStatuses(difference),
    p50: estimateQuantile(buckets, 0.5),
    p99: estimateQuantile(buckets, 0.99),
  };
}

function countStatuses(difference: Difference): Pick<MinuteOfRequests, 'requests' | 'refused' | 'failed'> {
  const of = (index: number): number => sum(difference.map(({ statuses }) => statuses[index] ?? 0));
  return { requests: sum(difference.flatMap(({ statuses }) => statuses)), refused: of(3), failed: of(4) };
}

/**
 * Estimates a quantile as Prometheus does: values are taken to be spread evenly over their bucket. What is above the last bound counts as
 * the last bound.
 *
 * @returns milliseconds; null without values.
 */
export function estimateQuantile(buckets: readonly number[], share: number): number | null {
  const wanted = sum(buckets) * share;
  if (wanted === 0) return null;
  let before = 0;
  for (const [index, count] of buckets.entries()) {
    const [lower, upper] = [latencyBounds[index - 1] ?? 0, latencyBounds[index] ?? longest];
    if (before + count >= wanted && count > 0) return 1000 * (lower + ((upper - lower) * (wanted - before)) / count);
    before += count;
  }
  return 1000 * longest;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
