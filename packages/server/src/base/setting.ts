/** A setting as docs/operations.md lists it. Secrets are also read from the file that `<NAME>_FILE` names. */
export interface Setting {
  readonly name: string;
  readonly fallback: string;
  readonly secret: boolean;
  readonly meaning: string;
  /** Absent: it can only change with a restart. */
  readonly runtime?: RuntimeSetting;
}

/** A setting that administrators can also store, and that takes effect while the server runs. */
export interface RuntimeSetting {
  readonly group: SettingGroup;
  /** The bounds of a whole number. */
  readonly range?: NumberRange;
  readonly choices?: readonly string[];
}

export type SettingGroup = 'access' | 'limits' | 'retention' | 'backups' | 'mail' | 'network' | 'appearance';

/** The bounds of a whole number, and what it counts. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly unit: string;
  /** The minimum of stored values; absent: `min`. Only the environment can set lower values. */
  readonly storedMin?: number;
}

/** The values of settings by their names: environment variables, or stored values. */
export type SettingValues = Readonly<Record<string, string | undefined>>;

/** Describes a setting. @param fallback its value where it is not set. */
export const defineSetting = (name: string, fallback: string, meaning: string, secret = false): Setting => ({
  name,
  fallback,
  secret,
  meaning,
});

/** Marks a setting as one that can change while the server runs. */
export const atRuntime = (setting: Setting, runtime: RuntimeSetting): Setting => ({ ...setting, runtime });

/** A setting that is missing or invalid; the message names it and the cure. */
export class ConfigError extends Error {}

/** The value of a setting that has fixed choices. @throws ConfigError naming them. */
export function parseChoice<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const found = choices.find((each) => each === text);
  if (found === undefined) throw new ConfigError(`${name} must be ${choices.join(' or ')}.`);
  return found;
}

/** A whole number. @throws ConfigError naming the range. */
export function parseInteger(name: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < min || number > max)
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}.`);
  return number;
}
