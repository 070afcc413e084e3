import type { BlobStore } from '../../base/blob-store.ts';
import type { Database } from '../../database/database.ts';
import { referredBlobs, sourcesOf } from '../../database/mail/blob-references.ts';

/** Bytes are kept before anything refers to them: what is younger may be about to be referred to. */
export const unreferredMilliseconds = 86_400_000;
const atOnce = 500;

/**
 * Removes bytes that no message refers to any more: of e-mails and accounts that were destroyed, of imports that were cut
 * short, of earlier states of drafts.
 *
 * @param now milliseconds since the epoch.
 */
export async function sweepBlobs(database: Database, blobs: BlobStore, now: number): Promise<void> {
  const before = now - unreferredMilliseconds;
  for (const account of await blobs.accounts()) {
    const old = await blobs.keptBefore(account, before);
    if (old.length === 0) continue;
    const drafted = new Set((await sourcesOf(database, account)).flatMap((text) => text.match(/[0-9a-f]{64}/g) ?? []));
    for (let from = 0; from < old.length; from += atOnce) {
      const some = old.slice(from, from + atOnce);
      const used = await referredBlobs(database, account, some);
      const free = some.filter((name) => !used.has(name) && !drafted.has(name));
      if (free.length > 0) await blobs.remove(account, free, before);
    }
  }
}
