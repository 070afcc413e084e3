import { existsSync } from 'node:fs';
import { enableCompileCache, flushCompileCache, getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { loadEnvFile } from 'node:process';
import { type Config, readConfig } from './base/config.ts';
import { tuneGarbageCollection } from './base/garbage-collection.ts';
import { collectWhenIdle } from './base/idle-collection.ts';
import { ConfigError } from './base/setting.ts';
import { describeStartFailure } from './base/start-failure.ts';
import type { RunningServer } from './server.ts';

enableCompileCache(); // bin/tablinum.js has already enabled the cache, unless this file was started directly
const compileCache = getCompileCacheDir();
// Threads only use the cache if the variable is set. Without it, each of them loads the TypeScript compiler: 14 MB.
if (compileCache !== undefined) process.env['NODE_COMPILE_CACHE'] ??= dirname(compileCache);

/** Maximum time of a stop. Requests that are still running then were not acknowledged. */
const stopTimeoutMilliseconds = 5000;
/** Within this time, a second signal is ignored: npm forwards a signal that the terminal also sends to this process. */
const duplicateSignalMilliseconds = 500;
const signals = { SIGINT: 2, SIGTERM: 15 } as const;

const [command = 'start', ...commandArguments] = process.argv.slice(2);
// What a start loads stays in memory, so collecting during a start would free nothing. `start` sets the limit
// afterwards.
if (command !== 'start') tuneGarbageCollection();
const asksForHelp = commandArguments.length === 1 && ['--help', '-h'].includes(commandArguments[0] ?? '');
if (asksForHelp) await runHelp(command);
else if (command === 'start') await start();
else if (command === 'mail') await runMail();
else if (command === 'backup') await runBackup();
else if (command === 'verify') await runVerify();
else if (command === 'restore') await runRestore();
else if (command === 'export') await runExport();
else if (command === 'import') await runImport();
else if (command === 'files') await runFiles();
else await runOther(command);

async function runHelp(name: string): Promise<void> {
  const { runCommand } = await import('./cli-run.ts');
  process.exitCode = (await runCommand('help', [name], loadConfig)) ?? 0;
}

/** Runs the commands of cli-run.ts. */
async function runOther(name: string): Promise<void> {
  const [{ runCommand }, { commandExitCodes }] = await Promise.all([
    import('./cli-run.ts'),
    import('./cli-commands.ts'),
  ]);
  const own = Object.keys(process.env);
  loadEnv();
  try {
    const code = await runCommand(name, process.argv.slice(3), loadConfig, own);
    if (code === null) console.error(`There is no command "${name}". Use "tablinum help".`);
    process.exitCode = code ?? commandExitCodes.usage;
  } catch (error) {
    await failCommand(error as Error);
  }
}

async function start(): Promise<void> {
  const envFile = loadEnv();
  const config = loadConfig();
  if (process.argv.includes('--dry-run')) return printPlan(config);
  const { startServer } = await import('./server.ts');
  const server = await startServer({ config }).catch((error: unknown) => fail(describeStartFailure(error)));
  tuneGarbageCollection();
  exitWithServer(server);
  collectWhenIdle();
  flushCompileCache(); // a process that is killed would not write the cache; writing takes 1 ms if nothing is new
  const engine = server.engine === 'sqlite' ? `SQLite in ${config.dataDir}` : 'PostgreSQL at DATABASE_URL';
  console.log(`Tablinum listens on ${server.url}, engine ${engine}${envFile ? ', settings from .env' : ''}.`);
  if (config.appKeyIsRandom)
    console.log(
      'APP_KEY is not set, so API keys and logins are invalid after a restart. Set it to a long random text.',
    );
  else if (config.appKey.length < 32) console.log('APP_KEY is shorter than 32 characters. Use a longer one.');
  if (config.s3) console.log(`The bytes of files and e-mails are stored in the bucket "${config.s3.bucket}".`);
  if (!config.webhooks) console.log('WEBHOOKS is off: this server sends no webhooks.');
  if (server.setupToken) printSetupInstructions(config.publicUrl ?? server.url, server.setupToken);
}

/** `tablinum start --dry-run` */
async function printPlan(config: Config): Promise<void> {
  const { printUpgradePlan } = await import('./cli-upgrade.ts');
  await printUpgradePlan(config).catch((error: unknown) => fail(describeStartFailure(error)));
  process.exit(0);
}

async function runMail(): Promise<void> {
  const { runMailCommand } = await import('./cli-mail.ts');
  process.exitCode = await runMailCommand(process.argv.slice(3)).catch(failCommand);
}

async function runBackup(): Promise<void> {
  loadEnv();
  const { runBackupCommand } = await import('./cli-backup.ts');
  await runBackupCommand(process.argv.slice(3), loadConfig()).catch(failCommand);
}

async function runVerify(): Promise<void> {
  loadEnv();
  const { runVerifyCommand } = await import('./cli-verify.ts');
  await runVerifyCommand(process.argv.slice(3), loadConfig()).catch(failCommand);
}

async function runRestore(): Promise<void> {
  loadEnv();
  const { runRestoreCommand } = await import('./cli-restore.ts');
  await runRestoreCommand(process.argv.slice(3), loadConfig()).catch(failCommand);
}

async function runImport(): Promise<void> {
  const { runImportCommand } = await import('./cli-import.ts');
  process.exitCode = await runImportCommand(process.argv.slice(3)).catch(failCommand);
}

async function runFiles(): Promise<void> {
  loadEnv();
  const { runFilesCommand } = await import('./cli-files.ts');
  await runFilesCommand(process.argv.slice(3), loadConfig()).catch(failCommand);
}

async function runExport(): Promise<void> {
  const { runExportCommand } = await import('./cli-export.ts');
  await runExportCommand(process.argv.slice(3)).catch(failCommand);
}

/** The only place that prints a secret. It is for the operator of this machine. */
function printSetupInstructions(url: string, token: string): void {
  console.log(`There is no user yet. This link creates the first admin. It works once, within a day:
  ${url}/setup#token=${token}
or: curl ${url}/api/auth:setup -H 'content-type: application/json' -d '{"token":"${token}","email":"…","password":"…"}'
or set INIT_ROOT_EMAIL and INIT_ROOT_PASSWORD, and start the server again.`);
}

/**
 * The first signal stops the server and exits with 0; the second one exits immediately. A fault that requires a restart stops
 * the server and exits with 1, so that a supervisor starts it again.
 */
function exitWithServer(server: RunningServer): void {
  let stoppingSince: number | null = null;
  const stop = (code: number): void => {
    stoppingSince ??= performance.now();
    const exit = (): never => process.exit(code);
    setTimeout(exit, stopTimeoutMilliseconds).unref();
    void server.stop().then(exit, (error: unknown) => {
      console.error(`The server did not stop cleanly: ${(error as Error).message}`);
      process.exit(1);
    });
  };
  for (const [signal, number] of Object.entries(signals))
    process.on(signal, () => {
      if (stoppingSince === null) stop(0);
      else if (performance.now() - stoppingSince > duplicateSignalMilliseconds) process.exit(128 + number);
    });
  void server.health.fatal.then((reason) => {
    console.error(`The server stops and must be restarted: ${reason}`);
    if (stoppingSince === null) stop(1);
  });
}

/** Loads `.env` of the working directory. @returns whether it exists. */
function loadEnv(): boolean {
  if (!existsSync('.env')) return false;
  try {
    loadEnvFile('.env');
    return true;
  } catch (error) {
    return fail(`The file .env in the working directory cannot be read: ${(error as Error).message}`);
  }
}

function loadConfig(): ReturnType<typeof readConfig> {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (error instanceof ConfigError) fail(error.message);
    throw error;
  }
}

/** Prints why a command failed. */
async function failCommand(error: Error): Promise<never> {
  const { commandExitCodes, UsageError } = await import('./cli-commands.ts');
  console.error(error.message);
  process.exit(error instanceof UsageError ? commandExitCodes.usage : commandExitCodes.failed);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
