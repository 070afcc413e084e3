import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadJob, LoadResult } from './load-worker.ts';

export type { LoadResult };

/** Runs one load in a process of its own, bounded in time. */
export function runLoad(job: LoadJob): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileURLToPath(new URL('./load-worker.ts', import.meta.url))], {
      timeout: 120_000,
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.on('close', (code) =>
      code === 0 ? resolve(JSON.parse(out) as LoadResult) : reject(new Error(`load failed: ${err || code}`)),
    );
    child.stdin.end(JSON.stringify(job));
  });
}

/** The text of a request; every request of a case differs, so that no reply can come from a cache of replies. */
export function requestText(
  method: string,
  path: string,
  credentials: string | Readonly<Record<string, string>> | null,
  body?: unknown,
): string {
  const headers = typeof credentials === 'string' ? { Authorization: `Bearer ${credentials}` } : (credentials ?? {});
  const payload = body === undefined ? '' : JSON.stringify(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(payload)}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n${payload}`;
}

/** A small seeded generator, so that all runs send the same requests. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
