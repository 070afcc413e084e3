import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort, findUnprivilegedUser, type SystemUser } from '../../../../scripts/unprivileged-user.ts';
import { type DovecotOptions, writeDovecotConfiguration } from './dovecot-configuration.ts';
import { getSharedCertificate, type MailCertificate } from './mail-certificate.ts';

const binary = '/usr/sbin/dovecot';
const run = promisify(execFile);

/** A mailbox user of the test server. */
export interface DovecotUser {
  /** The e-mail address, which is also the user name. */
  readonly address: string;
  readonly password: string;
}

/** A real IMAP server on loopback, which runs as an unprivileged user in a temporary folder. */
export interface Dovecot {
  /** The port without TLS, which offers STARTTLS. */
  readonly imapPort: number;
  readonly imapsPort: number;
  readonly lmtpPort: number;
  readonly certificate: MailCertificate;
  /** The certificate authority in PEM. */
  readonly ca: string;
  /** The file that contains `ca`, for MAIL_CA_FILE. */
  readonly caFile: string;
  /** The users by name: `alice`, `bob` and `carol`, unless the options contain others. */
  readonly users: Readonly<Record<string, DovecotUser>>;
  /** Runs `doveadm` and returns its output. @throws Error with its error output. */
  doveadm(...args: string[]): Promise<string>;
  /** The same, but blocks this process until the command has ended. */
  doveadmSync(...args: string[]): string;
  /** Gives a mailbox another UIDVALIDITY. */
  setUidValidity(user: string, mailbox: string, value: number): Promise<void>;
  /** Closes all IMAP connections of a user without a BYE. */
  dropConnections(user: string): Promise<void>;
  /**
   * Stops the IMAP processes of a user: their connections stay open and do not react.
   *
   * @returns a function that resumes them.
   */
  makeDeaf(user: string): Promise<() => void>;
  /** The number of open IMAP connections of a user. */
  countConnections(user: string): Promise<number>;
  /** The folder of a user's mail in Maildir format. */
  maildir(user: string): string;
  readLog(): string;
  stop(): Promise<void>;
}

/**
 * Whether Dovecot is installed. If not, its tests are skipped with a message; in CI they fail.
 *
 * describe.skipIf(!hasDovecot())('…', () => …);
 */
export function hasDovecot(): boolean {
  if (existsSync(binary)) return true;
  if (process.env['CI']) throw new Error('Dovecot is needed in CI: apt-get install dovecot-imapd dovecot-lmtpd.');
  process.stdout.write('Tests against Dovecot are skipped: install dovecot-imapd and dovecot-lmtpd.\n');
  return false;
}

/** Starts a separate Dovecot on free ports of 127.0.0.1. `stop` removes it with all its mail. */
export async function startDovecot(options: DovecotOptions = {}): Promise<Dovecot> {
  const user = findUnprivilegedUser(['dovecot', 'nobody']);
  if (user === null) throw new Error('Dovecot cannot run as root, and neither the user dovecot nor nobody exists.');
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-dovecot-'));
  try {
    return await startIn(folder, user, options);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function startIn(folder: string, user: SystemUser | undefined, options: DovecotOptions): Promise<Dovecot> {
  const [imapPort, imapsPort, lmtpPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const certificate = options.certificate ?? getSharedCertificate();
  const { userNames = ['alice', 'bob', 'carol'] } = options;
  const users = Object.fromEntries(
    userNames.map((name) => [name, { address: `${name}@example.test`, password: `secret-${name}` }]),
  );
  for (const name of ['run', 'state', 'mail']) mkdirSync(join(folder, name), { mode: 0o700 });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('key.pem', certificate.key);
  write('cert.pem', certificate.cert);
  write('ca.pem', certificate.ca);
  write(
    'passwd',
    Object.values(users)
      .map(({ address, password }) => `${address}:{PLAIN}${password}::::::\n`)
      .join(''),
  );
  writeDovecotConfiguration(folder, { imapPort, imapsPort, lmtpPort }, user, options);
  if (user) for (const name of ['.', ...readdirSync(folder)]) chownSync(join(folder, name), user.uid, user.gid);

  const as = { ...user, cwd: folder, env: { PATH: process.env['PATH'] ?? '' } };
  const configuration = join(folder, 'dovecot.conf');
  // It runs in its own process group, so that processes that do not react can be ended too.
  const child = spawn(binary, ['-F', '-c', configuration], {
    ...as,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errorText = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorText += text;
  });
  const killGroup = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {} // the process has already ended
  };
  process.once('exit', killGroup);
  const readLog = (): string =>
    errorText + (existsSync(join(folder, 'log')) ? readFileSync(join(folder, 'log'), 'utf8') : '');
  const doveadm = async (...args: string[]): Promise<string> =>
    (await run('doveadm', ['-c', configuration, ...args], as)).stdout;
  const doveadmSync = (...args: string[]): string =>
    execFileSync('doveadm', ['-c', configuration, ...args], { ...as, encoding: 'utf8' });
  await waitForGreeting(imapPort, child, readLog);
  return {
    ...{ imapPort, imapsPort, lmtpPort, certificate, ca: certificate.ca, caFile: join(folder, 'ca.pem'), users },
    ...administer(doveadm, folder),
    doveadm,
    doveadmSync,
    readLog,
    stop: async () => {
      process.off('exit', killGroup);
      await endGroup(child, killGroup);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Administration = Pick<Dovecot, 'setUidValidity' | 'dropConnections' | 'makeDeaf' | 'countConnections' | 'maildir'>;

function administer(doveadm: Dovecot['doveadm'], folder: string): Administration {
  /** The processes that serve a user, one for each connection. */
  const findProcesses = async (user: string): Promise<number[]> => {
    const lines = (await doveadm('-f', 'tab', 'who', '-1', user)).trim().split('\n').slice(1);
    return lines
      .map((line) => line.split('\t'))
      .filter(([, service]) => service === 'imap')
      .map(([, , pid]) => Number(pid));
  };
  return {
    setUidValidity: async (user, mailbox, value) =>
      void (await doveadm('mailbox', 'update', '-u', user, '--uid-validity', String(value), mailbox)),
    dropConnections: async (user) => {
      for (const pid of await findProcesses(user)) process.kill(pid, 'SIGKILL');
    },
    makeDeaf: async (user) => {
      const stopped = await findProcesses(user);
      for (const pid of stopped) process.kill(pid, 'SIGSTOP');
      return () => {
        for (const pid of stopped) process.kill(pid, 'SIGCONT');
      };
    },
    countConnections: async (user) => (await findProcesses(user)).length,
    maildir: (user) => join(folder, 'mail', user, 'Maildir'),
  };
}

async function waitForGreeting(port: number, child: ChildProcess, readLog: () => string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`Dovecot ended with ${child.exitCode}: ${readLog()}`);
    if (await greets(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`Dovecot did not start in 10 seconds: ${readLog()}`);
}

function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (isGreeted: boolean): void => {
      socket.destroy();
      resolve(isGreeted);
    };
    socket.once('error', () => end(false));
    socket.once('data', (chunk) => end(chunk.toString().startsWith('* OK')));
    socket.setTimeout(5000, () => end(false));
  });
}

/** Ends the server, and kills processes that do not end within two seconds. */
async function endGroup(child: ChildProcess, killGroup: () => void): Promise<void> {
  if (child.exitCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(killGroup, 2000);
    await ended;
    clearTimeout(timer);
  }
  killGroup();
}
