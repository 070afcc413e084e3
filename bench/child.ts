import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A server process under test: ours, a yardstick or another product. */
export interface Served {
  readonly port: number;
  readonly child: ChildProcess;
  /** Milliseconds from spawn to the first 200. */
  readonly startMilliseconds: number;
  stop(): Promise<void>;
}

/** How a server is started. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
  /** The path that answers 200 as soon as the server serves. */
  readonly probe: string;
  readonly cwd?: string;
  /** The file for the output of the process; without it, its output goes to the error output of the benchmark. */
  readonly log?: string;
}

type WithPid = Pick<ChildProcess, 'pid'>;

const live = new Set<ChildProcess>();
process.once('exit', killAll);
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

export async function serve(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  probe: string,
): Promise<Served> {
  const port = await freePort();
  const file = fileURLToPath(new URL(program, import.meta.url));
  return startProcess({
    command: process.execPath,
    args: [file, ...args],
    env: { PATH: process.env['PATH'] ?? '', PORT: String(port), HOST: '127.0.0.1', ...env },
    port,
    probe,
  });
}

/** Starts a program in a process group of its own and waits for its first good reply. */
export async function startProcess({ command, args, env, port, probe, cwd, log }: Start): Promise<Served> {
  const output = log === undefined ? null : openSync(log, 'a');
  const from = performance.now();
  const child = spawn(command, args, {
    env: { ...env },
    stdio: ['ignore', output ?? 'ignore', output ?? 'inherit'],
    detached: true,
    ...(cwd && { cwd }),
  });
  if (output !== null) closeSync(output);
  live.add(child);
  child.once('exit', () => live.delete(child));
  await untilAnswers(`http://127.0.0.1:${port}${probe}`, child);
  return { port, child, startMilliseconds: performance.now() - from, stop: () => ended(child) };
}

/** Kills all servers that were started and still run. */
export function killAll(): void {
  for (const child of live) signalAll(child, 'SIGKILL');
}

/** Sends a signal to a server and to the processes that it started. */
export function signalAll(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal);
  } catch {}
}

/** The processes of the group that a server leads. */
function membersOf(child: ChildProcess): number[] {
  const group = (id: string): number | null => {
    try {
      return Number(readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]!.split(' ')[2]);
    } catch {
      return null;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && group(name) === child.pid)
    .map(Number);
}

/** Memory of a server and of the processes that it started, in MB. */
export function groupMegabytes(child: ChildProcess): number {
  return membersOf(child).reduce((sum, pid) => sum + (readMegabytes({ pid }, 'VmRSS') ?? 0), 0);
}

/** Processor time of a server and of the processes that it started, in microseconds. */
export function groupMicroseconds(child: ChildProcess): number {
  return membersOf(child).reduce((sum, pid) => sum + (cpuMicroseconds({ pid }) ?? 0), 0);
}

/** Memory of a process in MB, or null if the system does not report it. */
export function residentMegabytes(child: ChildProcess): number | null {
  return readMegabytes(child, 'VmRSS');
}

/** The peak memory of a process in MB, or null if the system does not report it. */
export function peakMegabytes(child: ChildProcess): number | null {
  return readMegabytes(child, 'VmHWM');
}

/** From now on, {@link peakMegabytes} is the peak since this call, if the system permits it. */
export function resetPeak(child: ChildProcess): void {
  try {
    writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  } catch {
    // then the peak includes the time before this call
  }
}

function readMegabytes(child: WithPid, name: string): number | null {
  const kilobytes = new RegExp(`${name}:\\s+(\\d+)`).exec(procFile(child, 'status') ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** Processor time that a process has used, in microseconds, or null. Ticks are a hundredth of a second on Linux. */
export function cpuMicroseconds(child: WithPid): number | null {
  const fields = procFile(child, 'stat')?.split(') ')[1]?.split(' ');
  return fields ? (Number(fields[11]) + Number(fields[12])) * 10_000 : null;
}

function procFile(child: WithPid, name: string): string | null {
  try {
    return readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
  } catch {
    return null;
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  signalAll(child, 'SIGCONT');
  signalAll(child, 'SIGTERM');
  const impatience = setTimeout(() => signalAll(child, 'SIGKILL'), 20_000);
  await exit;
  clearTimeout(impatience);
}

async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 24_000; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`the process ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${url} did not answer`);
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
