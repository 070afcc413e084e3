import { type BlobStore, fileScope, thumbnailScope, unreferencedGraceMilliseconds } from '../../base/blob-store.ts';
import type { Database } from '../../database/database.ts';
import { findReferencedBlobs, readDraftSources } from '../../database/mail/blob-references.ts';

const batchSize = 500;

/**
 * Removes blobs that no message refers to: of deleted e-mails and accounts, of aborted imports, of earlier versions of
 * drafts.
 *
 * @param now milliseconds since the epoch.
 */
export async function sweepBlobs(database: Database, blobs: BlobStore, now: number): Promise<void> {
  const before = now - unreferencedGraceMilliseconds;
  for (const account of await blobs.scopes()) {
    if (account === fileScope || account === thumbnailScope) continue;
    const old = await blobs.findStoredBefore(account, before);
    if (old.length === 0) continue;
    const usedByDrafts = new Set(
      (await readDraftSources(database, account)).flatMap((text) => text.match(/[0-9a-f]{64}/g) ?? []),
    );
    for (let from = 0; from < old.length; from += batchSize) {
      const batch = old.slice(from, from + batchSize);
      const referenced = await findReferencedBlobs(database, account, batch);
      const unreferenced = batch.filter((name) => !referenced.has(name) && !usedByDrafts.has(name));
      if (unreferenced.length > 0) await blobs.remove(account, unreferenced, before);
    }
  }
}
