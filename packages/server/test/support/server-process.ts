import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Store } from './engines.ts';
import { type ClientRequest, sendRequest } from './http-client.ts';
import type { Json } from './json.ts';
import { serverProgram } from './server-program.ts';

/** A server in a separate process, with a token of an administrator. */
export class ServerProcess {
  readonly url: string;
  token = '';
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** @param flags command-line options of Node. */
  static async start(
    store: Store,
    env: Readonly<Record<string, unknown>> = {},
    flags: readonly string[] = [],
  ): Promise<ServerProcess> {
    const settings = JSON.stringify({ RATE_LIMIT_ANONYMOUS: 'off', ...env });
    const child = spawn(
      process.execPath,
      [...flags, serverProgram.bundled, store.dataDir, store.databaseUrl ?? '', settings],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (chunk) => resolve(String(chunk).trim()));
      child.once('exit', (code) => reject(new Error(`The server ended with the code ${code} before it listened.`)));
    });
    const server = new ServerProcess(child, url);
    const { token } = await server.data('auth:signIn', {
      email: 'root@example.com',
      password: 'correct horse battery',
    });
    server.token = token;
    return server;
  }

  /** The reply; null if the server has ended. */
  async call(action: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response | null> {
    return fetch(this.#urlOf(action), this.#describe(body, headers)).catch(() => null);
  }

  /** The data of the reply; null if the server has ended. Takes a third of the processor time of {@link call}. */
  async data(action: string, body?: unknown): Promise<Json> {
    const reply = await sendRequest(this.#urlOf(action), this.#describe(body)).catch(() => null);
    return reply?.text ? JSON.parse(reply.text).data : null;
  }

  #urlOf(action: string): string {
    return `${this.url}/api/${action}`;
  }

  #describe(body: unknown, headers: Readonly<Record<string, string>> = {}): ClientRequest & { readonly body?: string } {
    return {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(this.token !== '' && { authorization: `Bearer ${this.token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
  }

  /** Resident memory in MB. */
  get memory(): number {
    return this.#megabytes('VmRSS');
  }

  /** The maximum memory that it has used since its start, in MB; null if the system does not report this. */
  get peakMemory(): number | null {
    return existsSync('/proc/self/status') ? this.#megabytes('VmHWM') : null;
  }

  /** The processor time that it has used since its start, in milliseconds. */
  get processorTime(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return 10 * (Number(fields[11]) + Number(fields[12]));
  }

  #megabytes(name: string): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)![1]) / 1024;
  }

  /** Kills it immediately. Does nothing if it has already ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.kill(signal);
    await exit;
  }
}
