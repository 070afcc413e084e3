import {
  type BlobScope,
  type BlobStore,
  fileScope,
  thumbnailScope,
  unreferencedGraceMilliseconds,
} from '../base/blob-store.ts';
import { isoTime } from '../base/clock.ts';
import { type Database, DatabaseFault } from '../database/database.ts';
import {
  deleteUnusedFiles,
  type FileReference,
  findFileBlobs,
  findUnusedFiles,
  readUncheckedReferences,
  settleReferences,
} from '../database/file-rows.ts';
import { findImportBlobs } from '../database/import-rows.ts';
import { deleteThumbnailRows, findThumbnailBlobs, readThumbnailSources } from '../database/thumbnail-rows.ts';
import { findReferringField, readFileIds } from '../records/read/readable-files.ts';
import { parseKey } from '../records/record-key.ts';
import type { FileStoreParts } from './file-store.ts';

const batchSize = 500;

/**
 * Removes what nothing refers to, in four steps. References are checked against the records, because records end in many ways:
 * by a destroy, a cascade, another value, or with their field or collection. Files without references, and blobs without
 * files, are deleted a day after they were uploaded or released. Thumbnails are deleted with the last file that has the bytes.
 *
 * @param now milliseconds since the epoch.
 */
export async function sweepFiles(
  { database, blobs, asServer }: Pick<FileStoreParts, 'database' | 'blobs' | 'asServer'>,
  now: number,
): Promise<void> {
  const before = now - unreferencedGraceMilliseconds;
  await checkReferences({ database, asServer }, { now, before: isoTime(before) });
  await deleteFiles(database, isoTime(before));
  await removeBlobs(blobs, fileScope, before, (names) => findReferencedBlobs(database, names));
  await deleteThumbnails(database);
  await removeBlobs(blobs, thumbnailScope, before, (names) => findThumbnailBlobs(database, names));
}

async function checkReferences(
  { database, asServer }: Pick<FileStoreParts, 'database' | 'asServer'>,
  { now, before }: { readonly now: number; readonly before: string },
): Promise<void> {
  for (;;) {
    const references = await readUncheckedReferences(database, before, batchSize);
    if (references.length === 0) return;
    const used = await findUsedReferences(asServer, references);
    const ids = (isUsed: boolean): number[] =>
      references.filter((each) => used.has(each) === isUsed).map(({ id }) => id);
    await settleReferences(database, { used: ids(true), unused: ids(false) }, { time: isoTime(now), before });
  }
}

/** The given references whose records still have the file in the field. */
async function findUsedReferences<Reference extends FileReference>(
  asServer: FileStoreParts['asServer'],
  references: readonly Reference[],
): Promise<ReadonlySet<Reference>> {
  const byField = Map.groupBy(references, ({ collectionId, fieldId }) => `${collectionId} ${fieldId}`);
  const used = new Set<Reference>();
  for (const group of byField.values())
    await asServer(async (context) => {
      const found = findReferringField(context, group[0]!);
      if (!found) return;
      const keys = [...new Set(group.map(({ key }) => key))].map((key) => parseKey(key, found.collection));
      const values = await readFileIds(context, found, keys);
      for (const each of group) if (values.get(each.key)?.includes(each.fileId)) used.add(each);
    });
  return used;
}

async function deleteFiles(database: Database, before: string): Promise<void> {
  for (let after = 0; ; ) {
    const ids = await findUnusedFiles(database, before, { after, maxRows: batchSize });
    if (ids.length === 0) return;
    after = ids.at(-1) ?? after;
    if (await tryDelete(database, before, ids)) continue;
    for (const id of ids) await tryDelete(database, before, [id]);
  }
}

/** False if a relation of a user-defined collection to `files` forbids it. */
async function tryDelete(database: Database, before: string, ids: readonly number[]): Promise<boolean> {
  try {
    await deleteUnusedFiles(database, before, ids);
    return true;
  } catch (error) {
    if (error instanceof DatabaseFault && error.kind === 'foreignKey') return false;
    throw error;
  }
}

/** The given blobs that are the bytes of a file, or of an import that still exists. */
async function findReferencedBlobs(database: Database, names: readonly string[]): Promise<ReadonlySet<string>> {
  const files = await findFileBlobs(database, names);
  return files.union(await findImportBlobs(database, names));
}

async function deleteThumbnails(database: Database): Promise<void> {
  for (let after = ''; ; ) {
    const sources = await readThumbnailSources(database, after, batchSize);
    if (sources.length === 0) return;
    after = sources.at(-1) ?? after;
    const used = await findFileBlobs(database, sources);
    const unused = sources.filter((name) => !used.has(name));
    if (unused.length > 0) await deleteThumbnailRows(database, unused);
  }
}

async function removeBlobs(
  blobs: BlobStore,
  scope: BlobScope,
  before: number,
  findReferenced: (names: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<void> {
  const old = await blobs.findStoredBefore(scope, before);
  for (let from = 0; from < old.length; from += batchSize) {
    const batch = old.slice(from, from + batchSize);
    const referenced = await findReferenced(batch);
    const unused = batch.filter((name) => !referenced.has(name));
    if (unused.length > 0) await blobs.remove(scope, unused, before);
  }
}
