import { Worker } from 'node:worker_threads';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ParserAnswer } from './parse-worker.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { limitProcessorTime } from './processor-limit.ts';
import { unparsable } from './unparsable-mail.ts';

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

interface Waiting {
  readonly raw: Uint8Array;
  resolve(mail: ParsedMail): void;
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
  readonly #waiting = new Map<unknown, Waiting[]>();
  readonly #all = new Set<Worker>();
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
   * @param raw is copied to the thread; the caller keeps it.
   * @param of what the message is a part of: those of different ones take turns.
   * @throws MailTooLarge over 50 MB; nothing else that a message holds makes it reject.
   * @throws ParsePoolClosed where the pool is closed before the message is parsed.
   */
  parse(raw: Uint8Array, of: unknown = raw): Promise<ParsedMail> {
    if (raw.length > mailLimits.rawBytes) return Promise.reject(new MailTooLarge(raw.length));
    if (this.#closed) return Promise.reject(new ParsePoolClosed());
    return new Promise((resolve, reject) => {
      const list = this.#waiting.get(of);
      if (list) list.push({ raw, resolve, reject });
      else this.#waiting.set(of, [{ raw, resolve, reject }]);
      this.#next();
    });
  }

  /** Threads there are at this moment. */
  get size(): number {
    return this.#all.size;
  }

  /** Ends all threads. What was not parsed by then is rejected, not judged. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    for (const { reject } of [...this.#waiting.values()].flat()) reject(new ParsePoolClosed());
    this.#waiting.clear();
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  #next(): void {
    while (this.#waiting.size > 0 && !this.#closed && (this.#idle.size > 0 || this.#all.size < this.#threads)) {
      const worker = this.#rested() ?? this.#spawn();
      this.#run(worker, this.#first());
    }
  }

  /** Whoever has more waits at the end of the line for the next. */
  #first(): Waiting {
    const [of, list] = this.#waiting.entries().next().value!;
    const first = list.shift()!;
    this.#waiting.delete(of);
    if (list.length > 0) this.#waiting.set(of, list);
    return first;
  }

  #rested(): Worker | null {
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
      this.#all.delete(worker);
      clearTimeout(this.#idle.get(worker));
      this.#idle.delete(worker);
    });
    this.#all.add(worker);
    return worker;
  }

  #run(worker: Worker, { raw, resolve, reject }: Waiting): void {
    worker.ref();
    const end = (mail: ParsedMail, usable: boolean): void => {
      stopWatch();
      // Not removeAllListeners(): a Worker's own listeners live among them.
      worker.off('message', onMessage).off('error', onFailure).off('exit', onFailure);
      if (usable) this.#rest(worker);
      else this.#retire(worker);
      if (this.#closed && !usable) reject(new ParsePoolClosed());
      else resolve(mail);
      this.#next();
    };
    const onTimeUp = (): void =>
      end(unparsable(raw, `It took longer than ${this.#milliseconds / 1000} seconds.`), false);
    const onFailure = (): void => end(unparsable(raw, 'The parser failed at it.'), false);
    const onMessage = (answer: ParserAnswer): void => {
      if (answer !== 'ready') {
        end(answer, true);
        return;
      }
      this.#started.add(worker);
      stopWatch();
      stopWatch = limitProcessorTime(worker, this.#milliseconds, onTimeUp);
    };
    const limit = this.#started.has(worker) ? this.#milliseconds : startMilliseconds;
    let stopWatch = limitProcessorTime(worker, limit, onTimeUp);
    worker.on('message', onMessage).on('error', onFailure).on('exit', onFailure);
    worker.postMessage(raw);
  }

  #rest(worker: Worker): void {
    if (this.#closed) return;
    worker.unref();
    const timer = setTimeout(() => this.#retire(worker), this.#idleMilliseconds);
    timer.unref();
    this.#idle.set(worker, timer);
  }

  #retire(worker: Worker): void {
    this.#all.delete(worker);
    clearTimeout(this.#idle.get(worker));
    this.#idle.delete(worker);
    void worker.terminate();
  }
}
