/** The passes of `tablinum move`: copies an application while it is written, and the rest while it is stopped. */
import type { OpenSource } from './cli-move-locations.ts';
import type { MoveSnapshot } from './database/move/move-stores.ts';
import {
  type CopyParts,
  type CopyPass,
  copyChanges,
  copyOnce,
  copyToTheEnd,
  copyUntilEqual,
  type EqualCopy,
} from './transfer/move/copy-application.ts';
import type { CopyTarget, CreatedParts } from './transfer/move/copy-target.ts';

interface ApplicationCopyParts extends CreatedParts {
  readonly from: OpenSource;
  readonly into: CopyTarget;
  /** How long requests may be refused. */
  readonly maxPauseSeconds: number;
}

/** Passes while the source is written, and the number of differences after which another one is not worth it. */
const maxLivePasses = 6;
const fewChanges = 20_000;

export class ApplicationCopy {
  readonly #parts: ApplicationCopyParts;
  #equal: EqualCopy | null = null;

  constructor(parts: ApplicationCopyParts) {
    this.#parts = parts;
  }

  /**
   * Copies while the source serves requests, until the target is equal to a snapshot of it.
   *
   * @throws Error if the search for changes in the pause would take too long.
   */
  async copyWhileRunning(application: string): Promise<void> {
    const { from, into } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      await this.#closeSnapshot();
      const startedAt = performance.now();
      const { blobs, bytes } = await into.copyBlobs(from.blobs);
      const isLast = attempt > 1;
      const pass = isLast ? await this.#copySnapshot() : await copyOnce(this.#copyParts());
      const seconds = (performance.now() - startedAt) / 1000;
      console.log(
        `Pass ${attempt}: ${pass.rows} rows compared, ${pass.changed} differed; ${blobs} files copied (${(bytes / 1e6).toFixed(1)} MB); ${seconds.toFixed(1)} s.`,
      );
      if (!isLast) await into.analyse();
      if (!isLast || (pass.changed > fewChanges && attempt < maxLivePasses)) continue;
      return this.#requireShortPause(application, pass);
    }
  }

  async #copySnapshot(): Promise<CopyPass> {
    const snapshot = await this.#parts.from.reader.snapshot();
    try {
      const pass = await copyUntilEqual({ ...this.#copyParts(), source: snapshot });
      this.#equal = { snapshot, pass };
      return pass;
    } catch (error) {
      await snapshot.close();
      throw error;
    }
  }

  /** Finds changes as in the pause, but while the source serves requests. */
  async #requireShortPause(application: string, { plan }: CopyPass): Promise<void> {
    const { from, maxPauseSeconds } = this.#parts;
    const trial: MoveSnapshot = await from.reader.snapshot();
    const startedAt = performance.now();
    try {
      for (const table of plan.tables) await trial.changes(table);
    } finally {
      await trial.close();
    }
    const seconds = (performance.now() - startedAt) / 1000;
    if (seconds > maxPauseSeconds)
      throw new Error(
        `All rows are copied, but finding the last changes takes ${seconds.toFixed(1)} s, and --max-pause permits ${maxPauseSeconds} s. "${application}" still runs in the source. Repeat the command with a longer --max-pause.`,
      );
  }

  /**
   * Copies the rest from a source that is stopped.
   *
   * @param pausedAt when the pause began, in terms of performance.now(); null: it has no limit.
   * @returns what was compared.
   * @throws Error if the pause would be too long.
   */
  async copyRest(application: string, pausedAt: number | null): Promise<string> {
    const { from, into, maxPauseSeconds } = this.#parts;
    const requireTime = (): void => {
      if (pausedAt !== null && performance.now() - pausedAt > maxPauseSeconds * 1000)
        throw new Error(
          `The remaining changes could not be copied within ${maxPauseSeconds} s, so the application runs in the source again. Repeat the command, with a longer --max-pause if necessary.`,
        );
    };
    const parts: CopyParts = { ...this.#copyParts(), onTable: requireTime };
    const changed = this.#equal && (await copyChanges(application, this.#equal, parts));
    const { plan, rows } =
      this.#equal !== null && changed !== null ? this.#equal.pass : await copyToTheEnd(application, parts);
    await into.copyBlobs(from.blobs);
    requireTime();
    const since = changed === null ? '' : ` Since then, ${changed} rows were added or removed.`;
    return `Equal by count and SHA-256: ${plan.tables.length} tables, ${rows} rows.${since}`;
  }

  async close(): Promise<void> {
    await this.#closeSnapshot();
    await this.#parts.from.close();
    await this.#parts.into.close();
  }

  async #closeSnapshot(): Promise<void> {
    const equal = this.#equal;
    this.#equal = null;
    await equal?.snapshot.close();
  }

  #copyParts(): CopyParts {
    const { from, into, created, save } = this.#parts;
    return { source: from.reader, target: into, created, save, onTable: () => {} };
  }
}
