import { Worker } from 'node:worker_threads';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ParserRequest, ParserResponse } from './parse-worker.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { limitProcessorTime } from './processor-limit.ts';

export interface ParsePoolOptions {
  /** Messages at once. */
  readonly threads?: number;
  /** Heap of a thread. */
  readonly memoryMegabytes?: number;
  /** Time of the processor that a message may take; on the clock, six times as much. */
  readonly milliseconds?: number;
  /** After how long without work a thread ends. */
  readonly idleMilliseconds?: number;
}

/** A raw message that is longer than the limit: refused before anything of it is read or stored. */
export class MailTooLarge extends Error {
  readonly size: number;
  readonly limit: number = mailLimits.rawBytes;

  constructor(size: number) {
    super(`The message has ${size} bytes; at most ${mailLimits.rawBytes} are taken.`);
    this.name = 'MailTooLarge';
    this.size = size;
  }
}

/** Time of the processor that a thread may take to start, before that of its first message begins. */
const startMilliseconds = 10_000;

interface PendingRequest {
  readonly request: ParserRequest;
  /** What the request belongs to: those of different ones take turns. */
  readonly group: unknown;
  resolve(response: ParserResponse): void;
  reject(error: Error): void;
}

/** The pool ended before the message was parsed: it says nothing about the message, which is to be parsed again. */
export class ParsePoolClosed extends Error {
  constructor() {
    super('The pool of parsers is closed.');
    this.name = 'ParsePoolClosed';
  }
}

/**
 * Parses and sanitises messages in threads: started when first needed, ended when idle. A message at which a thread dies, hangs or
 * runs out of memory comes out as `unparsable`; the others go on in a new thread.
 */
export class ParsePool {
  readonly #threads: number;
  readonly #memoryMegabytes: number;
  readonly #milliseconds: number;
  readonly #idleMilliseconds: number;
  /** By whoever asks, the next in turn first: a thousand messages of one hold up the single one of another by one message. */
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
   * @param raw is read in the thread where it lies if it is shared (`toSharedBytes`), else copied to it; the caller keeps it.
   * @param group what the message is a part of: those of different ones take turns.
   * @throws MailTooLarge over 50 MB; nothing else that a message holds makes it reject.
   * @throws ParsePoolClosed where the pool is closed before the message is parsed.
   */
  parse(raw: Uint8Array, group: unknown = raw): Promise<ParsedMail> {
    if (raw.length > mailLimits.rawBytes) return Promise.reject(new MailTooLarge(raw.length));
    return this.#enqueue({ kind: 'parse', raw }, group) as Promise<ParsedMail>;
  }

  /**
   * The identities of raw messages, in their order (`computeMailIdentity`).
   *
   * @param group as for {@link parse}.
   * @throws ParsePoolClosed where the pool is closed before.
   */
  identify(raws: readonly Uint8Array[], group: unknown = raws): Promise<readonly string[]> {
    return this.#enqueue({ kind: 'identify', raws }, group) as Promise<readonly string[]>;
  }

  #enqueue(request: ParserRequest, group: unknown): Promise<ParserResponse> {
    if (this.#closed) return Promise.reject(new ParsePoolClosed());
    return new Promise((resolve, reject) => {
      const pending: PendingRequest = { request, group, resolve, reject };
      const list = this.#waiting.get(group);
      if (list) list.push(pending);
      else this.#waiting.set(group, [pending]);
      this.#next();
    });
  }

  /** Threads there are at this moment. */
  get size(): number {
    return this.#workers.size;
  }

  /** Ends all threads. What was not parsed by then is rejected, not judged. */
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

  /** Whoever has more waits at the end of the line for the next. */
  #dequeue(): PendingRequest {
    const [group, list] = this.#waiting.entries().next().value!;
    const first = list.shift()!;
    this.#waiting.delete(group);
    if (list.length > 0) this.#waiting.set(group, list);
    return first;
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
    worker.on('error', () => {}); // told to whoever waits for it; an idle one has nobody
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
      // Not removeAllListeners(): a Worker's own listeners live among them.
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
    const onFailure = (): void => fail('The parser failed at it.');
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

  /** A message that no thread can parse is described by another one, before anything else of its kind: it may have 50 MB. */
  #describeFailure({ request, group, resolve, reject }: PendingRequest, why: string): void {
    if (request.kind !== 'parse') {
      reject(new Error(`A thread could not ${request.kind} a message. ${why}`));
      return;
    }
    const next: PendingRequest = { request: { kind: 'describe', raw: request.raw, why }, group, resolve, reject };
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
