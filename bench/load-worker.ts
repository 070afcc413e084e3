/**
 * A closed-loop HTTP client on raw sockets, in a process of its own: each client sends its next request when the
 * previous reply is complete. Takes a job on standard input, prints a result as one line of JSON.
 */
import { connect, type Socket } from 'node:net';

export interface LoadJob {
  readonly port: number;
  readonly clients: number;
  readonly warmMilliseconds: number;
  readonly milliseconds: number;
  /** Whole HTTP requests, sent in turn from a random start. */
  readonly requests: readonly string[];
  readonly expect: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

const lastChunk = Buffer.from('\r\n0\r\n\r\n');

/** Whether the body that begins at `from` is complete. JSON has no bare line break, so the last chunk is unmistakable. */
function whole(head: string, received: Buffer, from: number): boolean {
  if (/transfer-encoding: chunked/i.test(head)) return received.subarray(-lastChunk.length).equals(lastChunk);
  return received.length >= from + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
}

class Client {
  readonly #job: LoadJob;
  readonly #socket: Socket;
  #at: number;
  #sent = 0;
  #pending: Buffer = Buffer.alloc(0);
  latencies: number[] = [];
  measuring = false;
  done: Promise<void>;
  #finish!: () => void;
  #fail!: (error: Error) => void;
  stopping = false;

  constructor(job: LoadJob, at: number) {
    this.#job = job;
    this.#at = at;
    this.done = new Promise((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    this.#socket = connect({ port: job.port, host: '127.0.0.1', noDelay: true }, () => this.#send());
    this.#socket.on('data', (chunk) => this.#read(chunk as Buffer));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the server closed a connection')));
  }

  #send(): void {
    this.#at = (this.#at + 1) % this.#job.requests.length;
    this.#sent = performance.now();
    this.#socket.write(this.#job.requests[this.#at]!);
  }

  #read(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const end = this.#pending.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#pending.toString('latin1', 0, end);
    if (!whole(head, this.#pending, end + 4)) return;
    const status = Number(head.slice(9, 12));
    if (status !== this.#job.expect) {
      this.#fail(
        new Error(`${status} instead of ${this.#job.expect}: ${this.#pending.toString('utf8', end + 4).slice(0, 300)}`),
      );
      return;
    }
    this.#pending = Buffer.alloc(0);
    if (this.measuring) this.latencies.push(performance.now() - this.#sent);
    if (this.stopping) {
      this.#finish();
      this.#socket.destroy();
    } else this.#send();
  }
}

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function run(job: LoadJob): Promise<LoadResult> {
  const start = Math.floor(Math.random() * job.requests.length);
  const clients = Array.from({ length: job.clients }, (_, index) => new Client(job, start + index * 37));
  const failed = Promise.all(clients.map((client) => client.done));
  await Promise.race([wait(job.warmMilliseconds), failed]);
  for (const client of clients) client.measuring = true;
  const from = performance.now();
  await Promise.race([wait(job.milliseconds), failed]);
  for (const client of clients) client.measuring = false;
  const seconds = (performance.now() - from) / 1000;
  for (const client of clients) client.stopping = true;
  await failed;
  const latencies = clients.flatMap((client) => client.latencies).sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
  return { perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), count: latencies.length };
}

const input: Buffer[] = [];
for await (const chunk of process.stdin) input.push(chunk as Buffer);
try {
  process.stdout.write(JSON.stringify(await run(JSON.parse(Buffer.concat(input).toString('utf8')) as LoadJob)));
  process.exit(0);
} catch (error) {
  process.stderr.write(String(error));
  process.exit(1);
}
