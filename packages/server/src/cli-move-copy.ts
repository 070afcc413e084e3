/** The passes of `tablinum move`: copies an application while it serves requests, and the rest while it is stopped. */
import type { OpenSource } from './cli-move-locations.ts';
import { maxAdvances } from './database/move/move-stores.ts';
import {
  type CopyParts,
  type CopyPass,
  copyChanges,
  copyLastChanges,
  copyOnce,
  copyToTheEnd,
  copyUntilEqual,
  type EqualCopy,
} from './transfer/move/copy-application.ts';
import type { CopiedBlobs, CopyTarget, CreatedParts } from './transfer/move/copy-target.ts';

interface ApplicationCopyParts extends CreatedParts {
  readonly from: OpenSource;
  readonly into: CopyTarget;
  /** How long requests may be refused. */
  readonly maxPauseSeconds: number;
}

/**
 * Maximum passes while the source serves requests, and the number of differences below which another pass is not
 * worthwhile.
 */
const maxLivePasses = 6;
const fewChanges = 20_000;
/**
 * How many times the changes since the last pass are copied before the pause. They are copied once more during the
 * pause.
 */
const maxCatchUps = maxAdvances - 1;

export class ApplicationCopy {
  readonly #parts: ApplicationCopyParts;
  #equal: EqualCopy | null = null;
  #closing: Promise<void> | null = null;

  constructor(parts: ApplicationCopyParts) {
    this.#parts = parts;
  }

  /**
   * Copies while the source serves requests, until the target equals a snapshot of it and the changes since that
   * snapshot can be copied within the allowed pause.
   *
   * @throws Error if the pause would take too long.
   */
  async copyWhileRunning(application: string): Promise<void> {
    const { into } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      await this.#closeSnapshot();
      const startedAt = performance.now();
      const { blobs, bytes } = await this.#copyBlobs();
      const isLast = attempt > 1;
      const pass = isLast ? await this.#copySnapshot() : await copyOnce(this.#copyParts());
      console.log(
        `Pass ${attempt}: ${pass.rows} rows compared, ${pass.changed} differed; ${blobs} files copied (${(bytes / 1e6).toFixed(1)} MB); ${secondsSince(startedAt).toFixed(1)} s.`,
      );
      if (!isLast) await into.analyse();
      if (!isLast || (pass.changed > fewChanges && attempt < maxLivePasses)) continue;
      if ((await this.#catchUp(application)) || attempt >= maxLivePasses) return;
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

  /**
   * Does all the work of the pause while the source still serves requests. If this takes too long, it is repeated,
   * because fewer changes remain each time.
   *
   * @returns false if the definitions have changed meanwhile.
   */
  async #catchUp(application: string): Promise<boolean> {
    const { maxPauseSeconds } = this.#parts;
    for (let round = 1; this.#equal; round += 1) {
      const startedAt = performance.now();
      const changed = await copyChanges(this.#equal, this.#copyParts());
      if (changed === null) return false;
      await this.#copyBlobs();
      await this.#parts.into.tryToComplete(this.#equal.pass.plan);
      const seconds = secondsSince(startedAt);
      if (seconds <= maxPauseSeconds) return true;
      if (round === maxCatchUps)
        throw new Error(
          `All rows are copied, but finding and copying the last ${changed} changes and checking references takes ${seconds.toFixed(1)} s, and --max-pause permits ${maxPauseSeconds} s. "${application}" still runs in the source. Repeat the command with a longer --max-pause, or when less is written.`,
        );
    }
    return false;
  }

  /**
   * Copies the rest from a source that is stopped.
   *
   * @param deadline by performance.now(): the pause may not last longer.
   * @returns what was compared.
   */
  async copyRest(application: string, deadline: number): Promise<string> {
    const requireTime = (): void => {
      this.#requireOpen();
      // Timers do not fire while SQLite runs.
      if (performance.now() > deadline) throw new Error('The time limit was exceeded.');
    };
    const parts: CopyParts = { ...this.#copyParts(), onPiece: requireTime };
    const changed = this.#equal && (await copyLastChanges(this.#equal, parts, { application, deadline }));
    const { plan, rows } =
      this.#equal !== null && changed !== null ? this.#equal.pass : await copyToTheEnd(application, parts);
    await this.#copyBlobs();
    const since = changed === null ? '' : ` In the pause, ${changed} rows were added or removed.`;
    return `Equal by count and SHA-256: ${plan.tables.length} tables, ${rows} rows.${since}`;
  }

  /** Ends all work and closes both sides. Work that runs fails. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const { from, into } = this.#parts;
    // In parallel: a side that does not reply must not delay the others.
    const closed = await Promise.allSettled([into.close(), this.#closeSnapshot(), from.close()]);
    for (const each of closed) if (each.status === 'rejected') throw each.reason;
  }

  async #closeSnapshot(): Promise<void> {
    const equal = this.#equal;
    this.#equal = null;
    await equal?.snapshot.close();
  }

  #requireOpen(): void {
    if (this.#closing) throw new Error('The move was ended.');
  }

  #copyBlobs(): Promise<CopiedBlobs> {
    return this.#parts.into.copyBlobs(this.#parts.from.blobs, () => this.#requireOpen());
  }

  #copyParts(): CopyParts {
    const { from, into, created, save } = this.#parts;
    return { source: from.reader, target: into, created, save, onPiece: () => {} };
  }
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
