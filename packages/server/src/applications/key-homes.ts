import { deleteTokenApplications, findKnownTokens, readTokenHashes } from '../database/application-rows.ts';
import type { Database } from '../database/database.ts';

const batchSize = 1000;

/** Deletes the records in `main` of an application's keys and logins that have expired or been revoked. */
export async function sweepKeyHomes(main: Database, application: string, store: Database): Promise<void> {
  let after = '';
  for (;;) {
    // A token is recorded in `main` after it was stored: a recorded but unknown token has ended.
    const recorded = await readTokenHashes(main, application, after, batchSize);
    const known = await findKnownTokens(store, recorded);
    const ended = recorded.filter((hash) => !known.has(hash));
    if (ended.length > 0) await deleteTokenApplications(main, ended);
    if (recorded.length < batchSize) return;
    after = recorded.at(-1) ?? after;
  }
}
