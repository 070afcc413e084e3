import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A server process under test: ours or a yardstick. */
export interface Served {
  readonly port: number;
  readonly child: ChildProcess;
  /** Milliseconds from spawn to the first 200. */
  readonly startMilliseconds: number;
  stop(): Promise<void>;
}

const live = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of live) child.kill('SIGKILL');
});
process.once('SIGINT', () => process.exit(130));

export async function serve(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  probe: string,
): Promise<Served> {
  const port = await freePort();
  const from = performance.now();
  const file = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], {
    env: { PATH: process.env['PATH'] ?? '', PORT: String(port), HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  live.add(child);
  child.once('exit', () => live.delete(child));
  await untilAnswers(`http://127.0.0.1:${port}${probe}`, child);
  return { port, child, startMilliseconds: performance.now() - from, stop: () => ended(child) };
}

/** Memory of a process in MB, or null where the system does not tell. */
export function residentMegabytes(child: ChildProcess): number | null {
  return readMegabytes(child, 'VmRSS');
}

/** The most memory that a process has had, in MB, or null where the system does not tell. */
export function peakMegabytes(child: ChildProcess): number | null {
  return readMegabytes(child, 'VmHWM');
}

/** From now on, {@link peakMegabytes} is the most memory since this call, where the system permits it. */
export function resetPeak(child: ChildProcess): void {
  try {
    writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  } catch {
    // the peak of the whole life of the process remains
  }
}

function readMegabytes(child: ChildProcess, name: string): number | null {
  const kilobytes = new RegExp(`${name}:\\s+(\\d+)`).exec(procFile(child, 'status') ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** Processor time that a process has used, in microseconds, or null. Ticks are a hundredth of a second on Linux. */
export function cpuMicroseconds(child: ChildProcess): number | null {
  const fields = procFile(child, 'stat')?.split(') ')[1]?.split(' ');
  return fields ? (Number(fields[11]) + Number(fields[12])) * 10_000 : null;
}

function procFile(child: ChildProcess, name: string): string | null {
  try {
    return readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
  } catch {
    return null;
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exit;
}

async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 3000; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`the process ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${url} did not answer`);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
