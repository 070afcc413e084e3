/** The settings that can change while the server runs: those of the environment, and stored values for the others. */
import { type Config, readConfig } from './config.ts';
import type { Logger } from './logger.ts';
import { ConfigError, type SettingValues } from './setting.ts';
import { settings } from './settings.ts';

/** The values that can change. All other values of a configuration stay as they were at the start. */
export type RuntimeConfig = Pick<
  Config,
  | 'signUpApplications'
  | 'mcp'
  | 'rateLimitSignIn'
  | 'maxFields'
  | 'maxCollections'
  | 'uploadLimits'
  | 'auditDays'
  | 'auditEntries'
  | 'eventsDays'
  | 'eventsEntries'
  | 'smtp'
  | 'publicUrl'
  | 'outboundAllow'
  | 'productTitle'
  | 'accentColor'
  | 'backups'
>;

/**
 * The current values. Parts of the server read them when they need them, or subscribe to changes.
 *
 *     const runtime = new RuntimeSettings(config, logger);
 *     runtime.apply({ EVENTS_DAYS: '60' });
 *     runtime.current.eventsDays; // 60, unless the environment sets it
 */
export class RuntimeSettings {
  readonly environment: SettingValues;
  readonly #logger: Logger;
  readonly #listeners: ((current: RuntimeConfig) => void)[] = [];
  #current: RuntimeConfig;
  #stored: SettingValues = {};
  /** The last stored values, as JSON text. */
  #given = '{}';

  constructor(config: Config, logger: Logger) {
    this.environment = config.environment;
    this.#logger = logger;
    this.#current = config;
  }

  get current(): RuntimeConfig {
    return this.#current;
  }

  /** The stored values in use. */
  get stored(): SettingValues {
    return this.#stored;
  }

  /** Calls the listener now, and after each change. */
  watch(listener: (current: RuntimeConfig) => void): void {
    this.#listeners.push(listener);
    listener(this.#current);
  }

  /** Uses stored values. Those that are not valid together with this server's environment are left out, and logged. */
  apply(stored: SettingValues): void {
    const given = JSON.stringify(stored);
    if (given === this.#given) return;
    // A file that a setting names may have been removed since the start.
    const environmentProblem = findProblem(this.environment, {});
    if (environmentProblem !== null) {
      this.#logger.error({}, `Stored settings are not applied: the environment is not valid. ${environmentProblem}`);
      return;
    }
    this.#given = given;
    const problems = findSettingProblems(this.environment, stored);
    const usable = Object.fromEntries(Object.entries(stored).filter(([name]) => !(name in problems)));
    for (const [name, problem] of Object.entries(problems))
      this.#logger.error({ setting: name }, `A stored setting is not used. ${problem}`);
    this.#stored = usable;
    this.#current = readConfig(this.environment, usable);
    for (const listener of this.#listeners) listener(this.#current);
  }
}

interface Retention {
  readonly days: number;
  readonly entries: number;
}

/** The limits of applications. */
export interface LiveLimits {
  readonly definitionLimits: Pick<RuntimeConfig, 'maxFields' | 'maxCollections'>;
  readonly uploadLimits: RuntimeConfig['uploadLimits'];
  readonly audit: Retention;
  readonly events: Retention;
}

/** Creates limits that always return the current settings, which may change. */
export function createLiveLimits(runtime: RuntimeSettings): LiveLimits {
  return {
    definitionLimits: {
      get maxFields(): number {
        return runtime.current.maxFields;
      },
      get maxCollections(): number {
        return runtime.current.maxCollections;
      },
    },
    uploadLimits: {
      get fileBytes(): number {
        return runtime.current.uploadLimits.fileBytes;
      },
      get requestBytes(): number {
        return runtime.current.uploadLimits.requestBytes;
      },
    },
    audit: {
      get days(): number {
        return runtime.current.auditDays;
      },
      get entries(): number {
        return runtime.current.auditEntries;
      },
    },
    events: {
      get days(): number {
        return runtime.current.eventsDays;
      },
      get entries(): number {
        return runtime.current.eventsEntries;
      },
    },
  };
}

/** The problems of stored values, by setting. */
export function findSettingProblems(environment: SettingValues, stored: SettingValues): Record<string, string> {
  const problems: Record<string, string> = {};
  const rest: Record<string, string | undefined> = { ...stored };
  for (;;) {
    const problem = findProblem(environment, rest);
    if (problem === null) return problems;
    // A combination may name a setting that is missing: then one of the stored settings of its group is at fault.
    const name = findNamed(problem, rest) ?? Object.keys(rest)[0];
    if (name === undefined) return problems;
    problems[name] = problem;
    delete rest[name];
  }
}

function findProblem(environment: SettingValues, stored: SettingValues): string | null {
  try {
    readConfig(environment, stored);
    return null;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

/** The stored setting that a message begins with or mentions. */
function findNamed(problem: string, stored: SettingValues): string | undefined {
  const names = settings.map(({ name }) => name).filter((name) => name in stored);
  const words = problem.split(/[^A-Z\d_]+/);
  return words.find((word) => names.includes(word));
}
