import { Worker } from 'node:worker_threads';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { SignatureReport, SignatureRequest } from '../authenticity/signature-report.ts';
import type { ParserRequest, ParserResponse } from './parse-worker.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { limitProcessorTime } from './processor-limit.ts';

export interface ParsePoolOptions {
  /** Number of threads. */
  readonly threads?: number;
  /** Maximum heap of a thread, in megabytes. */
  readonly memoryMegabytes?: number;
  /** Maximum processor time of a message; the maximum elapsed time is six times as long. */
  readonly milliseconds?: number;
  /** Time without work after which a thread ends. */
  readonly idleMilliseconds?: number;
}

/** A raw message beyond the limit. It is refused before any of it is read or stored. */
export class MailTooLarge extends Error {
  readonly size: number;
  readonly limit: number = mailLimits.rawBytes;

  constructor(size: number) {
    super(`The message has ${size} bytes; at most ${mailLimits.rawBytes} are taken.`);
    this.name = 'MailTooLarge';
    this.size = size;
  }
}

/** Maximum processor time for the start of a thread, before the time of its first message begins. */
const startMilliseconds = 10_000;

/** The group of checks of signatures. */
const checks = Symbol('checks');
/** Checks that have waited longer take turns with other work. */
const checkMilliseconds = 1000;

interface PendingRequest {
  readonly request: ParserRequest;
  /** The group of the request. Groups are served in turn. */
  readonly group: unknown;
  /** By `performance.now()`. */
  readonly since: number;
  resolve(response: ParserResponse): void;
  reject(error: Error): void;
}

/** The pool was closed before the message was parsed. The message can be parsed again. */
export class ParsePoolClosed extends Error {
  constructor() {
    super('The pool of parsers is closed.');
    this.name = 'ParsePoolClosed';
  }
}

/**
 * Parses and sanitises messages in threads, which are started on demand and end when they are idle. If a thread crashes, hangs
 * or runs out of memory, its message becomes `unparsable`, and the others continue in a new thread.
 */
export class ParsePool {
  readonly #threads: number;
  readonly #memoryMegabytes: number;
  readonly #milliseconds: number;
  readonly #idleMilliseconds: number;
  /**
   * Waiting requests by group, the next group first: a thousand messages of one group delay another group by one
   * message.
   */
  readonly #waiting = new Map<unknown, PendingRequest[]>();
  readonly #workers = new Set<Worker>();
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #started = new WeakSet<Worker>();
  #closed = false;

  constructor(options: ParsePoolOptions = {}) {
    this.#threads = options.threads ?? 1;
    this.#memoryMegabytes = options.memoryMegabytes ?? 512;
    this.#milliseconds = options.milliseconds ?? mailLimits.parseMilliseconds;
    this.#idleMilliseconds = options.idleMilliseconds ?? 30_000;
  }

  /**
   * @param raw is read in place if it is shared (`toSharedBytes`), otherwise copied to the thread. It is not changed.
   * @param group to which the message belongs. Groups are served in turn.
   * @throws MailTooLarge over 50 MB. No other content leads to an error.
   * @throws ParsePoolClosed if the pool is closed before the message is parsed.
   */
  parse(raw: Uint8Array, group: unknown = raw): Promise<ParsedMail> {
    if (raw.length > mailLimits.rawBytes) return Promise.reject(new MailTooLarge(raw.length));
    return this.#enqueue({ kind: 'parse', raw }, group) as Promise<ParsedMail>;
  }

  /**
   * The identities of raw messages, in their order (`computeMailIdentity`).
   *
   * @param group as for {@link parse}.
   * @throws ParsePoolClosed if the pool is closed before.
   */
  identify(raws: readonly Uint8Array[], group: unknown = raws): Promise<readonly string[]> {
    return this.#enqueue({ kind: 'identify', raws }, group) as Promise<readonly string[]>;
  }

  /**
   * Checks the signatures of a raw message, when no other work waits or a check has waited for a second: storing mail comes first.
   *
   * @throws ParsePoolClosed where the pool is closed before; Error where no thread can check the message within its limits.
   */
  async checkSignatures(request: SignatureRequest): Promise<SignatureReport> {
    const response = await this.#enqueue({ kind: 'check', ...request }, checks);
    if (typeof response === 'object' && 'report' in response) return response.report;
    throw new Error(typeof response === 'object' && 'problem' in response ? response.problem : 'The check failed.');
  }

  #enqueue(request: ParserRequest, group: unknown): Promise<ParserResponse> {
    if (this.#closed) return Promise.reject(new ParsePoolClosed());
    return new Promise((resolve, reject) => {
      const pending: PendingRequest = { request, group, since: performance.now(), resolve, reject };
      const list = this.#waiting.get(group);
      if (list) list.push(pending);
      else this.#waiting.set(group, [pending]);
      this.#next();
    });
  }

  /** The current number of threads. */
  get size(): number {
    return this.#workers.size;
  }

  /** Ends all threads. Messages that are not parsed yet are rejected with {@link ParsePoolClosed}. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    for (const { reject } of [...this.#waiting.values()].flat()) reject(new ParsePoolClosed());
    this.#waiting.clear();
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }

  #next(): void {
    while (this.#waiting.size > 0 && !this.#closed && (this.#idle.size > 0 || this.#workers.size < this.#threads)) {
      const worker = this.#takeIdle() ?? this.#spawn();
      this.#run(worker, this.#dequeue());
    }
  }

  /** A group with more requests moves to the end of the queue. */
  #dequeue(): PendingRequest {
    const [group, list] = this.#chooseGroup();
    const first = list.shift()!;
    this.#waiting.delete(group);
    if (list.length > 0) this.#waiting.set(group, list);
    return first;
  }

  #chooseGroup(): [group: unknown, list: PendingRequest[]] {
    const [first, second] = this.#waiting.entries();
    if (!first) throw new Error('nothing waits');
    const [group, [oldest]] = first;
    const isDelayed = group === checks && oldest !== undefined && oldest.since > performance.now() - checkMilliseconds;
    return isDelayed && second ? second : first;
  }

  #takeIdle(): Worker | null {
    const [first] = this.#idle;
    if (!first) return null;
    clearTimeout(first[1]);
    this.#idle.delete(first[0]);
    return first[0];
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./parse-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.#memoryMegabytes },
    });
    worker.on('error', () => {}); // a pending request has its own listener; an idle worker has no request to reject
    worker.on('exit', () => {
      this.#workers.delete(worker);
      clearTimeout(this.#idle.get(worker));
      this.#idle.delete(worker);
    });
    this.#workers.add(worker);
    return worker;
  }

  #run(worker: Worker, pending: PendingRequest): void {
    worker.ref();
    const end = (): void => {
      stopWatch();
      // Not removeAllListeners(), because it would also remove the Worker's own listeners.
      worker.off('message', onMessage).off('error', onFailure).off('exit', onFailure);
    };
    const fail = (why: string): void => {
      end();
      this.#retire(worker);
      if (this.#closed) pending.reject(new ParsePoolClosed());
      else this.#describeFailure(pending, why);
      this.#next();
    };
    const onTimeUp = (): void => fail(`It took longer than ${this.#milliseconds / 1000} seconds.`);
    const onFailure = (): void => fail('The parser crashed.');
    const onMessage = (response: ParserResponse): void => {
      if (response !== 'ready') {
        end();
        this.#markIdle(worker);
        pending.resolve(response);
        this.#next();
        return;
      }
      this.#started.add(worker);
      stopWatch();
      stopWatch = limitProcessorTime(worker, this.#milliseconds, onTimeUp);
    };
    const limit = this.#started.has(worker) ? this.#milliseconds : startMilliseconds;
    let stopWatch = limitProcessorTime(worker, limit, onTimeUp);
    worker.on('message', onMessage).on('error', onFailure).on('exit', onFailure);
    worker.postMessage(pending.request);
  }

  /**
   * A message that a thread failed to parse is described by another thread first, because it may hold 50 MB of memory.
   */
  #describeFailure({ request, group, resolve, reject }: PendingRequest, why: string): void {
    if (request.kind !== 'parse') {
      reject(new Error(`A thread could not ${request.kind} a message. ${why}`));
      return;
    }
    const next: PendingRequest = {
      request: { kind: 'describe', raw: request.raw, why },
      group,
      since: performance.now(),
      resolve,
      reject,
    };
    this.#waiting.set(group, [next, ...(this.#waiting.get(group) ?? [])]);
  }

  #markIdle(worker: Worker): void {
    if (this.#closed) return;
    worker.unref();
    const timer = setTimeout(() => this.#retire(worker), this.#idleMilliseconds);
    timer.unref();
    this.#idle.set(worker, timer);
  }

  #retire(worker: Worker): void {
    this.#workers.delete(worker);
    clearTimeout(this.#idle.get(worker));
    this.#idle.delete(worker);
    void worker.terminate();
  }
}
