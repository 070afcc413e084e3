import { deleteKeyHomes, keyHomesOf, knownTokens } from '../database/application-rows.ts';
import type { Database } from '../database/database.ts';

const chunk = 1000;

/** Deletes the records in `main` of an application's keys and logins that have expired or been revoked. */
export async function sweepKeyHomes(main: Database, application: string, store: Database): Promise<void> {
  let after = '';
  for (;;) {
    // A token is recorded in `main` after it was stored: a recorded but unknown token has ended.
    const noted = await keyHomesOf(main, application, after, chunk);
    const known = await knownTokens(store, noted);
    const gone = noted.filter((hash) => !known.has(hash));
    if (gone.length > 0) await deleteKeyHomes(main, gone);
    if (noted.length < chunk) return;
    after = noted.at(-1)!;
  }
}
