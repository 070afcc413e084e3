/** `tablinum doctor`: checks what a server needs, changes nothing, and says how problems are solved. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, readConfig } from './base/config.ts';
import { commandExitCodes, describeUsage, UsageError } from './cli-commands.ts';
import { findConfigProblem } from './cli-config.ts';
import { findRunningServer } from './cli-operator.ts';

export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  /** What to do; null where nothing needs to be done. */
  readonly cure: string | null;
}

const minAppKeyLength = 32;
const minFreeBytes = 1024 ** 3;
const maxClockMilliseconds = 5000;
const connectMilliseconds = 5000;
/** Readable by the group or by others. */
const foreignRights = 0o077;

/** Runs `tablinum doctor`. @returns the exit code: 1 if a check has failed. */
export async function runDoctorCommand(args: readonly string[]): Promise<number> {
  if (args.some((each) => each !== '--json')) throw new UsageError(describeUsage('doctor'));
  const findings = await diagnose(process.env);
  if (args.includes('--json')) console.log(JSON.stringify(findings, null, 2));
  else
    for (const { check, status, message, cure } of findings)
      console.log(
        `${status.padEnd(7)}  ${check.padEnd(10)}  ${message}${cure === null ? '' : `\n${' '.repeat(21)}${cure}`}`,
      );
  return findings.some(({ status }) => status === 'failed') ? commandExitCodes.failed : commandExitCodes.done;
}

/** All checks. Invalid settings end them, because the others depend on the settings. */
export async function diagnose(env: Readonly<Record<string, string | undefined>>): Promise<Finding[]> {
  const problem = findConfigProblem(env);
  if (problem !== null)
    return [failed('settings', problem, 'Correct the setting. "tablinum config" shows where it comes from.')];
  const config = readConfig(env);
  const checks = [
    [ok('settings', 'All settings are valid.')],
    checkKeys(config),
    await checkFolder(config),
    await checkDisk(config),
    checkClock(config),
    await checkServer(config),
    await (config.databaseUrl === null ? checkSqlite(config) : checkPostgres(config.databaseUrl, config)),
    await checkMail(config),
  ];
  return checks.flat();
}

function checkKeys({ appKey, appKeyIsRandom, appKeyPrevious }: Config): Finding[] {
  const cure = 'Set APP_KEY to a long random text, such as the output of "openssl rand -base64 48", and keep it.';
  if (appKeyIsRandom)
    return [warning('keys', 'APP_KEY is not set: logins and API keys become invalid at each restart.', cure)];
  if (appKey.length < minAppKeyLength)
    return [warning('keys', `APP_KEY has fewer than ${minAppKeyLength} characters.`, cure)];
  if (appKeyPrevious !== null)
    return [warning('keys', 'APP_KEY_PREVIOUS is still set.', 'Remove it when all credentials are rotated.')];
  return [ok('keys', 'APP_KEY is set.')];
}

async function checkFolder({ dataDir }: Config): Promise<Finding[]> {
  if (!existsSync(dataDir)) return [ok('folder', `${dataDir} does not exist yet. The first start creates it.`)];
  const findings: Finding[] = [];
  const isWritable = await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable)
    findings.push(
      failed(
        'folder',
        `${dataDir} cannot be written by this user.`,
        `Run as the owner, or: chown -R "$(id -un)" ${dataDir}`,
      ),
    );
  for (const path of [dataDir, join(dataDir, 'applications'), join(dataDir, 'mail-secret.key')]) {
    if (process.platform === 'win32' || !existsSync(path)) continue;
    const { mode } = statSync(path);
    if ((mode & foreignRights) !== 0)
      findings.push(
        warning(
          'folder',
          `${path} can be read or written by other users (mode ${(mode & 0o777).toString(8)}).`,
          `chmod go-rwx ${path}`,
        ),
      );
  }
  return findings.length > 0 ? findings : [ok('folder', `Only this user can read and write ${dataDir}.`)];
}

async function checkDisk({ dataDir }: Config): Promise<Finding[]> {
  if (!existsSync(dataDir)) return [];
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  const logs = listStoreFiles(dataDir).filter((path) => path.endsWith('-wal'));
  const needed = Math.max(minFreeBytes, ...logs.map((path) => statSync(path).size));
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB are free on the disk of ${dataDir}.`;
  const cure = 'Free disk space: a start needs as much as the largest write-ahead log.';
  return [free < needed ? failed('disk', text, cure) : ok('disk', text)];
}

/** A file from the future shows that the clock was set back. */
function checkClock({ dataDir }: Config): Finding[] {
  const newest = Math.max(0, ...listStoreFiles(dataDir).map((path) => statSync(path).mtimeMs));
  const ahead = newest - Date.now();
  const cure =
    'Set the clock, for example by NTP ("timedatectl set-ntp true"). Expiry of logins and keys depends on it.';
  if (ahead > maxClockMilliseconds)
    return [failed('clock', `The clock is ${Math.round(ahead / 1000)} s behind the newest file of the store.`, cure)];
  return [ok('clock', `The clock says ${new Date().toISOString()}.`)];
}

/** Reads the problems that the running server reports. */
async function checkServer({ dataDir }: Config): Promise<Finding[]> {
  const running = await findRunningServer(dataDir);
  if (!running) return [ok('server', 'No running server was found for this folder.')];
  const reply = await fetch(`${running.url}/ready`, { headers: { authorization: `Bearer ${running.token}` } });
  const { data, details } = (await reply.json()) as {
    data?: { problems?: readonly { source: string; message: string }[] };
    details?: Readonly<Record<string, string>>;
  };
  const cure = 'See docs/operations.md, "Starting and stopping".';
  const failures = Object.entries(details ?? {}).map(([source, message]) =>
    failed('server', `${source}: ${message}`, cure),
  );
  const warnings = (data?.problems ?? []).map(({ source, message }) =>
    warning('server', `${source}: ${message}`, cure),
  );
  if (failures.length + warnings.length > 0) return [...failures, ...warnings];
  if (!reply.ok) return [failed('server', `The server at ${running.url} is not ready.`, cure)];
  return [ok('server', `A server runs at ${running.url}, and is ready.`)];
}

async function checkSqlite({ dataDir }: Config): Promise<Finding[]> {
  const files = listStoreFiles(dataDir).filter((path) => path.endsWith('.db'));
  if (files.length === 0) return [ok('store', 'There is no data yet.')];
  const { findFileProblem } = await import('./database/sqlite/check-files.ts');
  const cure = 'Stop the server, keep a copy of the folder, and restore the last backup.';
  const problems = files.map(findFileProblem).filter((each) => each !== null);
  if (problems.length > 0) return problems.map((each) => failed('store', each, cure));
  return [ok('store', `${files.length} database files are intact.`)];
}

/** Version, durability, access and clock of the database server, and of the nodes of a Citus cluster. */
async function checkPostgres(url: string, { databaseConnections, databaseDurability }: Config): Promise<Finding[]> {
  const { checkPostgresDatabase } = await import('./database/postgres/check-cluster.ts');
  try {
    const isRequired = databaseDurability === 'required';
    const { problems, drift } = await checkPostgresDatabase(url, isRequired, databaseConnections);
    const findings = problems.map(({ message, cure, isFatal }) => (isFatal ? failed : warning)('store', message, cure));
    if (Math.abs(drift) > maxClockMilliseconds)
      findings.push(
        warning(
          'clock',
          `The clock of PostgreSQL differs by ${Math.round(drift / 1000)} s.`,
          'Set both clocks by NTP.',
        ),
      );
    return findings.length > 0 ? findings : [ok('store', 'PostgreSQL can be used.')];
  } catch (error) {
    const cure = 'Check DATABASE_URL, and that PostgreSQL accepts connections from here.';
    return [failed('store', `PostgreSQL cannot be used: ${(error as Error).message}`, cure)];
  }
}

/** Signs in at the mail server of the server's own e-mails; nothing is sent. */
async function checkMail({ smtp }: Config): Promise<Finding[]> {
  if (!smtp) return [ok('mail', 'SMTP_URL is not set: no e-mails for new passwords are sent.')];
  const { createTransport } = await import('nodemailer');
  const timeouts = {
    connectionTimeout: connectMilliseconds,
    greetingTimeout: connectMilliseconds,
    socketTimeout: connectMilliseconds,
  };
  const transport = createTransport({ url: smtp.url, ...timeouts });
  try {
    await transport.verify();
    return [ok('mail', 'The mail server of SMTP_URL accepts the sign-in.')];
  } catch (error) {
    const { code } = error as { code?: string };
    return [
      failed(
        'mail',
        `The mail server of SMTP_URL cannot be used (${code ?? 'unknown'}).`,
        'Check host, port, user and password in SMTP_URL, and the firewall.',
      ),
    ];
  } finally {
    transport.close();
  }
}

function listStoreFiles(dataDir: string): string[] {
  const folder = join(dataDir, 'applications');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /\.db(?:-wal)?$/.test(name))
    .map((name) => join(folder, name));
}

const ok = (check: string, message: string): Finding => ({ check, status: 'ok', message, cure: null });
const warning = (check: string, message: string, cure: string): Finding => ({
  check,
  status: 'warning',
  message,
  cure,
});
const failed = (check: string, message: string, cure: string): Finding => ({ check, status: 'failed', message, cure });
