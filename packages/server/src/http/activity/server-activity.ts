/**
 * Reports what one server did in the last hour, for the administrators of `main`. Loaded with the first minute that
 * ends or the first request.
 */
import { hostname } from 'node:os';
import { processCounters } from '../../base/metrics.ts';
import type { MetricsSources } from '../metrics/metrics-page.ts';
import { StoreSizes } from '../metrics/store-sizes.ts';
import { listSlowShapes } from '../slow-requests.ts';
import { RequestHistory, untilNextMinute } from './request-history.ts';

/** Entries of a list in a reply. */
const most = 20;

/** Holds the statistics of the requests of the last hour. */
export class ServerActivity {
  readonly #sources: MetricsSources;
  readonly #startedAt: number;
  readonly #history: RequestHistory;
  readonly #sizes: StoreSizes;

  /**
   * @param startedAt when the server started, in milliseconds since 1970.
   * @param stopped ends the work of each minute.
   */
  constructor(sources: MetricsSources, startedAt: number, stopped: AbortSignal) {
    this.#sources = sources;
    this.#startedAt = startedAt;
    this.#history = new RequestHistory(sources.requests, startedAt);
    this.#sizes = new StoreSizes(sources.applications.main.database, sources.dataDir);
    this.#endMinuteLater(stopped);
  }

  /** The data of the reply to `serverActivity:get`. */
  async describe(): Promise<object> {
    const { readers, health, applications } = this.#sources;
    const now = Date.now();
    const { database, log, free } = await this.#sizes.read();
    return {
      server: `${hostname().slice(0, 60)}:${process.pid}`,
      startedAt: toIso(this.#startedAt),
      minutes: this.#history.listMinutes().map((each) => ({
        ...each,
        at: toIso(each.at),
        p50: roundDuration(each.p50),
        p99: roundDuration(each.p99),
      })),
      actions: this.#history.listActions(most).map((each) => ({
        ...each,
        average: roundDuration(each.average),
        p99: roundDuration(each.p99),
      })),
      slow: listSlowShapes(most, now).map((each) => ({ ...each, lastAt: toIso(each.lastAt) })),
      now: {
        requestsInProgress: this.#sources.requestsUnderWay(),
        connections: this.#sources.connections(),
        realtimeConnections: this.#sources.sockets(),
        writesQueued: processCounters.writesQueued,
        databaseConnectionsWaiting: processCounters.connectionsWaiting,
        readerThreads: readers?.running ?? 0,
        applicationsOpen: applications.openCount + 1,
        importsRunning: processCounters.importsRunning,
        memoryBytes: process.memoryUsage.rss(),
      },
      sinceStart: describeJobs(),
      storage: { databaseBytes: toCount(database), logBytes: toCount(log), freeBytes: toCount(free) },
      problems: health.problems,
    };
  }

  #endMinuteLater(stopped: AbortSignal): void {
    if (stopped.aborted) return;
    const timer = setTimeout(() => {
      this.#history.endMinute();
      this.#endMinuteLater(stopped);
    }, untilNextMinute(Date.now()));
    timer.unref();
    stopped.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }
}

/** The results of background work since the start. */
function describeJobs(): object {
  const { webhooks, mailRecipients, mailReceived, importsEnded, statementsTimedOut } = processCounters;
  return {
    importsEnded,
    webhooksDelivered: webhooks.delivered,
    webhooksFailed: webhooks.failed,
    mailReceived,
    mailAccepted: mailRecipients.accepted,
    mailFailed: mailRecipients.failed,
    statementsTimedOut,
  };
}

function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Milliseconds with one decimal. */
function roundDuration(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 10) / 10;
}

/** JSON has no other way to say that a size could not be read. */
function toCount(size: number): number | null {
  return Number.isNaN(size) ? null : size;
}
