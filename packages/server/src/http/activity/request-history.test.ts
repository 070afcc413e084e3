import { expect, test } from 'vitest';
import { RequestMetrics } from '../../base/metrics.ts';
import { estimateQuantile, RequestHistory, untilNextMinute } from './request-history.ts';

const begin = Date.UTC(2026, 0, 1, 12);

function openHistory(): { metrics: RequestMetrics; history: RequestHistory; clock: { now: number } } {
  const metrics = new RequestMetrics(['get', 'list']);
  const clock = { now: begin };
  return { metrics, clock, history: new RequestHistory(metrics, begin, () => clock.now) };
}

test('each minute counts its own requests, and the last minute is the current one', () => {
  const { metrics, history, clock } = openHistory();
  metrics.count(metrics.find('get'), 200, 3);
  metrics.count(metrics.find('get'), 404, 3);
  clock.now += 60_000;
  history.endMinute();
  metrics.count(metrics.find('list'), 503, 70);
  const [first, second] = history.listMinutes();
  expect(first).toMatchObject({ at: begin, requests: 2, refused: 1, failed: 0 });
  expect(second).toMatchObject({ at: begin + 60_000, requests: 1, refused: 0, failed: 1 });
  expect(second!.p99).toBeGreaterThan(50);
  expect(second!.p99).toBeLessThanOrEqual(100);
});

test('one hour is kept, and older requests are not counted', () => {
  const { metrics, history, clock } = openHistory();
  for (let minute = 0; minute < 100; minute += 1) {
    metrics.count(metrics.find('get'), 200, 1);
    clock.now += 60_000;
    history.endMinute();
  }
  const minutes = history.listMinutes();
  expect(minutes.length).toBe(61);
  expect(minutes[0]!.at).toBe(begin + 40 * 60_000);
  expect(history.listActions(10)).toMatchObject([{ action: 'get', requests: 60, refused: 0, failed: 0 }]);
});

test('a server without requests has empty minutes and no actions', () => {
  const { history } = openHistory();
  expect(history.listMinutes()).toEqual([{ at: begin, requests: 0, refused: 0, failed: 0, p50: null, p99: null }]);
  expect(history.listActions(10)).toEqual([]);
});

test('quantiles lie in the bucket of their value', () => {
  const buckets = Array.from({ length: 15 }, () => 0);
  expect(estimateQuantile(buckets, 0.5)).toBeNull();
  buckets[3] = 100; // 2.5 to 5 ms
  expect(estimateQuantile(buckets, 0.5)).toBeCloseTo(3.75);
  buckets[14] = 1; // above ten seconds
  expect(estimateQuantile(buckets, 0.999)).toBe(10_000);
});

test('a minute ends on the full minute', () => {
  expect(untilNextMinute(begin)).toBe(60_000);
  expect(untilNextMinute(begin + 59_999)).toBe(1);
});
