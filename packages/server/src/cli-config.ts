/** `tablinum config`: every setting with its source and validity. Values of secrets are never printed. */
import { type Config, readConfig } from './base/config.ts';
import { ConfigError, type SettingValues } from './base/setting.ts';
import { reportSettings, type SettingReport } from './base/setting-reports.ts';
import { commandExitCodes, describeUsage, UsageError } from './cli-commands.ts';

/** Why the settings are invalid; null if they are valid. */
export function findConfigProblem(env: SettingValues): string | null {
  try {
    readConfig(env);
    return null;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

/** Runs `tablinum config`. @returns the exit code: 1 if a setting is invalid. */
export async function runConfigCommand(args: readonly string[], own: readonly string[]): Promise<number> {
  if (args.some((each) => each !== '--json')) throw new UsageError(describeUsage('config'));
  const problem = findConfigProblem(process.env);
  const stored = problem === null ? await readStoredReports(readConfig(process.env)) : null;
  const reports = reportSettings(process.env, own).map(
    (each) => stored?.find(({ name, source }) => name === each.name && source === 'stored') ?? each,
  );
  if (args.includes('--json')) console.log(JSON.stringify({ settings: reports, problem }, null, 2));
  else printReports(reports, problem, stored !== null);
  return problem === null ? commandExitCodes.done : commandExitCodes.failed;
}

function printReports(reports: readonly SettingReport[], problem: string | null, isRunning: boolean): void {
  const width = Math.max(...reports.map(({ name }) => name.length));
  for (const { name, value, source, secret, isSet } of reports)
    console.log(`${name.padEnd(width)}  ${source.padEnd(11)}  ${secret && isSet ? '(secret)' : (value ?? '')}`);
  if (problem === null && !isRunning) console.log('\nNo server is running: stored settings are not shown.');
  console.log(problem === null ? '\nThe settings are valid.' : `\nInvalid: ${problem}`);
}

/** The settings of the running server; null if none runs on this machine. */
async function readStoredReports(config: Config): Promise<readonly SettingReport[] | null> {
  const { connectRunningServer } = await import('./cli-operator.ts');
  const server = await connectRunningServer(config.dataDir);
  return server && ((await server.call('systemSettings:get', {})) as readonly SettingReport[]);
}
