import { Worker } from 'node:worker_threads';
import { DatabaseFault, type Row } from '../database.ts';
import { noteVisitedRows } from '../visited-rows.ts';
import type { WorkerReply, WorkerTask } from './sqlite-worker.ts';

interface Pending {
  readonly task: WorkerTask;
  readonly deadline: number;
  resolve(rows: Row[][]): void;
  reject(error: unknown): void;
}

const graceMilliseconds = 1000;
/** After this time without a task, a thread ends. It holds up to 30 MB, and starts in 20 ms. */
const defaultIdleMilliseconds = 10_000;
/** A thread has few young objects: rows are copied to the thread that requested them. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/** A pool of worker threads, each with its own connection. Threads are started when they are needed, and end when they are idle. */
export class WorkerThreads {
  readonly #path: string;
  readonly #readOnly: boolean;
  readonly #foreignKeys: boolean;
  readonly #size: number;
  readonly #idleMilliseconds: number;
  /** Threads without a task, the one that was used last at the end, each with the timer that ends it. */
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #all = new Set<Worker>();
  readonly #queue: Pending[] = [];
  #closed = false;

  constructor(
    path: string,
    options: { readOnly: boolean; size: number; foreignKeys?: boolean; idleMilliseconds?: number },
  ) {
    this.#path = path;
    this.#readOnly = options.readOnly;
    this.#foreignKeys = options.foreignKeys ?? true;
    this.#size = options.size;
    this.#idleMilliseconds = options.idleMilliseconds ?? defaultIdleMilliseconds;
  }

  /** Runs a task. @param milliseconds until it is aborted, including the time in the queue. */
  run(task: WorkerTask, milliseconds = Number.POSITIVE_INFINITY): Promise<Row[][]> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new DatabaseFault('other', 'the database is closed'));
      this.#queue.push({ task, deadline: performance.now() + milliseconds, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#idle.values()) clearTimeout(timer);
    for (const pending of this.#queue.splice(0)) pending.reject(new DatabaseFault('other', 'the database is closed'));
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  #next(): void {
    while (this.#queue.length > 0 && (this.#idle.size > 0 || this.#all.size < this.#size)) {
      const pending = this.#queue.shift()!;
      const remaining = pending.deadline - performance.now();
      if (remaining <= 0) pending.reject(new DatabaseFault('timeout', 'waited too long for a reader'));
      else this.#start(this.#takeIdle() ?? this.#spawn(), pending, remaining);
    }
  }

  #takeIdle(): Worker | undefined {
    const worker = [...this.#idle.keys()].at(-1);
    if (!worker) return undefined;
    clearTimeout(this.#idle.get(worker));
    this.#idle.delete(worker);
    return worker;
  }

  /** Keeps a thread for the next task, for some time. */
  #keepIdle(worker: Worker): void {
    const end = (): void => {
      this.#idle.delete(worker);
      void worker.terminate();
    };
    this.#idle.set(worker, setTimeout(end, this.#idleMilliseconds).unref());
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), {
      workerData: { path: this.#path, readOnly: this.#readOnly, foreignKeys: this.#foreignKeys },
      resourceLimits,
    });
    worker.unref();
    worker.on('error', () => {}); // a pending task has its own listener; an idle worker has no task to reject
    worker.on('exit', () => {
      this.#all.delete(worker);
      clearTimeout(this.#idle.get(worker));
      this.#idle.delete(worker);
      this.#next(); // tasks that came while an idle thread ended
    });
    this.#all.add(worker);
    return worker;
  }

  #start(worker: Worker, pending: Pending, remaining: number): void {
    const task =
      pending.task.kind === 'read'
        ? { ...pending.task, milliseconds: Math.min(pending.task.milliseconds, remaining) }
        : pending.task;
    worker.ref();
    const onMessage = (reply: WorkerReply): void => {
      settle(false);
      if ('rows' in reply) pending.resolve(restoreVisited(reply));
      else
        pending.reject(
          new DatabaseFault(reply.fault.kind, reply.fault.message, reply.fault.table, reply.fault.columns),
        );
    };
    const onError = (error: unknown): void => fail('other', error);
    const onExit = (): void => fail('other', 'the database thread ended');
    const settle = (retire: boolean): void => {
      clearTimeout(timer);
      // Not removeAllListeners(), because it would also remove the Worker's own listeners.
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      // A thread that is being ended keeps the process alive until it has ended: otherwise the process would exit
      // before a stop is complete.
      if (!this.#closed) worker.unref();
      if (retire || this.#closed) this.#all.delete(worker);
      else this.#keepIdle(worker);
      this.#next();
    };
    const fail = (kind: DatabaseFault['kind'], cause: unknown): void => {
      settle(true);
      pending.reject(new DatabaseFault(kind, cause));
    };
    // The deadline check in the statement normally aborts it. This timer covers phases that visit no rows, such as a sort.
    const timer = Number.isFinite(remaining)
      ? setTimeout(() => {
          void worker.terminate();
          fail('timeout', 'the statement did not end in time');
        }, remaining + graceMilliseconds)
      : undefined;
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.postMessage(task);
  }
}

/** The result of a task, with what its thread has counted. */
function restoreVisited({ rows, visited }: Extract<WorkerReply, { rows: Row[][] }>): Row[][] {
  for (const [index, each] of rows.entries()) if (visited[index]) noteVisitedRows(each, visited[index]);
  return rows;
}
