/** `npm run dev`: starts the server, restarts it when a file changes, and starts the web interface with hot reload. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const web = fileURLToPath(new URL('../packages/web', import.meta.url));
const address = `http://127.0.0.1:${process.env['PORT'] ?? 4180}`;

const children: ChildProcess[] = [
  spawn('node', ['--watch', '--max-semi-space-size=4', 'packages/server/bin/tablinum.js', 'start'], {
    cwd: root,
    stdio: 'inherit',
  }),
  spawn('vite', [], { cwd: web, stdio: 'inherit', env: { ...process.env, TABLINUM_URL: address } }),
];
console.log('The web interface with hot reload: http://127.0.0.1:4181/');

/** When one ends, so does the other. */
function end(): void {
  for (const child of children) child.kill('SIGTERM');
}
for (const child of children) child.once('exit', end);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
