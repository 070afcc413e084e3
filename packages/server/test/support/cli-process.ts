import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const repositoryProgram = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));

export const rootCredentials = { email: 'root@example.com', password: 'correct horse battery' };
/** Settings for a first administrator, and for no limits on requests. */
export const rootSettings = {
  APP_KEY: 'a key for tests only, long enough to be quiet',
  INIT_ROOT_EMAIL: rootCredentials.email,
  INIT_ROOT_PASSWORD: rootCredentials.password,
  RATE_LIMIT_CREDENTIAL: 'off',
  RATE_LIMIT_ANONYMOUS: 'off',
};

/** `tablinum start` as an operator runs it, in a process of its own. */
export interface CliProcess {
  readonly url: string;
  readonly pid: number;
  /** Everything that it has printed. */
  readonly output: () => string;
  /** Resolves when the process has ended, with its exit code, or with null if a signal ended it. */
  readonly exitCode: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal, and waits until the process has ended. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts the process. Rejects with its exit code and output if it ends before it listens. */
export async function startCliProcess(
  dataDir: string,
  env: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
  program: string = repositoryProgram,
): Promise<CliProcess> {
  const child = spawn(process.execPath, [...nodeOptions, program, 'start'], {
    cwd: tmpdir(), // a folder without an .env file
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'silent', READERS: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  // The process is killed even if a test fails.
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  void ended.then(() => process.off('exit', kill));
  const listening = new Promise<string>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      text += chunk.toString();
      const url = /listens on (\S+),/.exec(text)?.[1];
      if (url) resolve(url);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    void ended.then((code) => reject(new Error(`ended with ${code}: ${text}`)));
  });
  const url = await listening;
  const signal = (name: NodeJS.Signals): void => void child.kill(name);
  const stop = (name: NodeJS.Signals): Promise<number | null> => {
    signal(name);
    return ended;
  };
  return { url, pid: child.pid!, output: () => text, exitCode: ended, signal, stop };
}

export function postJson(url: string, token: string | null, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
}

/** Signs in. @returns the token of the first administrator. */
export async function signInAsRoot({ url }: CliProcess): Promise<string> {
  const { data } = (await (await postJson(`${url}/api/auth:signIn`, null, rootCredentials)).json()) as {
    data: { token: string };
  };
  return data.token;
}
