/** `tablinum config`: every setting with its source and validity. Values of secrets are never printed. */
import { readConfig, settings } from './base/config.ts';
import { ConfigError, type Setting } from './base/setting.ts';
import { commandExitCodes, describeUsage, UsageError } from './cli-commands.ts';

interface SettingReport {
  readonly name: string;
  /** Null for a secret, and where nothing is set. */
  readonly value: string | null;
  readonly source: 'default' | 'environment' | '.env' | 'file';
  readonly secret: boolean;
  readonly isSet: boolean;
}

/** The settings as the server would read them. @param own names that were set before `.env` was loaded. */
export function reportSettings(
  env: Readonly<Record<string, string | undefined>>,
  own: readonly string[],
): SettingReport[] {
  return settings.map((setting) => reportSetting(setting, env, own));
}

/** Why the settings are invalid; null if they are valid. */
export function findConfigProblem(env: Readonly<Record<string, string | undefined>>): string | null {
  try {
    readConfig(env);
    return null;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

/** Runs `tablinum config`. @returns the exit code: 1 if a setting is invalid. */
export function runConfigCommand(args: readonly string[], own: readonly string[]): number {
  if (args.some((each) => each !== '--json')) throw new UsageError(describeUsage('config'));
  const reports = reportSettings(process.env, own);
  const problem = findConfigProblem(process.env);
  if (args.includes('--json')) console.log(JSON.stringify({ settings: reports, problem }, null, 2));
  else {
    const width = Math.max(...reports.map(({ name }) => name.length));
    for (const { name, value, source, secret, isSet } of reports)
      console.log(`${name.padEnd(width)}  ${source.padEnd(11)}  ${secret && isSet ? '(secret)' : (value ?? '')}`);
    console.log(problem === null ? '\nThe settings are valid.' : `\nInvalid: ${problem}`);
  }
  return problem === null ? commandExitCodes.done : commandExitCodes.failed;
}

function reportSetting(
  { name, fallback, secret }: Setting,
  env: Readonly<Record<string, string | undefined>>,
  own: readonly string[],
): SettingReport {
  const fromFile = secret && env[`${name}_FILE`] ? `${name}_FILE` : null;
  const given = env[name]?.trim() || null;
  const isSet = fromFile !== null || given !== null;
  const source = fromFile ? 'file' : given === null ? 'default' : own.includes(name) ? 'environment' : '.env';
  const value = secret ? null : (given ?? (fallback || null));
  return { name, value, source, secret, isSet };
}
