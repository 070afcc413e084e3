/**
 * Rebuilds the full-text index of a store that an earlier server version indexed differently: newest e-mails first, in small
 * transactions, while searches run. The position is stored with each batch, so a restart or another server continues there.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../base/logger.ts';
import type { Database } from '../../database/database.ts';
import {
  type IndexState,
  readEmailsBelow,
  readIndexState,
  readNextEmailKey,
  replaceTokens,
  setIndexState,
} from '../../database/mail/index-rows.ts';
import { tokenizeMailBody } from '../parse/unparsable-mail.ts';
import { indexVersion } from '../search/indexed-text.ts';
import { buildIndexEntry } from './new-email.ts';

export interface IndexRebuildParts {
  readonly database: Database;
  readonly logger: Logger;
}

/** E-mails of one transaction, which takes some tens of milliseconds. */
const batchSize = 25;
/** Other writes run between two batches. */
const pauseMilliseconds = 10;
const retryMilliseconds = 60_000;

/** The background rebuild of one application's full-text index of mail. */
export class IndexRebuild {
  readonly #parts: IndexRebuildParts;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #ended = false;

  constructor(parts: IndexRebuildParts) {
    this.#parts = parts;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Continues until the whole index has the current form. A failure, or a rebuild on another server, is checked again later. */
  begin(): void {
    this.#timer = setInterval(() => void this.wake(), retryMilliseconds).unref();
    void this.wake();
  }

  /** Resolves when the index has the current form, or when the rest is retried later. */
  wake(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Stops after the running batch. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#stopTimer();
    await this.#running;
  }

  #stopTimer(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #work(): Promise<void> {
    const { database, logger } = this.#parts;
    try {
      const state = await readIndexState(database);
      if (!isComplete(state)) await database.tryWithLock('mail index', () => this.#rebuild());
      if (isComplete(await readIndexState(database))) this.#stopTimer();
    } catch (error) {
      if (!this.#ended) logger.warn({ err: error }, 'the full-text index of mail could not be rebuilt yet');
    }
  }

  async #rebuild(): Promise<void> {
    const { database, logger } = this.#parts;
    const state = await readIndexState(database);
    const isStarted = state?.version === indexVersion;
    let position = isStarted ? state.position : await readNextEmailKey(database);
    if (position === null) {
      if (!isStarted) await this.#save(null);
      return;
    }
    logger.info(
      'e-mails of an earlier server version are being indexed again; until then a search may find fewer old e-mails',
    );
    while (position !== null && !this.#ended) {
      position = await this.#batch(position);
      await pause(pauseMilliseconds);
    }
    if (position === null) logger.info('the full-text index of mail is rebuilt');
  }

  /** @returns the key to continue below; null: the index is complete. */
  async #batch(below: number): Promise<number | null> {
    const { database } = this.#parts;
    const emails = await readEmailsBelow(database, below, batchSize);
    const entries = emails.map((each) =>
      buildIndexEntry(each.id, each.accountId, { ...each, bodyWords: tokenizeMailBody(each.text) }),
    );
    const position = emails.length < batchSize ? null : (emails.at(-1)?.id ?? null);
    await database.write(
      async (transaction) => {
        for (const [index, entry] of entries.entries())
          await replaceTokens(database, transaction, entry, emails[index]?.version ?? -1);
        await setIndexState(database, transaction, { version: indexVersion, position });
      },
      { heavy: true },
    );
    return position;
  }

  #save(position: number | null): Promise<void> {
    const { database } = this.#parts;
    return database.write((transaction) => setIndexState(database, transaction, { version: indexVersion, position }));
  }
}

function isComplete(state: IndexState | null): boolean {
  return state?.version === indexVersion && state.position === null;
}
