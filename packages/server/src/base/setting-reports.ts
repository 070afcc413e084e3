/** Every setting with its value and source, for administrators. Values of secrets are never shown. */
import type { Setting, SettingGroup, SettingValues } from './setting.ts';
import { settings } from './settings.ts';

export interface SettingReport {
  readonly name: string;
  /** Null for a secret, and where nothing is set. */
  readonly value: string | null;
  readonly source: 'default' | 'environment' | '.env' | 'file' | 'stored';
  readonly secret: boolean;
  readonly isSet: boolean;
  /** Null: it can only change with a restart. */
  readonly group: SettingGroup | null;
  /** Whether it can be stored: it can change while the server runs, and the environment does not set it. */
  readonly changeable: boolean;
  readonly default: string | null;
  readonly description: string;
  /** The unit of a whole number. */
  readonly unit: string | null;
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly choices: readonly string[] | null;
}

/**
 * The settings as the server reads them: the environment has priority over stored values.
 *
 * @param own names that were set before `.env` was loaded; null: not known, so all are reported as `environment`.
 */
export function reportSettings(
  env: SettingValues,
  own: readonly string[] | null,
  stored: SettingValues = {},
): SettingReport[] {
  return settings.map((setting) => reportSetting(setting, { env, own, stored }));
}

interface SettingSources {
  readonly env: SettingValues;
  readonly own: readonly string[] | null;
  readonly stored: SettingValues;
}

function reportSetting(setting: Setting, sources: SettingSources): SettingReport {
  const { name, fallback, secret, meaning, runtime } = setting;
  const { value, source } = findValue(setting, sources);
  const { unit = null, min = null, max: maximum = null, storedMin = min } = runtime?.range ?? {};
  const changeable = runtime !== undefined && (source === 'default' || source === 'stored');
  return {
    name,
    value: secret ? null : (value ?? (fallback || null)),
    source,
    secret,
    isSet: source !== 'default',
    group: runtime?.group ?? null,
    changeable,
    default: fallback || null,
    description: meaning,
    unit,
    minimum: changeable ? storedMin : min,
    maximum,
    choices: runtime?.choices ?? null,
  };
}

function findValue(
  { name, secret, runtime }: Setting,
  { env, own, stored }: SettingSources,
): Pick<SettingReport, 'value' | 'source'> {
  if (secret && env[`${name}_FILE`]) return { value: null, source: 'file' };
  const given = env[name]?.trim();
  if (given) return { value: given, source: own === null || own.includes(name) ? 'environment' : '.env' };
  const text = runtime && stored[name];
  return text ? { value: text, source: 'stored' } : { value: null, source: 'default' };
}
