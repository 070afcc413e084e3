/** Writes the metrics in the text format of Prometheus. Loaded with the first scrape. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Applications } from '../../applications/applications.ts';
import type { RequestMetrics } from '../../base/metrics.ts';
import { processCounters as counters } from '../../base/metrics.ts';
import type { ServerHealth } from '../../base/server-health.ts';
import type { ReaderCount } from '../health.ts';
import { listBackupGauges } from './backup-series.ts';
import { RequestCounter, RequestHistogram } from './request-series.ts';
import { StoreSizes } from './store-sizes.ts';

/** What the metrics are read from. */
export interface MetricsSources {
  readonly requests: RequestMetrics;
  readonly requestsUnderWay: () => number;
  /** Connections of the main thread and of the reader threads. */
  readonly connections: () => number;
  /** Open WebSockets and event streams. */
  readonly sockets: () => number;
  readonly readers: ReaderCount | null;
  readonly applications: Applications;
  readonly health: ServerHealth;
  readonly dataDir: string;
}

/** The series of a metric: how the value is read, and its labels. */
type Series = readonly (readonly [value: () => number | Promise<number>, labels?: Readonly<Record<string, string>>])[];
type Family = readonly [name: string, help: string, series: Series];

/** The metrics of a server. */
export class MetricsPage {
  readonly #registry = new Registry();

  constructor(sources: MetricsSources) {
    const registry = this.#registry;
    collectDefaultMetrics({ register: registry });
    registry.registerMetric(new RequestCounter(sources.requests));
    registry.registerMetric(new RequestHistogram(sources.requests));
    for (const family of listCounters(sources)) addCounter(registry, family);
    for (const family of listGauges(sources)) addGauge(registry, family);
  }

  /** The current values. */
  async write(): Promise<{ readonly contentType: string; readonly text: string }> {
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}

function listCounters({ readers }: MetricsSources): Family[] {
  const { webhooks, mailRecipients } = counters;
  return [
    ['tablinum_syncs_total', 'Syncs of write-ahead logs (SQLite).', [[() => counters.syncs]]],
    ['tablinum_sync_seconds_total', 'Seconds that syncs took (SQLite).', [[() => counters.syncSeconds]]],
    ['tablinum_synced_writes_total', 'Writes that syncs made durable (SQLite).', [[() => counters.syncedWrites]]],
    [
      'tablinum_statements_aborted_total',
      'Statements that were aborted: moved to a thread (SQLite), or failed after their time limit.',
      [
        [() => counters.statementsMoved, { outcome: 'moved' }],
        [() => counters.statementsTimedOut, { outcome: 'failed' }],
      ],
    ],
    [
      'tablinum_reader_requests_total',
      'Requests that reader threads have received (SQLite).',
      [
        [() => readers?.answered ?? 0, { outcome: 'answered' }],
        [() => readers?.handedOver ?? 0, { outcome: 'handed_over' }],
      ],
    ],
    [
      'tablinum_webhook_attempts_total',
      'Attempts to send messages to webhooks.',
      [
        [() => webhooks.delivered, { outcome: 'delivered' }],
        [() => webhooks.retried, { outcome: 'retried' }],
        [() => webhooks.failed, { outcome: 'failed' }],
      ],
    ],
    [
      'tablinum_mail_recipients_total',
      'Recipients of sent messages, by the outcome of the attempt.',
      (['accepted', 'deferred', 'failed', 'unknown'] as const).map((outcome) => [
        () => mailRecipients[outcome],
        { outcome },
      ]),
    ],
    ['tablinum_mail_received_total', 'Messages stored from mail servers.', [[() => counters.mailReceived]]],
    [
      'tablinum_backups_total',
      'Backups that this server has made.',
      [
        [() => counters.backups.done, { outcome: 'done' }],
        [() => counters.backups.failed, { outcome: 'failed' }],
      ],
    ],
    [
      'tablinum_database_connection_hand_overs_total',
      'Connections to PostgreSQL that were handed over from one application to another.',
      [[() => counters.connectionHandOvers]],
    ],
    ['tablinum_imports_ended_total', 'Imports in the background that have ended.', [[() => counters.importsEnded]]],
  ];
}

function listGauges(sources: MetricsSources): Family[] {
  const { readers, health, applications, dataDir } = sources;
  const sizes = new StoreSizes(applications.main.database, dataDir);
  return [
    ['tablinum_requests_in_progress', 'Requests of the main thread without a reply.', [[sources.requestsUnderWay]]],
    ['tablinum_connections', 'Open HTTP connections.', [[sources.connections]]],
    ['tablinum_realtime_connections', 'Open WebSockets and event streams.', [[sources.sockets]]],
    ['tablinum_applications_open', 'Open applications, with main.', [[() => applications.openCount + 1]]],
    ['tablinum_writes_queued', 'Writes that run or wait (SQLite).', [[() => counters.writesQueued]]],
    [
      'tablinum_database_connections',
      'Connections to PostgreSQL, and requests that wait for one.',
      [
        [() => counters.connectionsOpen, { state: 'open' }],
        [() => counters.connectionsWaiting, { state: 'waiting' }],
      ],
    ],
    [
      'tablinum_reader_threads',
      'Threads that answer reads (SQLite).',
      [
        [() => readers?.configured ?? 0, { state: 'configured' }],
        [() => readers?.running ?? 0, { state: 'running' }],
      ],
    ],
    ['tablinum_imports_running', 'Imports in the background that run.', [[() => counters.importsRunning]]],
    [
      'tablinum_problems',
      'Problems that /ready reports.',
      [
        [() => health.problems.filter(({ severity }) => severity === 'warning').length, { severity: 'warning' }],
        [() => health.problems.filter(({ severity }) => severity !== 'warning').length, { severity: 'failing' }],
      ],
    ],
    ...listBackupGauges(applications.main.database),
    ...sizes.families,
  ];
}

function addCounter(registry: Registry, [name, help, series]: Family): void {
  new Counter({
    name,
    help,
    labelNames: Object.keys(series[0]?.[1] ?? {}),
    registers: [registry],
    async collect(): Promise<void> {
      this.reset();
      for (const [read, labels = {}] of series) this.inc(labels, await read());
    },
  });
}

function addGauge(registry: Registry, [name, help, series]: Family): void {
  new Gauge({
    name,
    help,
    labelNames: Object.keys(series[0]?.[1] ?? {}),
    registers: [registry],
    async collect(): Promise<void> {
      for (const [read, labels = {}] of series) this.set(labels, await read());
    },
  });
}
