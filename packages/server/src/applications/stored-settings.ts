/** The settings that administrators have stored: in the store of `main`, for all servers that share it. */
import { BackgroundWorker } from '../base/background-worker.ts';
import { isoTime } from '../base/clock.ts';
import { FifoLock } from '../base/fifo-lock.ts';
import { findSettingProblems, type RuntimeSettings } from '../base/runtime-settings.ts';
import { SecretCipher } from '../base/secret-cipher.ts';
import { settings } from '../base/settings.ts';
import { recordAdminAction, toAuditActor } from '../changes/admin-actions.ts';
import type { Transaction } from '../database/database.ts';
import { readStoredSettings, writeStoredSetting } from '../database/setting-rows.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Application } from './application.ts';

/** The maximum time until other servers use a change. */
const pollMilliseconds = 1000;
const lockKey = 'settings';
const secretNames: ReadonlySet<string> = new Set(settings.filter(({ secret }) => secret).map(({ name }) => name));

export interface StoredSettingsParts {
  readonly main: Application;
  readonly runtime: RuntimeSettings;
  /** The current APP_KEY, then the previous one if it is still accepted. */
  readonly appKeys: readonly string[];
}

/** The caller and the request that change settings. */
export interface SettingsCaller {
  readonly caller: Caller;
  readonly requestId: string | null;
}

export class StoredSettings {
  readonly runtime: RuntimeSettings;
  readonly #main: Application;
  readonly #cipher: SecretCipher;
  readonly #polling: BackgroundWorker;
  readonly #lock = new FifoLock();
  readonly #unreadable = new Set<string>();

  constructor({ main, runtime, appKeys }: StoredSettingsParts) {
    this.#main = main;
    this.runtime = runtime;
    this.#cipher = new SecretCipher(appKeys);
    this.#polling = new BackgroundWorker({
      run: () => this.load(),
      onError: (error) => main.logger.warn({ err: error }, 'The stored settings could not be read.'),
      intervalMilliseconds: main.isShared ? pollMilliseconds : undefined,
    });
  }

  /** Reads the stored settings, and watches for changes by other servers. */
  async open(): Promise<void> {
    await this.load();
    this.#polling.start();
  }

  close(): Promise<void> {
    return this.#polling.stop();
  }

  /** Applies the settings that are stored now. */
  load(): Promise<void> {
    // One after the other, so that an older state never replaces a newer one.
    return this.#lock.run(async () => this.runtime.apply(this.#decrypt(await readStoredSettings(this.#main.database))));
  }

  /**
   * Stores settings and uses them: all of them, or none.
   *
   * @param changes texts by names of settings; null removes the stored value.
   * @throws ApiError 422 with the problem of each setting.
   */
  async change(changes: ReadonlyMap<string, string | null>, by: SettingsCaller): Promise<void> {
    const { database, journal } = this.#main;
    const problems = await findScheduleProblems(changes);
    await database.write(
      async (transaction) => {
        const stored = this.#decrypt(await readStoredSettings(database, transaction));
        this.#requireValid(stored, changes, problems);
        for (const [name, text] of changes)
          await writeStoredSetting(database, transaction, name, text === null ? null : this.#encrypt(name, text));
        await this.#recordChange(transaction, [...changes.keys()], by);
      },
      { lockKey },
    );
    journal.wake();
    await this.load();
  }

  #requireValid(
    stored: Record<string, string>,
    changes: ReadonlyMap<string, string | null>,
    problems: Readonly<Record<string, string>>,
  ): void {
    const next = { ...stored, ...Object.fromEntries([...changes].filter(([, text]) => text !== null)) };
    for (const [name, text] of changes) if (text === null) delete next[name];
    const details = { ...problems, ...findSettingProblems(this.runtime.environment, next as Record<string, string>) };
    if (Object.keys(details).length === 0) return;
    throw new ApiError(
      'VALUE_INVALID',
      'Some settings are not valid, so nothing was changed. "details" names the problem of each.',
      { details },
    );
  }

  #recordChange(
    transaction: Transaction,
    targets: readonly string[],
    { caller, requestId }: SettingsCaller,
  ): Promise<void> {
    const { database, clock } = this.#main;
    return recordAdminAction(database, transaction, {
      ...toAuditActor(caller, requestId),
      at: isoTime(clock.now()),
      action: 'systemSettings:update',
      resource: 'systemSettings',
      targets,
      destroyed: false,
    });
  }

  #encrypt(name: string, text: string): string {
    return secretNames.has(name) ? this.#cipher.encrypt(text) : text;
  }

  /** A secret that was stored under another APP_KEY is left out. */
  #decrypt(stored: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(stored).flatMap(([name, text]) => {
        const plain = secretNames.has(name) ? this.#cipher.decrypt(text) : text;
        if (plain === null) this.#warnOnce(name);
        return plain === null ? [] : [[name, plain] as const];
      }),
    );
  }

  #warnOnce(setting: string): void {
    if (this.#unreadable.has(setting)) return;
    this.#unreadable.add(setting);
    this.#main.logger.warn({ setting }, 'A stored secret cannot be read, because APP_KEY has changed. Enter it again.');
  }
}

/** Validates a backup schedule with the cron library, which is only loaded if one is stored. */
async function findScheduleProblems(changes: ReadonlyMap<string, string | null>): Promise<Record<string, string>> {
  const schedule = changes.get('BACKUP_SCHEDULE');
  if (!schedule) return {};
  const { findScheduleProblem } = await import('./backups/backup-schedule.ts');
  const problem = findScheduleProblem(schedule);
  return problem === null ? {} : { BACKUP_SCHEDULE: problem };
}
