/** nginx with the sample configuration of deploy/, in its own folder and on its own port. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { getSharedCertificate } from './mail-certificate.ts';

/** Whether a program can be started. */
export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

interface NginxParts {
  readonly folder: string;
  /** `host:port` of the server. */
  readonly upstream: string;
  readonly port: number;
}

/**
 * Writes the sample configuration and the files that it needs. Only addresses, ports and paths of certificates are
 * replaced.
 *
 * @returns the path of the configuration.
 */
export function prepareNginx({ folder, upstream, port }: NginxParts): string {
  const { key, cert } = getSharedCertificate();
  for (const name of ['logs', 'body']) mkdirSync(join(folder, name), { recursive: true, mode: 0o777 });
  writeFileSync(join(folder, 'tablinum.key'), key);
  writeFileSync(join(folder, 'tablinum.pem'), cert);
  const sample = readFileSync(new URL('../../../../deploy/nginx.conf', import.meta.url), 'utf8')
    .replace('server 127.0.0.1:4180;', `server ${upstream};`)
    .replaceAll(/^\s*listen \[::\].*$/gm, '')
    // The port must not be the next one, because another test may use it.
    .replace('listen 80;', `listen unix:${join(folder, 'plain.socket')};`)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll('/etc/ssl/tablinum', join(folder, 'tablinum'));
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = join(folder, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off;
error_log ${folder}/logs/error.log warn;
pid ${folder}/nginx.pid;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
events {}
http {
access_log off;
${paths.map((name) => `${name}_temp_path ${folder}/body/${name};`).join('\n')}
${sample}
}
`,
  );
  return config;
}

/** Starts nginx, and waits until it listens. */
export async function startNginx(parts: NginxParts): Promise<{ stop(): Promise<void> }> {
  const config = prepareNginx(parts);
  const child: ChildProcess = spawn('nginx', ['-p', parts.folder, '-c', config], { stdio: 'inherit' });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  for (let attempt = 0; !(await isListening(parts.port)); attempt += 1) {
    if (attempt > 200 || child.exitCode !== null) throw new Error(`nginx did not start (${String(child.exitCode)})`);
    await pause(20);
  }
  return {
    stop: async () => {
      process.off('exit', kill);
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
