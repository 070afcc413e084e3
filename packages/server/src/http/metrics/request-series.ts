/** The requests of all threads as series of Prometheus, from the arrays that count them. */
import { Counter, Histogram } from 'prom-client';
import { latencyBounds, type RequestMetrics } from '../../base/metrics.ts';

const noRegisters = { registers: [] };

/** Requests by action and class of status. */
export class RequestCounter extends Counter<'action' | 'status'> {
  readonly #requests: RequestMetrics;

  constructor(requests: RequestMetrics) {
    super({
      name: 'tablinum_requests_total',
      help: 'Requests below /api/ that were answered, by action and class of status.',
      labelNames: ['action', 'status'],
      ...noRegisters,
    });
    this.#requests = requests;
  }

  override get(): ReturnType<Counter<'action' | 'status'>['get']> {
    this.reset();
    for (const { action, statuses } of this.#requests.list())
      for (const [index, count] of statuses.entries())
        if (count > 0) this.inc({ action, status: `${index + 1}xx` }, count);
    return super.get();
  }
}

const name = 'tablinum_request_duration_seconds';
const help = 'Seconds from the arrival of a request to its reply, or to the first bytes of a stream.';

type HistogramValues = Awaited<ReturnType<Histogram<'action'>['get']>>;

/** Durations of requests by action. */
export class RequestHistogram extends Histogram<'action'> {
  readonly #requests: RequestMetrics;

  constructor(requests: RequestMetrics) {
    super({
      name,
      help,
      labelNames: ['action'],
      buckets: [...latencyBounds],
      ...noRegisters,
    });
    this.#requests = requests;
  }

  /** The registry takes this for the text format, and {@link get} for JSON. The types of the library do not name it. */
  async getForPromString(): Promise<HistogramValues> {
    const values: HistogramValues['values'] = [];
    for (const { action, buckets, seconds } of this.#requests.list()) {
      let total = 0;
      for (const [index, count] of buckets.entries()) {
        total += count;
        values.push({
          metricName: `${name}_bucket`,
          labels: { le: latencyBounds[index] ?? '+Inf', action },
          value: total,
          exemplar: null,
        } as HistogramValues['values'][number]);
      }
      values.push({ metricName: `${name}_sum`, labels: { action }, value: seconds });
      values.push({ metricName: `${name}_count`, labels: { action }, value: total });
    }
    return { name, help, type: 'histogram', aggregator: 'sum', values } as unknown as HistogramValues;
  }

  override get(): Promise<HistogramValues> {
    return this.getForPromString();
  }
}
