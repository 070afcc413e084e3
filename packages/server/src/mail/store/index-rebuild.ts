/**
 * Rebuilds the full-text index of a store that an earlier server version indexed differently: newest e-mails first, in small
 * transactions, while searches run. The position is stored with each batch, so a restart or another server continues there.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../../base/background-worker.ts';
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

/**
 * Creates the worker that rebuilds the full-text index of one application's mail. It stops when the whole index has the
 * current form. A failure, or a rebuild on another server, is checked again later.
 */
export function createIndexRebuild(parts: IndexRebuildParts): BackgroundWorker {
  const { database, logger } = parts;
  const run = async (): Promise<void> => {
    const state = await readIndexState(database);
    if (!isComplete(state)) await database.tryWithLock('mail index', () => rebuildIndex(parts, () => worker.isStopped));
    // Not awaited, because it resolves after this run.
    if (isComplete(await readIndexState(database))) void worker.stop();
  };
  const worker = new BackgroundWorker({
    run,
    onError: (error) => logger.warn({ err: error }, 'the full-text index of mail could not be rebuilt yet'),
    intervalMilliseconds: retryMilliseconds,
  });
  return worker;
}

/** Continues until the index is complete, or until it is stopped after a batch. */
async function rebuildIndex({ database, logger }: IndexRebuildParts, isStopped: () => boolean): Promise<void> {
  const state = await readIndexState(database);
  const isStarted = state?.version === indexVersion;
  let position = isStarted ? state.position : await readNextEmailKey(database);
  if (position === null) {
    if (!isStarted)
      await database.write((transaction) => setIndexState(database, transaction, { version: indexVersion, position }));
    return;
  }
  logger.info(
    'e-mails of an earlier server version are being indexed again; until then a search may find fewer old e-mails',
  );
  while (position !== null && !isStopped()) {
    position = await indexBatch(database, position);
    await pause(pauseMilliseconds);
  }
  if (position === null) logger.info('the full-text index of mail is rebuilt');
}

/** @returns the key to continue below; null: the index is complete. */
async function indexBatch(database: Database, below: number): Promise<number | null> {
  const { tokenizeMailBody } = await import('../parse/unparsable-mail.ts');
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

function isComplete(state: IndexState | null): boolean {
  return state?.version === indexVersion && state.position === null;
}
