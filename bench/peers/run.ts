/**
 * Compares this server with other products, each in alternating turns on the same engine.
 *
 *     npm run bench:peers -- [--only pocketbase,trailbase] [--prepare] [--quick]
 */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { groupMegabytes, killAll, type Served, signalAll } from '../child.ts';
import { directus } from './directus.ts';
import { scratch } from './install.ts';
import { compare, type Figure, type Pace } from './measure.ts';
import { nocobase } from './nocobase.ts';
import { parseServer } from './parse-server.ts';
import { pocketbase } from './pocketbase.ts';
import { kinds, titles } from './questions.ts';
import { type Comparison, keep, markdown, type Process } from './report.ts';
import { analyse, engineVersion, makeStores, type Stores } from './store.ts';
import { strapi } from './strapi.ts';
import type { Peer, Store } from './subject.ts';
import { tablinumOn } from './tablinum.ts';
import { trailbase } from './trailbase.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    /** Only installs. */
    prepare: { type: 'boolean', default: false },
    /** Short turns for a first impression; nothing is kept. */
    quick: { type: 'boolean', default: false },
  },
});

const peers: Readonly<Record<string, Peer>> = { pocketbase, trailbase, directus, nocobase, strapi, parse: parseServer };
const pace: Pace = options.quick
  ? { rounds: 1, milliseconds: 500, firstWarmMilliseconds: 300 }
  : { rounds: 5, milliseconds: 1000, firstWarmMilliseconds: 3000 };
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Starts a server three times; @returns the last of them, running, with the median of the starts. */
async function started(peer: Peer, store: Store): Promise<{ served: Served; start: number; idle: number }> {
  const times: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    const served = await peer.start(store);
    times.push(served.startMilliseconds);
    await served.stop();
  }
  const served = await peer.start(store);
  times.push(served.startMilliseconds);
  await pause(3000);
  return { served, start: times.sort((a, b) => a - b)[1]!, idle: groupMegabytes(served.child) };
}

async function measured(peer: Peer, stores: Stores): Promise<Pick<Comparison, 'figures' | 'peer'> & { own: Process }> {
  const own = tablinumOn(peer.engine);
  console.log(`  filling this server and ${peer.name}`);
  await own.fill(stores.own);
  await peer.fill(stores.peer);
  await analyse(stores.own);
  await analyse(stores.peer);
  const ours = await started(own, stores.own);
  signalAll(ours.served.child, 'SIGSTOP');
  const theirs = await started(peer, stores.peer);
  const subject = await peer.signIn(theirs.served);
  signalAll(theirs.served.child, 'SIGSTOP');
  signalAll(ours.served.child, 'SIGCONT');
  const ownSubject = await own.signIn(ours.served);
  const figures: Figure[] = [];
  for (const kind of kinds) {
    const figure = await compare(ownSubject, subject, kind, pace);
    if (!figure) continue;
    figures.push(figure);
    const { own: us, peer: them, ratio } = figure;
    console.log(
      `  ${titles[kind].padEnd(30)}${us.perSecond.toFixed(0).padStart(8)}${them.perSecond.toFixed(0).padStart(8)}${ratio.toFixed(2).padStart(8)}`,
    );
  }
  const process = ({ served, start, idle }: typeof ours): Process => ({
    startMilliseconds: start,
    idleMegabytes: idle,
    afterMegabytes: groupMegabytes(served.child),
  });
  const result = { figures, own: process(ours), peer: process(theirs) };
  await theirs.served.stop();
  await ours.served.stop();
  return result;
}

const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version };
const date = new Date().toISOString().slice(0, 10);
const results = join(import.meta.dirname, '..', 'results');
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();

function skip(name: string, error: unknown): void {
  const reason = (error as Error).message.split('\n').slice(0, 3).join(' | ').slice(0, 500);
  console.log(`  skipped: ${reason}`);
  if (!options.quick && !options.prepare) keep(results, date, machine, { name, skipped: reason });
}

async function compareWith(peer: Peer): Promise<void> {
  console.log(peer.name);
  const installed = await peer.install();
  console.log(`  ${installed.version}, ${installed.runtime}`);
  if (options.prepare) return;
  const stores = await makeStores(peer.engine);
  try {
    const { own, ...rest } = await measured(peer, stores);
    const { name, writes, configuration } = peer;
    const engine = await engineVersion(stores.peer);
    const result: Comparison = {
      ...{ name, ...installed, engine, writes, configuration, measured: new Date().toISOString() },
      ...rest,
      own: { ...own, commit },
    };
    if (options.quick) console.log(markdown(date, { machine, results: [result] }));
    else console.log(markdown(date, keep(results, date, machine, result)));
  } finally {
    killAll();
    await stores.remove();
  }
}

console.log(`products are in ${scratch}`);
const names = options.only?.split(',') ?? Object.keys(peers);
for (const name of names) {
  const peer = peers[name];
  if (!peer) throw new Error(`${name} is none of ${Object.keys(peers).join(', ')}`);
  await compareWith(peer).catch((error: unknown) => skip(peer.name, error));
}
process.exit(0);
