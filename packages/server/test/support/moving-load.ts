/**
 * Sends requests to an application while it is moved. Records which writes were acknowledged, and how long requests
 * were refused.
 */
import { sendRequest } from './http-client.ts';

interface LoadTarget {
  /** The base URLs of the servers. */
  readonly urls: readonly string[];
  readonly application: string;
  /** A token of the application. */
  readonly token: string;
}

const retryMilliseconds = 20;

/** Creates records in the collection `notes` with the numbers `<writer>-<n>`, and reads them, until it is stopped. */
export class MovingLoad {
  readonly acknowledged = new Set<string>();
  /** Writes with an unknown outcome, because the connection was lost. */
  readonly unknown = new Set<string>();
  /** The longest time in milliseconds in which requests of one writer were refused. */
  longestPause = 0;
  /** Replies that are neither 200 nor 503 with Retry-After. */
  readonly unexpected: string[] = [];
  /** Reads without a record whose creation had already been acknowledged. */
  readonly staleReads: string[] = [];
  readonly #target: LoadTarget;
  readonly #running: Promise<void>[];
  #isStopped = false;

  constructor(target: LoadTarget, writers: number, pauseMilliseconds = 0) {
    this.#target = target;
    this.#running = Array.from({ length: writers }, (_, writer) => this.#write(writer, pauseMilliseconds));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  /** Numbers of `notes` that are stored more than once, and acknowledged numbers that are not stored. */
  async compare(): Promise<{ readonly doubled: string[]; readonly lost: string[] }> {
    const { body } = await this.send(0, 'GET', 'notes:list?paginate=false&fields=title');
    const titles = (JSON.parse(body) as { data: { title: string }[] }).data.map(({ title }) => title);
    const stored = new Set(titles);
    return {
      doubled: titles.filter((title, index) => titles.indexOf(title) !== index),
      lost: [...this.acknowledged].filter((title) => !stored.has(title)),
    };
  }

  async send(
    server: number,
    method: 'GET' | 'POST',
    action: string,
    sent?: object,
  ): Promise<{ readonly status: number; readonly body: string; readonly mayRetry: boolean }> {
    const { urls, application, token } = this.#target;
    const { status, headers, text } = await sendRequest(`${urls[server % urls.length]}/api/${action}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'x-app': application,
        ...(sent && { 'content-type': 'application/json' }),
      },
      ...(sent && { body: JSON.stringify(sent) }),
    });
    return { status, body: text, mayRetry: status === 503 && headers.get('retry-after') !== null };
  }

  async #write(writer: number, pauseMilliseconds: number): Promise<void> {
    for (let number = 0; !this.#isStopped; number += 1) {
      const title = `${writer}-${number}`;
      if (await this.#create(writer + number, title)) await this.#find(writer + number + 1, title);
      if (pauseMilliseconds > 0) await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds));
    }
  }

  /** Sends a write until it is acknowledged. @returns false if its outcome is unknown. */
  async #create(server: number, title: string): Promise<boolean> {
    for (let refusedAt: number | null = null; ; ) {
      const reply = await this.send(server, 'POST', 'notes:create', { title }).catch(() => null);
      if (reply?.status === 200) {
        this.acknowledged.add(title);
        if (refusedAt !== null) this.longestPause = Math.max(this.longestPause, performance.now() - refusedAt);
        return true;
      }
      if (!reply?.mayRetry) {
        this.unknown.add(title);
        if (reply) this.unexpected.push(`create: ${reply.status} ${reply.body}`);
        return false;
      }
      refusedAt ??= performance.now();
      await new Promise((resolve) => setTimeout(resolve, retryMilliseconds));
    }
  }

  async #find(server: number, title: string): Promise<void> {
    for (;;) {
      const filter = encodeURIComponent(JSON.stringify({ title }));
      const reply = await this.send(server, 'GET', `notes:list?filter=${filter}&fields=title`).catch(() => null);
      if (!reply) return;
      if (reply.status === 200 && !reply.body.includes(title)) this.staleReads.push(title);
      if (!reply.mayRetry && reply.status !== 200) this.unexpected.push(`list: ${reply.status} ${reply.body}`);
      if (!reply.mayRetry) return;
      await new Promise((resolve) => setTimeout(resolve, retryMilliseconds));
    }
  }
}
