/**
 * Sends health requests to a server repeatedly from its own thread, so that the work of the test does not affect the
 * measured times.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const program = `
const { parentPort, workerData } = require('node:worker_threads');
const { Agent, get } = require('node:http');
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const waits = [];
let going = true;
parentPort.on('message', () => { going = false; });
const ask = () => {
  if (!going) return parentPort.postMessage(waits);
  const from = performance.now();
  get(workerData + '/api/health', { agent }, (reply) => {
    reply.resume().on('end', () => {
      waits.push(performance.now() - from);
      setTimeout(ask, 5);
    });
  });
};
ask();
`;

export class HealthProber {
  readonly #worker: Worker;

  constructor(url: string) {
    this.#worker = new Worker(program, { eval: true, workerData: url });
  }

  /** The response times in milliseconds, sorted. */
  async end(): Promise<number[]> {
    this.#worker.postMessage('end');
    const [waits] = (await once(this.#worker, 'message')) as [number[]];
    await this.#worker.terminate();
    return waits.sort((one, other) => one - other);
  }
}
